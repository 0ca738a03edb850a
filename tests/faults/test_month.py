"""A month of a life through all four styles of use, on the embedded engine."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from month.embedded import embedded_month

if TYPE_CHECKING:
    from pathlib import Path

APRIL = datetime(2026, 4, 1, 1, tzinfo=UTC)


async def test_a_month_is_remembered_as_she_would_expect_and_ends_alike_when_it_is_rebuilt(tmp_path: Path):
    digest = await embedded_month(tmp_path, APRIL)
    assert set(digest) == {"memories", "importance", "profiles", "episodes", "index", "total"}
