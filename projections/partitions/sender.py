"""The sending side of a state transfer: offers closed shard files to the workers that now have their partitions."""

from __future__ import annotations

import logging
import os
from collections import defaultdict
from contextlib import closing, suppress
from threading import Lock
from typing import TYPE_CHECKING, Final

from projections.blocking_work import run_in_thread
from projections.encrypted_files import open_database, sqlite3
from projections.partitions.receiver import Offer, checksum
from projections.shard.errors import is_damaged
from projections.shard.tables import VERSION

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from pathlib import Path

READ_BYTES: Final = 1 << 20
"""A file is read and sent in pieces of this size."""

log = logging.getLogger("mnemolog.shard")


class InUse(Exception):
    """The shard is open here, or partitions are moving: ask again in a moment."""


class ShardSender:
    """Sends files of closed shards, to which nothing is written meanwhile. Opening a shard ends its transfers first.

    A transfer that is revoked like this ends without its checksum, by which the receiver knows that it is not whole.
    """

    def __init__(self, path_of: Callable[[int], Path], is_open: Callable[[int], bool]) -> None:
        """Send no shard for which `is_open` returns that it is open here, or about to be opened."""
        self._path_of = path_of
        self._is_open = is_open
        self._transfers: defaultdict[int, set[_Transfer]] = defaultdict(set)

    async def offer(self, partition: int) -> Offer | None:
        """Return an offer of a partition's file, without a URL; None if there is no usable file. Raises InUse."""
        self._require_unused(partition)
        return await run_in_thread(_offer_of, self._path_of(partition), partition)

    async def content(self, partition: int) -> AsyncGenerator[bytes, None]:
        """Yield a file in parts, then its checksum, which is missing when the transfer was revoked. Raises InUse."""
        path = self._path_of(partition)
        self._require_unused(partition)
        if _size(path.with_name(f"{path.name}-wal")) or not path.exists():
            raise InUse(f"{path.name} is not whole without what stands beside it: ask again in a moment")
        transfer = _Transfer(path)
        self._transfers[partition].add(transfer)
        try:
            while part := await run_in_thread(transfer.read):
                yield part
            if not transfer.is_closed:
                yield transfer.digest.digest()
        finally:
            self._transfers[partition].discard(transfer)
            transfer.close()

    async def revoke(self, partition: int) -> None:
        """End the transfers of a partition. To be called before its shard is opened, once `is_open` returns True."""
        for transfer in self._transfers.pop(partition, ()):
            await run_in_thread(transfer.close)

    def _require_unused(self, partition: int) -> None:
        if self._is_open(partition):
            raise InUse(f"the shard of partition {partition} is open: ask again in a moment")


class _Transfer:
    """A file that is being read, in threads.

    It must be closed before SQLite opens the same file: POSIX drops a process's locks on a file as soon as the process
    closes any descriptor of it, and SQLite would continue without its locks. So `close` waits for a read in progress.
    """

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDONLY)
        self._busy = Lock()
        self.is_closed = False
        self.digest = checksum()

    def read(self) -> bytes:
        """Return the next part; nothing at the end, or when the file is closed."""
        with self._busy:
            if self.is_closed:
                return b""
            part = os.read(self._file, READ_BYTES)
            self.digest.update(part)
            return part

    def close(self) -> None:
        """Close the file, after the read in progress."""
        with self._busy:
            if not self.is_closed:
                self.is_closed = True
                os.close(self._file)


def _offer_of(path: Path, partition: int) -> Offer | None:
    """Return the offer of a file, after merging the write-ahead log that a killed process may have left."""
    if not path.exists() or is_damaged(path):
        return None
    try:
        with closing(open_database(path, "rw")) as connection:
            (version,) = connection.execute("pragma user_version").fetchone()
            if version != VERSION:
                return None
            connection.execute("pragma wal_checkpoint(truncate)").fetchall()
            offsets = dict(connection.execute("select topic, next from offsets").fetchall())
    except sqlite3.Error as error:
        log.warning("shard %s cannot be offered: %s", path.name, error)
        return None
    return Offer("", partition, offsets, version, _size(path))


def _size(path: Path) -> int:
    with suppress(FileNotFoundError):
        return path.stat().st_size
    return 0
