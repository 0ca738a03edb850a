"""Checkpoints of a shard's write-ahead log, in a thread, because their fsyncs take tens of milliseconds.

A commit of one decision writes some fifteen pages: the log is many times as long as the records folded. While records
come, it is moved into the file each time that it has grown; when none have come for a while, it is emptied as well.
"""

from __future__ import annotations

import asyncio
import threading
import time
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, Final

from projections.encrypted_files import key_of, open_database, sqlite3
from projections.shard.errors import ShardBusy, trouble
from projections.stale_bytes import StillWritten, clear_gaps, empty_log

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CHECKPOINT_BYTES: Final = 16 << 20
"""The growth of the write-ahead log between two checkpoints."""
TRUNCATE_SECONDS: Final = 10.0
CLEAR_SECONDS: Final = 50.0
"""How long attempts go on while others keep reading or writing: under load the file is idle for moments only."""
PAUSE_SECONDS: Final = 0.1
"""The pause between two attempts, in which others can write."""
REST_SECONDS: Final = 5.0
"""The time without a commit after which the write-ahead log is emptied."""
REST_BYTES: Final = 256 << 10
"""A write-ahead log shorter than this is left as it is."""
_NO_MATTER_OF_TIME: Final = (
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
)


class Checkpoints:
    """Checkpoints one file in a thread, with a connection of its own, while others continue to read and write it.

    Commits made meanwhile are left for the next checkpoint. After a failure, SQLite's own checkpoint follows when the
    write-ahead log has grown long. Neither reports a failure: a commit does, when the disk is full.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._log = path.with_name(f"{path.name}-wal")
        self._begun_at = 0
        """The length of the write-ahead log when the last checkpoint began."""
        self._thread: threading.Thread | None = None
        self._rest: asyncio.TimerHandle | None = None
        self._is_fresh = False
        """Whether there was a commit since the last check for rest."""
        self._counting = threading.Lock()
        self._clearings = 0
        """The number of calls of `clear` in progress."""
        self._truncations = 0
        """The number of truncations requested since the thread that makes them began; 0 if there is no thread."""
        self._ending = threading.Event()
        """Set to end a thread that waits for readers."""

    @property
    def want_the_file(self) -> bool:
        """Whether a transaction that stays open would keep what was deleted from being overwritten."""
        return self._clearings > 0 or self._truncations > 0

    def committed(self) -> None:
        """Start a checkpoint if the write-ahead log has grown and none is running, and schedule one for a time of rest.

        The check for rest runs on the caller's event loop, if there is one.
        """
        length = self._length()
        if length < self._begun_at:
            self._begun_at = 0  # the writer began it anew
        if length >= self._begun_at + CHECKPOINT_BYTES and not self._is_running():
            self._begun_at = length
            self._start("passive")
        self._is_fresh = self._rest is not None
        if self._rest is None:
            self._look_later()

    def truncate(self) -> None:
        """Start to empty the write-ahead log and to overwrite stale bytes, which still hold deleted rows.

        Returns at once. If others read for long, this is left to the next call, or to `clear`.
        """
        with self._counting:
            self._truncations += 1
            is_at_work = self._truncations > 1
        if not is_at_work and not self._start("truncate"):
            self._truncations = 0

    def clear(self) -> None:
        """Do as `truncate`, and wait until no deleted row remains. Raises ShardUnavailable, ShardDamaged."""
        self.close()
        self._count_clearings(1)
        try:
            _empty(self._path, CLEAR_SECONDS, threading.Event())
        except (StillWritten, OSError) as error:
            raise ShardBusy(f"what was deleted cannot be overwritten yet: {error}") from error
        except sqlite3.Error as error:
            raise trouble(self._path, error) from error
        finally:
            self._count_clearings(-1)

    def close(self) -> None:
        """Wait for a running checkpoint: after that no checkpoint has the file open, until the next commit.

        A checkpoint that waits for readers is ended.
        """
        if self._rest is not None:
            self._rest.cancel()
            self._rest = None
        if self._thread is not None:
            self._ending.set()
            self._thread.join()
            self._ending.clear()

    def _look_later(self) -> None:
        with suppress(RuntimeError):  # no loop runs here: the next commit in one looks
            self._is_fresh = False
            self._rest = asyncio.get_running_loop().call_later(REST_SECONDS, self._look)

    def _look(self) -> None:
        """Empty the write-ahead log, unless there was a commit meanwhile."""
        self._rest = None
        if self._is_fresh or self._is_running():
            self._look_later()
        elif self._length() >= REST_BYTES:
            self._start("rest")
            self._look_later()  # it may be read just now

    def _length(self) -> int:
        try:
            return self._log.stat().st_size
        except OSError:
            return 0

    def _is_running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def _start(self, how: str) -> bool:
        name = f"checkpoint {self._path.name}"
        thread = threading.Thread(target=self._checkpoint, args=(how, self._thread), name=name)
        with suppress(RuntimeError):  # the system has no thread left: the folds are committed all the same
            thread.start()
            self._thread = thread
            return True
        return False

    def _count_clearings(self, number: int) -> None:
        with self._counting:
            self._clearings += number

    def _checkpoint(self, how: str, former: threading.Thread | None) -> None:
        if former is not None:
            former.join()
        if how == "truncate":
            self._truncate()
            return
        with suppress(sqlite3.Error), closing(_opened(self._path)) as connection:
            with held(self._path):
                connection.execute("pragma wal_checkpoint(passive)")
            if how == "rest":  # nothing is left to copy; if the file is read or written just now, it is left for later
                connection.execute("pragma busy_timeout=0")
                connection.execute("pragma wal_checkpoint(truncate)")

    def _truncate(self) -> None:
        """Empty the write-ahead log, and again if that was requested meanwhile."""
        is_wanted = True
        while is_wanted:
            wanted = self._truncations
            with suppress(sqlite3.Error, StillWritten, OSError):
                _empty(self._path, TRUNCATE_SECONDS, self._ending)
            with self._counting:
                is_wanted = self._truncations > wanted and not self._ending.is_set()
                if not is_wanted:
                    self._truncations = 0


def _empty(path: Path, seconds: float, ending: threading.Event) -> None:
    """Empty the write-ahead log once there are no readers, and the gaps of an unencrypted file.

    Raises StillWritten after `seconds`, or when `ending` is set; OSError, sqlite3.Error.
    """
    until = time.monotonic() + seconds
    with closing(_opened(path)) as connection:
        connection.execute("pragma busy_timeout=10000")
        while True:
            reason = f"{path} is written or read all the while"
            try:
                if empty_log(connection):
                    if key_of(path) is None:
                        clear_gaps(path, connection, ending)
                    return
            except (StillWritten, sqlite3.OperationalError) as error:
                if getattr(error, "sqlite_errorcode", 0) & 0xFF in _NO_MATTER_OF_TIME:
                    raise
                reason = str(error)
            if time.monotonic() >= until or ending.wait(PAUSE_SECONDS):
                raise StillWritten(reason)


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Hold a read transaction: either the write-ahead log is not restarted, or none of it can be checkpointed.

    SQLite before 3.51.3 takes new frames for checkpointed ones, and loses them, if the writer restarts the log at the
    instant at which another connection begins a checkpoint (https://sqlite.org/wal.html#walresetbug).
    """
    with closing(_opened(path)) as reader:
        reader.execute("begin")
        reader.execute("select 1 from sqlite_master").fetchall()  # the first read takes the lock
        yield


def _opened(path: Path) -> sqlite3.Connection:
    connection: sqlite3.Connection = open_database(path, "rw")  # a deleted file is not created again
    return connection
