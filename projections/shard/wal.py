"""Checkpoints of a shard's write-ahead log, in a thread, because their fsyncs take tens of milliseconds."""

from __future__ import annotations

import threading
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, Final

from projections.encrypted_files import key_of, open_database, sqlite3
from projections.stale_bytes import StillWritten, clear_gaps

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CHECKPOINT_BYTES: Final = 2 << 20
"""Of records folded between two checkpoints; the write-ahead log takes several times as much."""


class Checkpoints:
    """Checkpoints one file in a thread, with a connection of its own, while others go on reading and writing it.

    What is committed meanwhile is left for the next one. A checkpoint that fails is left to SQLite's own, made when the
    write-ahead log has grown long. Neither reports a failure: a commit does, when the disk is full.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._bytes = 0
        self._thread: threading.Thread | None = None

    def committed(self, count: int) -> None:
        """Count folded bytes; start a checkpoint when they are many and none is running."""
        self._bytes += count
        if self._bytes >= CHECKPOINT_BYTES and (self._thread is None or not self._thread.is_alive()):
            self._bytes = 0
            self._start("passive")

    def truncate(self) -> None:
        """Have the write-ahead log emptied and stale bytes overwritten: what was deleted still stands in them."""
        self.close()
        self._start("truncate")

    def close(self) -> None:
        """Wait for a running checkpoint: after that the file is open nowhere here."""
        if self._thread is not None:
            self._thread.join()

    def _start(self, how: str) -> None:
        thread = threading.Thread(target=self._checkpoint, args=(how,), name=f"checkpoint {self._path.name}")
        with suppress(RuntimeError):  # the system gives no thread: what was folded is committed all the same
            thread.start()
            self._thread = thread

    def _checkpoint(self, how: str) -> None:
        with suppress(sqlite3.Error), closing(_opened(self._path)) as connection:
            if how == "truncate":  # waits for those who read, and leaves nothing to be begun anew
                connection.execute("pragma busy_timeout=10000")
                connection.execute("pragma wal_checkpoint(truncate)")
                if key_of(self._path) is None:
                    with suppress(StillWritten, OSError):
                        clear_gaps(self._path, connection)
                return
            with held(self._path):
                connection.execute("pragma wal_checkpoint(passive)")


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Read a file meanwhile: either its write-ahead log is not begun anew, or nothing of it can be checkpointed.

    SQLite before 3.51.3 takes what is written for checkpointed, and loses it, where the writer begins the log anew at
    the instant at which another connection begins a checkpoint (https://sqlite.org/wal.html#walresetbug).
    """
    with closing(_opened(path)) as reader:
        reader.execute("begin")
        reader.execute("select 1 from sqlite_master").fetchall()  # the lock comes with the first look
        yield


def _opened(path: Path) -> sqlite3.Connection:
    connection: sqlite3.Connection = open_database(path, "rw")  # a deleted file is not made anew
    return connection
