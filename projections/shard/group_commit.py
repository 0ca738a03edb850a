"""Group commit: small writes to a shard's file share one transaction, which is committed a moment later.

A reader on the same connection sees them at once. A commit encrypts and writes some ten pages, often the same ones
again, and would take more than half of the time for folding one decision.

Nothing is lost: uncommitted writes are folded again from the log at the next start. If a commit fails, SQLite has
rolled back the whole transaction, and it may do so even if a read fails: it makes room for pages by writing others.
The writes are then repeated before the next read: the connection calls `restore`.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final, TypeVar

from projections.encrypted_files import sqlite3
from projections.shard.errors import ShardBusy, ShardDamaged, ShardUnavailable, trouble
from projections.shard.tables import VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from projections.shard.tables import ShardConnection
    from projections.shard.wal import Checkpoints
    from schemas.log import Record

COMMIT_SECONDS: Final = 0.5
"""The time from the first write to the commit."""
AGAIN_SECONDS: Final = 1.0
"""The time from a failed commit to the next attempt."""
MOST_WRITES: Final = 32
MOST_BYTES: Final = 256 << 10
"""The most writes, and bytes of their records, in one transaction: its pages are held in memory."""
Result = TypeVar("Result")


class GroupCommit:
    """Makes writes to a shard's file in the order in which they are requested, each whole or not at all."""

    def __init__(self, connection: ShardConnection, checkpoints: Checkpoints, forget: Callable[[], None]) -> None:
        """Call `forget`, which empties the caches of the file's rows, whenever writes are rolled back."""
        self._connection = connection
        self._checkpoints = checkpoints
        self._forget = forget
        self._writes: list[Callable[[], object]] = []
        """The writes that were made and not committed."""
        self._records: list[Sequence[Record]] = []
        """The records folded by each of these writes."""
        self._bytes = 0
        """The size of these records."""
        self._refused: set[bytes | None] = set()
        """The tenants of the records that could not be written since the last commit; None stands for any tenant."""
        self._timer: asyncio.TimerHandle | None = None
        self.trouble: ShardUnavailable | None = None
        """The reason why the last write could not be made or committed; None if it could."""

    def write(self, write: Callable[[], Result], size: int | None = None, records: Sequence[Record] = ()) -> Result:
        """Make a write; if the size of its records is given, it may be committed later, with others.

        `write` may be called again; `records` are those that it folds. Raises ShardUnavailable, ShardDamaged if the
        write was not made.
        """
        try:
            if self.trouble is not None:
                self.commit()  # so that no more is held in memory than was when the trouble began
            with self._whole():
                self._begin()
                result = write()
                if size is None or not self._may_wait(size):
                    self._commit()
                else:
                    self._writes.append(write)
                    self._records.append(records)
                    self._bytes += size
                    self._connection.restore = self._restore
        except ShardUnavailable:
            self._refused.update(_tenant_of(record) for record in records)
            raise
        return result

    def commit(self) -> None:
        """Commit all pending writes. Raises ShardUnavailable, ShardDamaged."""
        if self._writes:
            with self._whole():
                self._begin()
                self._commit()

    def try_commit(self) -> None:
        """Commit all pending writes if the file can be written; otherwise readiness shows it. Raises ShardDamaged."""
        with suppress(ShardUnavailable):
            self.commit()

    def has_waiting(self, tenant: str) -> bool:
        """Return whether a record of a tenant is not committed, or could not be written since the last commit."""
        waiting = self._refused.union(_tenant_of(record) for some in self._records for record in some)
        return None in waiting or tenant.encode() in waiting

    def discard(self) -> None:
        """Roll back all pending writes for good."""
        self._clear()
        if self._connection.in_transaction:
            self._connection.execute("rollback")

    def close(self) -> None:
        """Commit if possible: uncommitted writes are folded again from the log."""
        with suppress(ShardUnavailable, ShardDamaged):
            self.commit()
        self._clear()

    def _may_wait(self, size: int) -> bool:
        """Return whether a commit may wait. It may not in a thread without an event loop."""
        if len(self._writes) + 1 >= MOST_WRITES or self._bytes + size > MOST_BYTES:
            return False
        if self.trouble is not None or self._checkpoints.want_the_file:
            return False
        if self._timer is None:
            return self._commit_in(COMMIT_SECONDS)
        return True

    def _commit_in(self, seconds: float) -> bool:
        with suppress(RuntimeError):  # no loop runs here
            self._timer = asyncio.get_running_loop().call_later(seconds, self._commit_now)
            return True
        return False

    def _commit_now(self) -> None:
        self._timer = None
        with suppress(ShardUnavailable, ShardDamaged):  # readiness shows it, and the next write raises it
            self.commit()
            if self.trouble is not None:  # from a write that may never be repeated: readiness would show it for ever
                self.write(self._write_nothing_new)

    def _write_nothing_new(self) -> None:
        self._connection.execute(f"pragma user_version={VERSION}")

    def _begin(self) -> None:
        """Begin a transaction and repeat the pending writes in it, unless one is open."""
        if not self._connection.in_transaction:
            self._connection.restore = None
            self._connection.execute("begin immediate")
            for write in self._writes:
                write()
            self._connection.restore = self._restore if self._writes else None

    def _restore(self) -> None:
        """Repeat the writes that were rolled back. Raises ShardUnavailable, ShardDamaged."""
        with self._whole():
            self._begin()

    def _commit(self) -> None:
        self._connection.execute("commit")
        self._clear()
        self._refused.clear()
        self.trouble = None

    def _clear(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._writes.clear()
        self._records.clear()
        self._bytes = 0
        self._connection.restore = None

    @contextmanager
    def _whole(self) -> Iterator[None]:
        """Roll back everything uncommitted if the block raises: the next access repeats the pending writes."""
        try:
            yield
        except BaseException as error:
            self._take_back()
            known = error
            if isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.ProgrammingError):
                known = trouble(self._connection.path, error)
            if isinstance(known, ShardUnavailable):
                self.trouble = known
            self._try_again_later()
            if known is error:
                raise
            raise known from error

    def _take_back(self) -> None:
        self._forget()
        self._connection.restore = None
        if self._connection.in_transaction:
            self._connection.execute("rollback")
        if self._writes:
            self._connection.restore = self._restore

    def _try_again_later(self) -> None:
        """Schedule an attempt to commit pending writes, and to notice that trouble is over, without a next access.

        A file that another program holds is left to the next access: each attempt would block the event loop for
        seconds.
        """
        is_wanted = self._writes or not isinstance(self.trouble, ShardBusy | None)
        if is_wanted and self._timer is None:
            self._commit_in(AGAIN_SECONDS)


def _tenant_of(record: Record) -> bytes | None:
    """Return the tenant of a record; None if it may belong to any."""
    return None if record.key is None else record.key.partition(b"/")[0]
