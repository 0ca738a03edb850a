"""The page of the fault matrix says of each row when it was run, and of which commit."""

from __future__ import annotations

import sys
from datetime import date, timedelta
from typing import TYPE_CHECKING

import fault_matrix
import httpx
import pytest
from faults.cluster.rows import FREQUENT, ROWS, rows_of

from schemas.log import LogUnavailable

if TYPE_CHECKING:
    from pathlib import Path

    from faults.cluster.row_run import Result

LINES = {row.name: f"| `{row.name}` | {row.what} | 4,000 |\n" for row in ROWS}
BEFORE, AFTER = "on 2026-11-21 at 1234567", "on 2026-11-22 at 89abcde with changes"


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "page.md"
    path.write_text(f"Before.\n\n{fault_matrix.BEGIN}{fault_matrix.END}\nAfter.\n", "utf-8")
    return path


def test_what_is_written_is_read_again_however_many_rows_there_are(page: Path):
    fault_matrix.write(page, LINES, dict.fromkeys(LINES, BEFORE))
    assert fault_matrix.known_lines(page) == LINES
    assert fault_matrix.known_runs(page) == dict.fromkeys(LINES, BEFORE)
    once = page.read_text("utf-8")
    fault_matrix.write(page, fault_matrix.known_lines(page), fault_matrix.known_runs(page))
    assert page.read_text("utf-8") == once
    assert once.startswith("Before.\n")
    assert once.endswith("\nAfter.\n")


def test_a_row_that_is_run_again_leaves_its_former_run(page: Path):
    fault_matrix.write(page, LINES, {"kills": BEFORE, "freeze": BEFORE, "poison": BEFORE})
    fault_matrix.write(page, fault_matrix.known_lines(page), fault_matrix.known_runs(page) | {"freeze": AFTER})
    assert fault_matrix.known_runs(page) == {"kills": BEFORE, "freeze": AFTER, "poison": BEFORE}
    told = page.read_text("utf-8")
    assert f"\n\nRun {BEFORE}: `kills`, `poison`.\n\nRun {AFTER}: `freeze`.\n{fault_matrix.END}" in told


def test_of_all_rows_in_which_something_goes_wrong_two_are_run_a_day_and_each_comes_round():
    days = [rows_of(date(2026, 12, 1) + timedelta(days=day)) for day in range(len(ROWS))]
    assert {len({row.name for row in rows}) for rows in days} == {2}
    assert {row.name for rows in days for row in rows} == {row.name for row in ROWS} - {"calm"}
    assert {row.name for rows in days[: len(FREQUENT)] for row in rows} >= set(FREQUENT)


def test_a_run_is_named_by_its_date_and_a_commit():
    assert fault_matrix.RUN.match(f"Run {fault_matrix.this_run()}: `kills`.")


@pytest.mark.parametrize(
    "error", [LogUnavailable("away"), httpx.ReadTimeout("slow"), ConnectionResetError(), TimeoutError()]
)
def test_a_row_that_comes_to_no_end_does_not_end_the_others(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    async def undisturbed(*_: object) -> str:
        return "digest"

    async def no_end(*_: object) -> Result:
        raise error

    monkeypatch.setattr(sys, "argv", ["fault_matrix.py", "--short", "kills", "freeze"])
    monkeypatch.setattr(fault_matrix, "undisturbed_digest", undisturbed)
    monkeypatch.setattr(fault_matrix, "run_row", no_end)
    assert fault_matrix.main() == 1
    assert capsys.readouterr().out.endswith("kills: failed\nfreeze: failed\nFAILED: kills, freeze\n")
