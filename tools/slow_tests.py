"""Runs the tests that need no engine, and prints those that take more than a second of processor time, with reasons.

The reasons are in `tests/slow.txt`, a line for each test: its name, and why it is worth its time. To run no tests, give
the file that an earlier `make test` has measured: `slow_tests.py build/processor-time-unit.txt`.
"""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
MEASURED: Final = ROOT / "build" / "processor-time-unit.txt"
REASONS: Final = ROOT / "tests" / "slow.txt"
SLOW_SECONDS: Final = 1.0
UNKNOWN: Final = "NO REASON: make it quicker, or say in tests/slow.txt why it is worth it"


def reasons() -> dict[str, str]:
    """Return the reason for each test that is known to be slow, by `file.py::test`."""
    lines = (line.partition(" ") for line in REASONS.read_text(encoding="utf-8").splitlines() if line)
    return {test: why for test, _, why in lines}


def slow(measured: Path) -> list[tuple[float, str]]:
    """Return seconds and names of the slow tests, the slowest first; the cases of one test count together."""
    seconds: defaultdict[str, float] = defaultdict(float)
    for line in measured.read_text(encoding="utf-8").splitlines():
        spent, _, test = line.partition(" ")
        seconds[test.partition("[")[0].removeprefix("tests/")] += float(spent)
    return sorted(((spent, test) for test, spent in seconds.items() if spent > SLOW_SECONDS), reverse=True)


def main() -> int:
    """Print the slow tests; return the exit code."""
    if len(sys.argv) == 1:
        subprocess.run([sys.executable, str(ROOT / "tools" / "run_tests.py"), "quick"], cwd=ROOT, check=False)
    known = reasons()
    for seconds, test in slow(Path(sys.argv[1]) if len(sys.argv) > 1 else MEASURED):
        print(f"{seconds:6.1f} s  {test}\n{'':10}{known.get(test, UNKNOWN)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
