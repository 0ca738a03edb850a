"""A shard's write-ahead log goes into its file beside the work."""

from __future__ import annotations

import asyncio
import os
import shutil
import threading
import time
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from support.failing_disk import failing_disk

from projections import stale_bytes
from projections.encrypted_files import open_database, sqlite3
from projections.shard import wal
from projections.shard.errors import ShardBusy, ShardUnavailable
from projections.shard.tables import connect
from projections.shard.wal import CHECKPOINT_BYTES, REST_BYTES, Checkpoints, held

if TYPE_CHECKING:
    from pathlib import Path


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


def test_while_a_log_that_is_read_is_to_be_emptied_others_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wal, "TRUNCATE_SECONDS", 3_600.0)
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
        _wait_until_emptied(checkpoints)
        assert path.with_name("shard.sqlite-wal").stat().st_size == 0


def test_what_is_to_be_emptied_once_more_while_somebody_reads_is_emptied_when_nobody_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wal, "TRUNCATE_SECONDS", 3_600.0)
    path = tmp_path / "shard.sqlite"
    log = path.with_name("shard.sqlite-wal")
    with closing(connect(path)) as connection:
        checkpoints = Checkpoints(path)
        with held(path):
            _lengthen(connection, REST_BYTES)
            checkpoints.truncate()
            [first] = _threads()
            _lengthen(connection, REST_BYTES)
            checkpoints.truncate()
            assert _threads() == [first]  # which is waited for by nobody
        _wait_until_emptied(checkpoints)
        assert log.stat().st_size == 0
        checkpoints.close()


def test_closing_ends_what_waits_until_nobody_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wal, "TRUNCATE_SECONDS", 3_600.0)
    path = tmp_path / "shard.sqlite"
    with closing(connect(path)) as connection:
        checkpoints = Checkpoints(path)
        with held(path):
            _lengthen(connection, REST_BYTES)
            checkpoints.truncate()
            checkpoints.close()
            assert (checkpoints.want_the_file, _threads()) == (False, [])
            checkpoints.truncate()
        _wait_until_emptied(checkpoints)
        assert path.with_name("shard.sqlite-wal").stat().st_size == 0
        checkpoints.close()


def test_closing_ends_what_waits_to_overwrite_gaps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    emptied = threading.Event()

    def empty_log(_connection: object) -> bool:
        emptied.set()
        return True  # and then somebody wrote, and somebody reads

    monkeypatch.setattr(wal, "empty_log", empty_log)
    monkeypatch.setattr(stale_bytes, "PATIENCE_SECONDS", 3_600.0)
    path = tmp_path / "shard.sqlite"
    with closing(connect(path)) as connection:
        checkpoints = Checkpoints(path)
        with held(path):
            _lengthen(connection, REST_BYTES)
            checkpoints.truncate()
            emptied.wait()
            checkpoints.close()
            assert _threads() == []


def test_on_a_disk_that_does_not_write_nobody_waits_until_it_does(tmp_path: Path) -> None:
    path = tmp_path / "shard.sqlite"
    with closing(connect(path)) as connection:
        _lengthen(connection, REST_BYTES)
        with failing_disk(), pytest.raises(ShardUnavailable):
            Checkpoints(path).clear()
        Checkpoints(path).clear()
        assert path.with_name("shard.sqlite-wal").stat().st_size == 0


def test_what_is_read_all_the_while_is_not_said_to_be_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wal, "CLEAR_SECONDS", 0.0)
    path = tmp_path / "shard.sqlite"
    with closing(connect(path)) as connection, held(path):
        _lengthen(connection, REST_BYTES)
        with pytest.raises(ShardBusy, match="cannot be overwritten yet"):
            Checkpoints(path).clear()


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


def _wait_until_emptied(checkpoints: Checkpoints) -> None:
    until = time.monotonic() + 120
    while checkpoints.want_the_file:
        assert time.monotonic() < until, "it is not emptied"
        time.sleep(0.01)


def _threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("checkpoint")]


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
