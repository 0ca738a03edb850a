"""What a worker and a command write is their user's alone, in a folder of an older version too."""

from __future__ import annotations

import json
import os
import signal
import stat
from typing import TYPE_CHECKING

import pytest
from support import forked_program
from support.free_ports import free_ports
from support.mnemolog_up import TIMEOUT_SECONDS, ForkedUp, environment

from mnemolog.diagnostics import checks
from mnemolog.log.private_files import close_to_others, find_open
from mnemolog.settings import from_environment

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CLOSED = "were open to other users: they are closed now"


def modes(folder: Path) -> set[tuple[str, int]]:
    """Return what others may do with a folder and everything in it, where they may do anything."""
    paths = (folder, *folder.rglob("*"))
    found = {(str(path.relative_to(folder)), stat.S_IMODE(path.lstat().st_mode)) for path in paths}
    return {(name, mode) for name, mode in found if mode & 0o077}


def open_to_everybody(folder: Path) -> None:
    """Give folders and files the modes that older versions left."""
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)


@pytest.fixture
def careless() -> Iterator[None]:
    """Start programs as most shells do: what they create can be read by everybody."""
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.usefixtures("careless")
def test_a_worker_closes_its_folder_also_one_that_an_older_version_left_open(tmp_path: Path):
    folder = tmp_path / "deep" / "var"
    said = [served(folder)]
    assert modes(folder) == set()
    open_to_everybody(folder)
    said.append(served(folder))
    assert modes(folder) == set()
    said.append(served(folder))
    assert [CLOSED in one for one in said] == [False, True, False]


def served(folder: Path) -> str:
    """Start a worker, let it remember something, look at its files while it runs, and return what it said."""
    up = ForkedUp(folder, free_ports(1)[0])
    up.wait_until_ready()
    up.client.remember("likes tea", "u1")
    assert modes(folder) == set()
    code, said = up.end(signal.SIGTERM)
    assert code == 0, said
    return said


@pytest.mark.usefixtures("careless")
def test_a_command_that_runs_the_engine_and_writes_a_file_keeps_both_closed(tmp_path: Path):
    folder, file = tmp_path / "var", tmp_path / "u1.jsonl"
    file.write_text("of yesterday")
    file.chmod(0o644)
    (tmp_path / "elsewhere").write_text("untouched")
    file.with_name("u1.jsonl.part").symlink_to(tmp_path / "elsewhere")
    event = {"type": "TurnRecorded", "user_id": "u1", "session_id": "s1", "role": "user", "content": "I like tea."}
    (tmp_path / "turn.jsonl").write_text(json.dumps(event), "utf-8")
    run(folder, "publish", str(tmp_path / "turn.jsonl"))
    run(folder, "drain")
    open_to_everybody(folder)
    run(folder, "export", "--user", "u1", "--output", str(file))
    assert modes(folder) == set()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "Exported" in file.read_text("utf-8")
    assert (tmp_path / "elsewhere").read_text() == "untouched"


def run(folder: Path, *command: str) -> None:
    """Run a command on a data directory; AssertionError with its words when it fails."""
    whole = (*command, "--data", str(folder))
    done = forked_program.mnemolog(*whole, environment=environment(), timeout=TIMEOUT_SECONDS)
    assert done.returncode == 0, done.stderr.decode()


async def test_the_doctor_names_what_is_open_and_what_to_do(tmp_path: Path):
    (tmp_path / "shards").mkdir(0o700)
    (tmp_path / "shards" / "active").touch()
    (tmp_path / "shards" / "active").chmod(0o644)  # whatever the umask is, which commands in this process have set
    [found] = [
        one for one in await checks.checked(from_environment({}, data_dir=tmp_path)) if one.name == "data directory"
    ]
    assert not found.ok
    assert str(tmp_path / "shards" / "active") in found.detail
    assert "start a worker" in found.advice
    assert close_to_others(tmp_path) == 1
    assert find_open(tmp_path) == []


def test_what_is_not_ours_is_left_as_it_is(tmp_path: Path):
    foreign = tmp_path / "notes.txt"
    foreign.touch(0o644)
    (tmp_path / "log").mkdir(0o700)
    (tmp_path / "log" / "link").symlink_to(foreign)
    tmp_path.chmod(0o755)
    assert find_open(tmp_path) == []
    foreign.unlink()
    assert find_open(tmp_path) == [tmp_path]
