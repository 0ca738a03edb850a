"""Looks for failures that the tests do not find yet: draws examples and seeds, until MINUTES are over or a test fails.

`make explore` runs it for ten minutes; `SEED=N` repeats an earlier round. Add what it finds to the test as an explicit
example.
"""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
PLAYED: Final = 500
"""The seeds of the simulation below this number are left to the tests; rounds draw from those above it."""
SEEDS_A_ROUND: Final = 20
LARGEST: Final = 1 << 31


def drawing() -> list[str]:
    """Return the test files that draw examples with Hypothesis."""
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    return [str(file) for file in files if "from hypothesis import" in file.read_text(encoding="utf-8")]


def passes(tests: list[str], seed: int) -> bool:
    """Run the tests with the examples and seeds that a seed draws; return whether all pass."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "2", f"--hypothesis-seed={seed}", *tests]
    chosen = {"EXAMPLES": "drawn anew", "PUMP": str(seed), "FIRST_SEED": str(PLAYED + seed % LARGEST)}
    environment = os.environ | chosen | {"SEEDS": str(SEEDS_A_ROUND)}
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode == 0


def main() -> int:
    """Explore; return 1 if something was found, else 0."""
    ends = time.monotonic() + 60 * float(os.environ.get("MINUTES", "10"))
    tests = [*drawing(), "tests/unit/repository/test_patterns_are_linear.py", "tests/simulation/test_seeds.py"]
    given = os.environ.get("SEED")
    rounds = 0
    while given is None or not rounds:
        seed = int(given) if given else secrets.randbelow(LARGEST)
        print(f"Round {rounds + 1}: SEED={seed}", flush=True)
        if not passes(tests, seed):
            print(f"Found something (above). `make explore SEED={seed}` draws it again; add it as an explicit example.")
            return 1
        rounds += 1
        if time.monotonic() > ends:
            break
    print(f"{rounds} rounds found nothing.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
