"""Runs benchmarks: each `bench/NAME.py` with a `main`, and writes its result to `bench/results/NAME.json`.

A `main` takes no arguments (options of the command line have their defaults here) and prints its ratios for people. It
returns a mapping that can be written as JSON, which becomes the file's `result`. It may be a coroutine function. Each
benchmark has a process of its own, so that none warms or fills the memory of the next. With names on the command line,
only those are run.
"""

from __future__ import annotations

import asyncio
import importlib.util
import inspect
import io
import json
import os
import platform
import subprocess
import sys
import time
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

BENCH = Path(__file__).resolve().parents[1] / "bench"


class Tee(io.StringIO):
    """Keeps what is printed and shows it at once."""

    def write(self, text: str) -> int:
        """Show and keep the text; return its length."""
        sys.__stdout__.write(text) if sys.__stdout__ else None
        return super().write(text)

    def flush(self) -> None:
        """Show what is still in the terminal's buffer."""
        sys.__stdout__.flush() if sys.__stdout__ else None


def main_of(path: Path) -> Callable[[], object] | None:
    """Load a file of the bench folder; return its `main`, None if it has none."""
    specification = importlib.util.spec_from_file_location(path.stem, path)
    if specification is None or specification.loader is None:
        raise ImportError(f"{path} cannot be loaded")
    module = importlib.util.module_from_spec(specification)
    sys.modules[path.stem] = module
    specification.loader.exec_module(module)
    main: Callable[[], object] | None = getattr(module, "main", None)
    return main


def run(path: Path) -> None:
    """Run one benchmark in this process and write its result; do nothing for a file without a `main`."""
    sys.path.insert(0, str(BENCH))
    sys.argv = [str(path)]
    main = main_of(path)
    if main is None:
        return
    print(f"== {path.stem}", flush=True)
    started = time.perf_counter()
    with redirect_stdout(Tee()) as printed:
        result = main()
        if inspect.iscoroutine(result):
            result = asyncio.run(result)
    report = {
        "benchmark": path.stem,
        "seconds": round(time.perf_counter() - started, 3),
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "result": result,
        "printed": printed.getvalue().splitlines(),
    }
    target = BENCH / "results" / f"{path.stem}.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def main(names: list[str]) -> int:
    """Run the named benchmarks, by default all, and go on after one fails; return the exit code."""
    found = {path.stem: path for path in sorted(BENCH.glob("*.py"))}
    if unknown := sorted(set(names) - set(found)):
        print(f"no such benchmark: {', '.join(unknown)}; there are {', '.join(found)}", file=sys.stderr)
        return 2
    if len(names) == 1:
        run(found[names[0]])
        return 0
    codes = {name: subprocess.run([sys.executable, __file__, name], check=False).returncode for name in names or found}
    failed = [name for name, code in codes.items() if code != 0]
    print(f"{len(codes) - len(failed)} benchmarks run; results in bench/results")
    for name in failed:
        print(f"FAILED {name}")
    return 1 if failed or not codes else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
