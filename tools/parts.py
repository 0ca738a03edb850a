"""Records how long the parts of a run take: `parts.py run NAME COMMAND...` records one, `parts.py table` prints all.

The table also has the seconds of the last release, which are in `.ci/parts.json`; `parts.py keep` replaces that file,
and `parts.py forget` deletes the records. No time fails a run, because machines differ.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

Seconds: TypeAlias = tuple[float, float]
"""The seconds by the clock, and those of the processors."""

ROOT: Final = Path(__file__).resolve().parents[1]
NOTED: Final = ROOT / "build" / "parts.jsonl"
KEPT: Final = ROOT / ".ci" / "parts.json"


@contextmanager
def measured(name: str) -> Iterator[None]:
    """Record how long the block takes, and the processor time of the processes that end in it."""
    began, spent = time.monotonic(), _spent()
    try:
        yield
    finally:
        NOTED.parent.mkdir(exist_ok=True)
        with NOTED.open("a", encoding="utf-8") as file:
            file.write(json.dumps([name, time.monotonic() - began, _spent() - spent]) + "\n")


def _spent() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def noted() -> dict[str, Seconds]:
    """Return the parts that were recorded since the last `forget`, the newest of each name."""
    lines = NOTED.read_text(encoding="utf-8").splitlines() if NOTED.exists() else []
    return {name: (wall, processor) for name, wall, processor in map(json.loads, lines)}


def kept() -> dict[str, Seconds]:
    """Return the parts of the last release."""
    return {name: (wall, processor) for name, (wall, processor) in json.loads(KEPT.read_text(encoding="utf-8")).items()}


def table(now: dict[str, Seconds], before: dict[str, Seconds]) -> str:
    """Return the parts as lines of a table; one with a dot in its name is within the part above it."""
    width = max((len(name) for name in {*now, *before}), default=0)
    lines = [f"{'seconds':{width}}  {'clock':>7}  {'processor':>9}  {'last release':>16}"]
    for name in sorted({*now, *before}):
        wall, processor = now.get(name, (float("nan"),) * 2)
        last = "{:7.0f} {:8.0f}".format(*before[name]) if name in before else "-"
        lines.append(f"{name:{width}}  {wall:7.0f}  {processor:9.0f}  {last:>16}")
    return "\n".join(lines)


def main() -> int:
    """Run the subcommand; return its exit code, which for `run` is the command's."""
    match sys.argv[1:]:
        case ["run", name, *command]:
            with measured(name):
                return subprocess.run(command, cwd=ROOT, check=False).returncode
        case ["table"]:
            print(table(noted(), kept()))
        case ["keep"]:
            rows = {name: [round(seconds) for seconds in part] for name, part in sorted(noted().items())}
            KEPT.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
        case ["forget"]:
            NOTED.unlink(missing_ok=True)
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
