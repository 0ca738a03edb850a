"""Acknowledged means synced: watched from below the process, and over kill -9."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.log_file import writing_connection
from support.preloaded import compiled

from streams.transports.sqlite.log import SqliteLog

TOPIC = "mnemolog.inbox"
APPENDS = 30

# Appends one after the other and writes "A" into the spy's file at each acknowledgement.
ACKNOWLEDGE = """
import asyncio, os, sys
from pathlib import Path
from schemas.log import NewRecord
from support.log_file import writing_connection
from streams.transports.sqlite.log import SqliteLog

async def main():
    spy = int(os.environ["SYNC_SPY_FD"])
    log = SqliteLog.open(Path(sys.argv[1]))
    await log.create_topic("mnemolog.inbox", 1)
    writing_connection(log).execute("pragma synchronous = " + sys.argv[2])
    os.write(spy, b"start\\n")
    for n in range(int(sys.argv[3])):
        await log.append([NewRecord(topic="mnemolog.inbox", partition=0, key=b"k", value=b"%d" % n)])
        os.write(spy, b"A\\n")
    os.write(spy, b"end\\n")
    log.close()

asyncio.run(main())
"""

# Appends from many tasks at once until it is killed; prints each acknowledged value.
APPEND_FOR_EVER = """
import asyncio, itertools, os, sys
from pathlib import Path
from schemas.log import NewRecord
from streams.transports.sqlite.log import SqliteLog

async def append(log, numbers):
    for n in numbers:
        records = [NewRecord(topic="mnemolog.inbox", partition=p, key=b"k", value=b"%d" % n) for p in (0, 1)]
        await log.append(records)
        os.write(1, b"%d\\n" % n)

async def main():
    log = SqliteLog.open(Path(sys.argv[1]))
    await log.create_topic("mnemolog.inbox", 2)
    numbers = itertools.count(int(sys.argv[2]))
    await asyncio.gather(*(append(log, numbers) for _ in range(8)))

asyncio.run(main())
"""


@pytest.fixture(scope="module")
def sync_spy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile the library that watches the file system calls."""
    return compiled(Path(__file__).with_name("sync_spy.c"), tmp_path_factory.mktemp("spy"))


def watched(spy: Path, directory: Path, synchronous: str) -> list[str]:
    """Append under the spy; return what happened, in order: W(rite), S(ync), A(cknowledgement)."""
    notes = directory / "notes"
    with notes.open("ab") as file:
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "LD_PRELOAD": str(spy),
            "SYNC_SPY_FD": str(file.fileno()),
        }
        command = [sys.executable, "-c", ACKNOWLEDGE, str(directory), synchronous, str(APPENDS)]
        subprocess.run(command, check=True, env=environment, pass_fds=[file.fileno()])  # noqa: S603
    lines = notes.read_text().split("\n")
    return lines[lines.index("start") + 1 : lines.index("end")]


def unsynced_acknowledgements(happened: list[str]) -> int:
    """Count the acknowledgements before which something was written and not synced, or nothing was written at all."""
    wrong, state = 0, "nothing written"
    for what in happened:
        if what == "A":
            wrong += state != "synced"
            state = "nothing written"
        elif what == "W":
            state = "written"
        elif state == "written":
            state = "synced"
    return wrong


def test_every_acknowledgement_comes_after_the_sync_of_its_write(sync_spy: Path, tmp_path: Path):
    happened = watched(sync_spy, tmp_path, "full")
    assert happened.count("A") == APPENDS
    assert unsynced_acknowledgements(happened) == 0


def test_the_watch_would_notice_an_acknowledgement_without_sync(sync_spy: Path, tmp_path: Path):
    happened = watched(sync_spy, tmp_path, "normal")
    assert unsynced_acknowledgements(happened) == APPENDS


def test_the_writer_syncs_at_every_commit(tmp_path: Path):
    log = SqliteLog.open(tmp_path)
    connection = writing_connection(log)
    settings = [connection.execute(f"pragma {name}").fetchone()[0] for name in ("synchronous", "journal_mode")]
    log.close()
    assert settings == [2, "wal"]


async def test_what_was_acknowledged_before_kill_9_is_there_once_and_whole(tmp_path: Path):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    acknowledged: list[int] = []
    for _ in range(3):
        command = [sys.executable, "-c", APPEND_FOR_EVER, str(tmp_path), str(len(acknowledged) + 1000)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as process:  # noqa: S603, ASYNC220
            assert process.stdout is not None
            heard = [int(process.stdout.readline()) for _ in range(200)]
            process.kill()
            heard += [int(line) for line in process.stdout.read().split(b"\n") if line]
        log = SqliteLog.open(tmp_path)
        partitions = [[int(r.value) for r in await log.read(TOPIC, p, 0, 100_000)] for p in (0, 1)]
        offsets = [r.position.offset for r in await log.read(TOPIC, 0, 0, 100_000)]
        log.close()
        acknowledged += heard
        assert partitions[0] == partitions[1], "a call's records came apart"
        assert set(acknowledged) <= set(partitions[0])
        assert offsets == list(range(len(offsets)))
