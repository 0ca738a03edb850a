"""A shard's write-ahead log goes into its file beside the work."""

from __future__ import annotations

import asyncio
import os
import shutil
import threading
import time
from contextlib import closing
from typing import TYPE_CHECKING

from projections.encrypted_files import open_database, sqlite3
from projections.shard import wal
from projections.shard.tables import connect
from projections.shard.wal import CHECKPOINT_BYTES, REST_BYTES, Checkpoints, held

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_what_was_committed_is_in_the_file_itself(tmp_path: Path) -> None:
    path = tmp_path / "shard.sqlite"
    with closing(connect(path)) as connection:
        checkpoints = Checkpoints(path)
        connection.execute("insert into offsets values('t', 7, x'00')")
        checkpoints.committed()
        checkpoints.close()
        assert "offsets" not in _alone(path, tmp_path)
        _lengthen(connection, CHECKPOINT_BYTES)
        checkpoints.committed()
        checkpoints.close()
        assert _alone(path, tmp_path)["offsets"] == [("t", 7, b"\0")]


def test_a_log_that_was_checkpointed_is_checkpointed_again_when_it_has_grown_as_much_again(tmp_path: Path) -> None:
    path = tmp_path / "shard.sqlite"
    with closing(connect(path)) as connection, held(path):  # somebody reads: the log is not begun anew
        checkpoints = Checkpoints(path)
        _lengthen(connection, CHECKPOINT_BYTES)
        checkpoints.committed()
        checkpoints.close()
        connection.execute("insert into offsets values('t', 7, x'00')")
        checkpoints.committed()
        checkpoints.close()
        assert _alone(path, tmp_path).get("offsets", []) == []
        _lengthen(connection, CHECKPOINT_BYTES)
    checkpoints.committed()
    checkpoints.close()
    assert _alone(path, tmp_path)["offsets"] == [("t", 7, b"\0")]


async def test_a_log_is_emptied_when_nothing_was_committed_for_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wal, "REST_SECONDS", 0.05)
    path = tmp_path / "shard.sqlite"
    log = path.with_name("shard.sqlite-wal")
    with closing(connect(path)) as connection:
        checkpoints = Checkpoints(path)
        connection.execute("insert into offsets values('t', 7, x'00')")
        _lengthen(connection, REST_BYTES)
        checkpoints.committed()
        await _emptied(log)
        assert _alone(path, tmp_path)["offsets"] == [("t", 7, b"\0")]
        _lengthen(connection, REST_BYTES)  # and again, after the next commit
        checkpoints.committed()
        await _emptied(log)
        checkpoints.close()


async def test_a_log_that_somebody_reads_is_left_for_the_next_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wal, "REST_SECONDS", 0.0)
    path = tmp_path / "shard.sqlite"
    with closing(connect(path)) as connection:
        checkpoints = Checkpoints(path)
        _lengthen(connection, REST_BYTES)
        with held(path):
            _lengthen(connection, REST_BYTES)
            checkpoints.committed()
            await asyncio.sleep(0)
            checkpoints.close()
            connection.execute("insert into offsets values('t', 7, x'00')")  # nobody is in the way
            assert path.with_name("shard.sqlite-wal").stat().st_size >= REST_BYTES


def test_while_a_log_that_is_read_is_to_be_emptied_others_write(tmp_path: Path) -> None:
    path = tmp_path / "shard.sqlite"
    with closing(connect(path)) as connection:
        checkpoints = Checkpoints(path)
        _lengthen(connection, REST_BYTES)
        with held(path):
            connection.execute("insert into offsets values('t', 0, x'00')")
            checkpoints.truncate()
            until = time.monotonic() + 1.5
            while time.monotonic() < until:
                connection.execute("update offsets set next = next + 1")  # raises where it waits for five seconds
        checkpoints.close()
        assert path.with_name("shard.sqlite-wal").stat().st_size == 0


def test_a_file_that_was_deleted_is_not_made_anew(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path / "gone.sqlite")
    (tmp_path / "gone.sqlite-wal").write_bytes(bytes(CHECKPOINT_BYTES))
    checkpoints.committed()
    checkpoints.close()
    assert not (tmp_path / "gone.sqlite").exists()


def test_a_system_that_gives_no_thread_stops_nobody(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path / "shard.sqlite")
    (tmp_path / "shard.sqlite-wal").write_bytes(bytes(CHECKPOINT_BYTES))
    usual = threading.stack_size(1 << 47)  # more than a process can address
    try:
        checkpoints.committed()
    finally:
        threading.stack_size(usual)
    checkpoints.close()


def test_the_write_ahead_log_is_not_begun_anew_under_a_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "shard.sqlite"
    with closing(connect(path)) as connection, closing(open_database(path)) as other:
        assert _checkpoint(other)[0] == _checkpoint(other)[1]
        with held(path):  # everything is in the file: the log may begin anew, but nobody checkpoints it
            connection.execute("insert into offsets values('t', 1, x'00')")
            assert _checkpoint(other) == (1, 0)
        with held(path):  # it is not: the log goes on, and is checkpointed up to where it was
            assert _checkpoint(other) == (1, 1)
            connection.execute("insert into offsets values('u', 2, x'00')")
            assert _checkpoint(other) == (2, 1)
        assert _checkpoint(other) == (2, 2)
        connection.execute("insert into offsets values('v', 3, x'00')")
        assert _checkpoint(other) == (1, 1)


async def _emptied(log: Path) -> None:
    async with asyncio.timeout(120):
        while os.path.getsize(log):  # noqa: ASYNC110, ASYNC240, PTH202 - a file's length is no event
            await asyncio.sleep(0.01)


def _lengthen(connection: sqlite3.Connection, by: int) -> None:
    """Commit so much that the write-ahead log has so many bytes more; what is left in the tables is nothing."""
    connection.execute("begin")
    connection.execute("insert into letters values(cast(zeroblob(?) as text), 1)", (by,))
    connection.execute("commit")
    connection.execute("delete from letters")


def _alone(path: Path, folder: Path) -> dict[str, list[tuple[object, ...]]]:
    """Return the rows of `offsets` in a copy of the file without its write-ahead log, if it has the table there."""
    copy = folder / "copy.sqlite"
    shutil.copy(path, copy)
    with closing(open_database(copy)) as connection:
        tables = connection.execute("select name from sqlite_master where name = 'offsets'").fetchall()
        return {name: connection.execute(f"select * from {name}").fetchall() for (name,) in tables}  # noqa: S608


def _checkpoint(connection: sqlite3.Connection) -> tuple[int, int]:
    """Checkpoint what can be; return how many pages the write-ahead log has, and how many of them are in the file."""
    _, pages, done = connection.execute("pragma wal_checkpoint(passive)").fetchone()
    return pages, done
