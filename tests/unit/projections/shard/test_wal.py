"""A shard's write-ahead log goes into its file beside the work."""

from __future__ import annotations

import shutil
import threading
from contextlib import closing
from typing import TYPE_CHECKING

from projections.encrypted_files import open_database, sqlite3
from projections.shard.tables import connect
from projections.shard.wal import CHECKPOINT_BYTES, Checkpoints, held

if TYPE_CHECKING:
    from pathlib import Path


def test_what_was_committed_is_in_the_file_itself(tmp_path: Path) -> None:
    path = tmp_path / "shard.sqlite"
    with closing(connect(path)) as connection:
        checkpoints = Checkpoints(path)
        connection.execute("insert into offsets values('t', 7, x'00')")
        checkpoints.committed(CHECKPOINT_BYTES - 1)
        checkpoints.close()
        assert "offsets" not in _alone(path, tmp_path)
        checkpoints.committed(1)
        checkpoints.close()
        assert _alone(path, tmp_path)["offsets"] == [("t", 7, b"\0")]


def test_a_file_that_was_deleted_is_not_made_anew(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path / "gone.sqlite")
    checkpoints.committed(CHECKPOINT_BYTES)
    checkpoints.close()
    assert list(tmp_path.iterdir()) == []


def test_a_system_that_gives_no_thread_stops_nobody(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path / "shard.sqlite")
    usual = threading.stack_size(1 << 47)  # more than a process can address
    try:
        checkpoints.committed(CHECKPOINT_BYTES)
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
