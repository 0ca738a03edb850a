"""A machine without a C compiler runs all tests but those that need one; CI leaves nothing out."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.tables import each

ROOT = Path(__file__).resolve().parents[3]
FILES = ("tests/unit/streams/transports/test_sqlite_durability.py", "tests/faults/test_clock.py")


class Seen:
    """A plugin that notes which tests would be run."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note them."""
        self.names = [item.name for item in session.items]


def collected(**variables: str) -> list[str]:
    """Return the tests of the files that a machine with no other variables than these would run.

    They are collected in this process, which has imported what they need.
    """
    seen = Seen()
    with pytest.MonkeyPatch.context() as patch:
        for name in ("CI", "PATH"):
            patch.delenv(name, raising=False)
        for name, value in variables.items():
            patch.setenv(name, value)
        options = ["--collect-only", "-qq", "-c", str(ROOT / "pyproject.toml"), "--rootdir", str(ROOT)]
        without = ["-p", "no:cacheprovider", "-p", "no:faulthandler"]
        assert pytest.main([*options, *without, *(str(ROOT / file) for file in FILES)], plugins=[seen]) == 0
    return seen.names


def test_what_cannot_be_compiled_is_left_out_and_nothing_else(tmp_path: Path):
    assert collected(PATH=str(tmp_path)) == [
        "test_the_writer_syncs_at_every_commit",
        "test_what_was_acknowledged_before_kill_9_is_there_once_and_whole",
    ]


@each("variables", [{"CI": "true", "PATH": ""}, {"PATH": os.environ["PATH"]}])
def test_in_ci_and_with_a_compiler_everything_is_run(variables: dict[str, str]):
    assert len(collected(**variables)) == 5
