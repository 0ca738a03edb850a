"""Two rows of the fault matrix in their short form, by turns from day to day (`make faults`: all, in full)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from faults.cluster.numbered_facts import SHORT, Workload
from faults.cluster.row_run import run_row
from faults.cluster.rows import BY_NAME, rows_of

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("name", [row.name for row in rows_of(datetime.now(UTC).date())])
async def test_nothing_acknowledged_is_lost_doubled_or_out_of_order(name: str, undisturbed: str, tmp_path: Path):
    result = await run_row(BY_NAME[name], Workload(SHORT), tmp_path)
    verdict = result.verdict
    assert (verdict.missing, verdict.twice, verdict.out_of_order) == (0, 0, 0), result
    assert result.is_sound(undisturbed), result
    assert result.acknowledged == verdict.memories == SHORT, result
