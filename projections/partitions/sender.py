"""Lends the files of shards that nobody uses here any more to the workers that have their partitions now."""

from __future__ import annotations

import logging
import os
import sqlite3
from collections import defaultdict
from contextlib import closing, suppress
from threading import Lock
from typing import TYPE_CHECKING, Final

from projections.partitions.receiver import Offer, checksum
from projections.shard.errors import is_damaged
from projections.shard.tables import VERSION
from projections.threads import in_thread

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from pathlib import Path

READ_AT_ONCE: Final = 1 << 20

log = logging.getLogger("mnemolog.shard")


class InUse(Exception):
    """The shard is open here, or partitions are moving: ask again in a moment."""


class ShardSender:
    """A file that is lent is one that nobody writes: it is taken back before the shard is opened again."""

    def __init__(self, path_of: Callable[[int], Path], is_open: Callable[[int], bool]) -> None:
        self._path_of = path_of
        self._is_open = is_open
        self._lent: defaultdict[int, set[_Reading]] = defaultdict(set)

    async def offer(self, partition: int) -> Offer | None:
        """Return what is here of a partition, None when nothing is. Raises InUse."""
        self._require_unused(partition)
        return await in_thread(_offered, self._path_of(partition), partition)

    async def content(self, partition: int) -> AsyncGenerator[bytes, None]:
        """Yield a file in parts, then its checksum, which is missing when the file was taken back. Raises InUse."""
        path = self._path_of(partition)
        self._require_unused(partition)
        if _size(path.with_name(f"{path.name}-wal")) or not path.exists():
            raise InUse(f"{path.name} is not whole without what stands beside it: ask again in a moment")
        reading = _Reading(path)
        self._lent[partition].add(reading)
        try:
            while part := await in_thread(reading.read):
                yield part
            if not reading.is_closed:
                yield reading.seen.digest()
        finally:
            self._lent[partition].discard(reading)
            reading.close()

    async def revoke(self, partition: int) -> None:
        """Read a partition's file no more; to be called before it is opened, where `is_open` says so already."""
        for reading in self._lent.pop(partition, ()):
            await in_thread(reading.close)

    def _require_unused(self, partition: int) -> None:
        if self._is_open(partition):
            raise InUse(f"the shard of partition {partition} is open: ask again in a moment")


class _Reading:
    """A file that is being read. It is closed before SQLite opens it: closing it later would drop SQLite's locks."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDONLY)
        self._busy = Lock()
        self.is_closed = False
        self.seen = checksum()

    def read(self) -> bytes:
        """Return the next part; nothing at the end, or when it is closed."""
        with self._busy:
            if self.is_closed:
                return b""
            part = os.read(self._file, READ_AT_ONCE)
            self.seen.update(part)
            return part

    def close(self) -> None:
        """Close it, when what is being read now has been."""
        with self._busy:
            if not self.is_closed:
                self.is_closed = True
                os.close(self._file)


def _offered(path: Path, partition: int) -> Offer | None:
    """Bring what a killed process left beside a file into it, and return what it is a fold of."""
    if not path.exists() or is_damaged(path):
        return None
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=rw", uri=True)) as connection:
            (version,) = connection.execute("pragma user_version").fetchone()
            if version != VERSION:
                return None
            connection.execute("pragma wal_checkpoint(truncate)").fetchall()
            offsets = dict(connection.execute("select topic, next from offsets").fetchall())
    except sqlite3.Error as error:
        log.warning("shard %s cannot be lent: %s", path.name, error)
        return None
    return Offer("", partition, offsets, version, _size(path))


def _size(path: Path) -> int:
    with suppress(FileNotFoundError):
        return path.stat().st_size
    return 0
