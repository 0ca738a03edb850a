"""Runs the fault matrix and fills docs/evidence/reliability.md: `python tools/fault_matrix.py [--short] [ROW…]`.

The named rows are run, by default all, and replace their lines in the table; the other lines stay. The exit code is 1
if a row failed: its line says so or, if the row raised an error, stays as it was. Below the table the page says which
rows were run when, and at which commit.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import re
import statistics
import subprocess
import sys
import tempfile
import textwrap
import time
import traceback
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from faults.cluster.numbered_facts import FULL, SHORT, Workload  # noqa: E402
from faults.cluster.row_run import Result, run_row, undisturbed_digest  # noqa: E402
from faults.cluster.rows import BY_NAME, ROWS  # noqa: E402 - tests are no package

from schemas.log import LogError  # noqa: E402

PAGE = ROOT / "docs" / "evidence" / "reliability.md"
BEGIN, END = "<!-- rows -->\n", "<!-- /rows -->\n"
HEADER = (
    "| row | what happens | observations | missing | twice | out of order | digest | redelivered | void"
    " | void counted | requests sent again | recovery, s |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n"
)

CAME_TO_NO_END = (AssertionError, ExceptionGroup, RuntimeError, OSError, LogError, httpx.HTTPError)
"""Errors that end a row's run, but not the runs of the other rows."""
RUN = re.compile(r"^Run (on .+?): (`.*`)\.$")
"""A paragraph below the table: the date and commit of a run, and its rows."""


def line(result: Result, expected: str) -> tuple[str, bool]:
    """Return a line of the table, and whether the result is sound."""
    verdict, row = result.verdict, BY_NAME[result.row]
    equal = result.digest == expected
    recoveries = "-"
    if result.recoveries:
        recoveries = f"{statistics.median(result.recoveries):.1f}, at most {max(result.recoveries):.1f}"
    letters = f"{verdict.dead_letters:,} dead letters" if verdict.dead_letters else ""
    if verdict.dead_letters != result.dead_letters_expected:
        letters = f"**{verdict.dead_letters:,} dead letters, not {result.dead_letters_expected:,}**"
    what = "; ".join(filter(None, (row.what, *result.notes, letters)))
    cells = (
        f"`{row.name}`",
        what,
        f"{result.acknowledged:,}",
        verdict.missing,
        verdict.twice,
        verdict.out_of_order,
        "equal" if equal else "**differs**",
        f"{result.redeliveries:,}",
        f"{verdict.void:,}",
        f"{result.void_seen:,}",
        f"{result.retries:,}",
        recoveries,
    )
    return f"| {' | '.join(map(str, cells))} |\n", result.is_sound(expected)


def known_lines(page: Path) -> dict[str, str]:
    """Return the lines of the table, by the row's name."""
    table = page.read_text("utf-8").split(BEGIN)[1].split(END)[0]
    return {each.split("`")[1]: each for each in table.splitlines(keepends=True) if each.startswith("| `")}


def known_runs(page: Path) -> dict[str, str]:
    """Return the date and commit of each row's run, by the row's name, as far as the page has them."""
    paragraphs = page.read_text("utf-8").split(BEGIN)[1].split(END)[0].split("\n\n")
    runs_of_rows = filter(None, (RUN.match(" ".join(paragraph.split())) for paragraph in paragraphs))
    return {name: run[1] for run in runs_of_rows for name in re.findall("`([^`]*)`", run[2])}


def this_run() -> str:
    """Return the date and the commit of this run, and whether there are changes, except in the page itself."""
    commit = _git("rev-parse", "--short", "HEAD").strip()
    changed = _git("status", "--porcelain", "--", ".", f":!{PAGE.relative_to(ROOT)}")
    return f"on {datetime.now(UTC).date()} at {commit}{' with changes' if changed else ''}"


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def write(page: Path, lines: dict[str, str], runs: dict[str, str]) -> None:
    """Write the table in the order of the matrix, and below it the date and commit of each row's run."""
    before, rest = page.read_text("utf-8").split(BEGIN)
    after = rest.split(END)[1]
    names = [row.name for row in ROWS if row.name in lines]
    table = "".join(lines[name] for name in names)
    for run in dict.fromkeys(runs[name] for name in names if name in runs):
        named = ", ".join(f"`{name}`" for name in names if runs.get(name) == run)
        table += f"\n{textwrap.fill(f'Run {run}: {named}.', 120, break_on_hyphens=False)}\n"
    page.write_text(before + BEGIN + HEADER + table + END + after, "utf-8")


def main() -> int:
    """Run the rows; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true", help=f"{SHORT} observations; the page stays as it is")
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"of {', '.join(BY_NAME)}")
    asked: Any = parser.parse_args()
    workload = Workload(SHORT if asked.short else FULL)
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)  # it logs each attempt to reach a stopped broker
    failed = []
    with tempfile.TemporaryDirectory(prefix="fault-matrix-") as folder:
        expected = asyncio.run(undisturbed_digest(workload, Path(folder)))
        print(f"{workload.observations:,} observations, undisturbed: {expected}", flush=True)
        for name in asked.rows or BY_NAME:
            began, run = time.monotonic(), this_run()
            try:
                result = asyncio.run(run_row(BY_NAME[name], workload, Path(folder) / name))
            except CAME_TO_NO_END as error:
                failed.append(name)
                traceback.print_exception(error)
                print(f"{name}: failed", flush=True)
                continue
            text, sound = line(result, expected)
            print(f"{text.rstrip()} {json.dumps(round(time.monotonic() - began))} s", flush=True)
            if not sound:
                failed.append(name)
            if not asked.short:
                write(PAGE, known_lines(PAGE) | {name: text}, known_runs(PAGE) | {name: run})
    print(f"FAILED: {', '.join(failed)}" if failed else "Nothing was lost, doubled or out of order.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
