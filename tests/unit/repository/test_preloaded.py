"""A machine without a C compiler runs all tests but those that need one; CI leaves nothing out."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
FILES = ("tests/unit/streams/transports/test_sqlite_durability.py", "tests/faults/test_clock.py")


def collected(**variables: str) -> list[str]:
    """Return the tests of the files that a machine with no other variables than these would run."""
    kept = {name: value for name, value in os.environ.items() if name not in {"CI", "PATH"}}
    done = subprocess.run(  # noqa: S603 - pytest itself
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *FILES],
        cwd=ROOT, env=kept | variables, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [line.partition("::")[2] for line in done.stdout.splitlines() if "::" in line]


def test_what_cannot_be_compiled_is_left_out_and_nothing_else(tmp_path: Path):
    assert collected(PATH=str(tmp_path)) == [
        "test_the_writer_syncs_at_every_commit",
        "test_what_was_acknowledged_before_kill_9_is_there_once_and_whole",
    ]


@pytest.mark.parametrize("variables", [{"CI": "true", "PATH": ""}, {"PATH": os.environ["PATH"]}])
def test_in_ci_and_with_a_compiler_everything_is_run(variables: dict[str, str]):
    assert len(collected(**variables)) == 5
