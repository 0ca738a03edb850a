"""Checkpoints of a shard's write-ahead log, in a thread, because their fsyncs take tens of milliseconds.

A commit of one decision writes some fifteen pages: the log is many times as long as what was folded. While records come
it is moved into the file when it has grown; when none came for a while, it is emptied as well.
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
"""By which the write-ahead log grows between two checkpoints."""
TRUNCATE_SECONDS: Final = 10.0
CLEAR_SECONDS: Final = 50.0
"""How long it is tried while others read or write all the while: under load the file is quiet for moments only."""
PAUSE_SECONDS: Final = 0.1
"""Between two attempts: others write meanwhile."""
REST_SECONDS: Final = 5.0
"""Without a commit: then the write-ahead log is emptied."""
REST_BYTES: Final = 256 << 10
"""A write-ahead log that is shorter is left as it is."""
_NO_MATTER_OF_TIME: Final = (
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
)


class Checkpoints:
    """Checkpoints one file in a thread, with a connection of its own, while others go on reading and writing it.

    What is committed meanwhile is left for the next one. A checkpoint that fails is left to SQLite's own, made when the
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
        """Whether something was committed since the last look for rest."""
        self._counting = threading.Lock()
        self._clearings = 0
        """Calls of `clear` that go on."""
        self._truncations = 0
        """How many are wanted, since the thread that makes them began; 0: there is none."""
        self._ending = threading.Event()
        """Set while a thread that waits until nobody reads is to end."""

    @property
    def want_the_file(self) -> bool:
        """Whether a transaction that stays open would keep what was deleted from being overwritten."""
        return self._clearings > 0 or self._truncations > 0

    def committed(self) -> None:
        """Start a checkpoint where the write-ahead log has grown and none is running, else one when there is rest.

        Rest is seen by the event loop that this is called in, if it is in one.
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
        """Have the write-ahead log emptied and stale bytes overwritten: what was deleted still stands in them.

        Waits for nobody. Where others read for long, it is left to the next one, or to `clear`.
        """
        with self._counting:
            self._truncations += 1
            is_at_work = self._truncations > 1
        if not is_at_work and not self._start("truncate"):
            self._truncations = 0

    def clear(self) -> None:
        """Do as `truncate`, and wait: nothing of what was deleted stays. Raises ShardUnavailable, ShardDamaged."""
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
        """Wait for a running checkpoint: after that the file is open nowhere here, until the next commit.

        One that waits until nobody reads is ended.
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
        """Empty the write-ahead log, unless something was committed meanwhile."""
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
        with suppress(RuntimeError):  # the system gives no thread: what was folded is committed all the same
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
            if how == "rest":  # nothing is left to be copied, and where somebody reads or writes it is left for later
                connection.execute("pragma busy_timeout=0")
                connection.execute("pragma wal_checkpoint(truncate)")

    def _truncate(self) -> None:
        """Empty the write-ahead log, again where that was wanted once more meanwhile."""
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
    """Empty the write-ahead log once nobody reads, and the gaps of a file in clear.

    Raises StillWritten when so many seconds are over, or `ending` is set; OSError, sqlite3.Error.
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
