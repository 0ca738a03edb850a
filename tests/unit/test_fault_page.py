"""The page of the fault matrix says of each row when it was run, and of which commit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import fault_matrix
import pytest
from faults.cluster.rows import ROWS

if TYPE_CHECKING:
    from pathlib import Path

LINES = {row.name: f"| `{row.name}` | {row.what} | 4,000 |\n" for row in ROWS}
BEFORE, AFTER = "on 2026-11-21 at 1234567", "on 2026-11-22 at 89abcde with changes"


@pytest.fixture(autouse=True)
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(fault_matrix, "PAGE", tmp_path / "page.md")
    fault_matrix.PAGE.write_text(f"Before.\n\n{fault_matrix.BEGIN}{fault_matrix.END}\nAfter.\n", "utf-8")
    return fault_matrix.PAGE


def test_what_is_written_is_read_again_however_many_rows_there_are(page: Path):
    fault_matrix.write(LINES, dict.fromkeys(LINES, BEFORE))
    assert fault_matrix.known_lines() == LINES
    assert fault_matrix.known_runs() == dict.fromkeys(LINES, BEFORE)
    once = page.read_text("utf-8")
    fault_matrix.write(fault_matrix.known_lines(), fault_matrix.known_runs())
    assert page.read_text("utf-8") == once
    assert once.startswith("Before.\n")
    assert once.endswith("\nAfter.\n")


def test_a_row_that_is_run_again_leaves_its_former_run(page: Path):
    fault_matrix.write(LINES, {"kills": BEFORE, "freeze": BEFORE, "poison": BEFORE})
    fault_matrix.write(fault_matrix.known_lines(), fault_matrix.known_runs() | {"freeze": AFTER})
    assert fault_matrix.known_runs() == {"kills": BEFORE, "freeze": AFTER, "poison": BEFORE}
    told = page.read_text("utf-8")
    assert f"\n\nRun {BEFORE}: `kills`, `poison`.\n\nRun {AFTER}: `freeze`.\n{fault_matrix.END}" in told


def test_a_run_is_named_by_its_date_and_a_commit(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(fault_matrix, "PAGE", fault_matrix.ROOT / "docs" / "reliability.md")
    assert fault_matrix.RUN.match(f"Run {fault_matrix.this_run()}: `kills`.")
