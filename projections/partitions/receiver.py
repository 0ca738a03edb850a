"""State transfer, receiving: fetches a shard's file from another worker, which is faster than folding the log again.

A copy is used only if it is a fold of this log like any other: its length and checksum are those that the sender
names, its tables are of this version, and its log positions are those of the log. Otherwise the partition is folded.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import time
from contextlib import aclosing, closing
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, Protocol

from projections.blocking_work import run_in_thread
from projections.encrypted_files import open_database, sqlite3
from projections.shard.log_position import are_of, ends_of
from projections.shard.tables import VERSION

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
    from pathlib import Path
    from typing import BinaryIO

    from projections.partitions.assignment import Lease
    from projections.shard.log_position import LogPosition
    from projections.shard.shard import Shard
    from schemas.log import Log

WORTH_RECORDS: Final = 20_000
"""A copy that saves folding no more records than this is not fetched: folding them takes about four seconds."""
CHECKSUM_BYTES: Final = 32
WRITE_BYTES: Final = 4 << 20
"""The size of the pieces in which a received file is written."""
SPARE_BYTES: Final = 256 << 20
"""How much a copy must leave free on the disk, for the other shards."""
PROGRESS_SECONDS: Final = 5.0
"""How often progress is logged."""

MOVED: Final = "the partition was taken away meanwhile"
log = logging.getLogger("mnemolog.shard")


class NotCopied(Exception):
    """The copy cannot be fetched, or is not what it should be: the partition is folded from the log."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A file of a partition's shard that another worker sends on request."""

    url: str
    """The URL of the worker that has it."""
    partition: int
    offsets: Mapping[str, int]
    """The offset up to which each topic is folded."""
    version: int
    size: int
    """The size in bytes, without the checksum."""


class ShardSource(Protocol):
    """The files of shards that other workers have."""

    async def offers(self, partition: int) -> Sequence[Offer]:
        """Return the offers of a partition; a worker that does not answer in time makes none. Never fails."""

    def content(self, offer: Offer) -> AsyncGenerator[bytes, None]:
        """Yield the file in parts, then its checksum, as `checksum` makes it. Raises NotCopied."""


def checksum() -> blake2b:
    """Return an empty hash, of CHECKSUM_BYTES, to be updated with the file."""
    return blake2b(digest_size=CHECKSUM_BYTES)


class ShardReceiver:
    """Fetches copies of shards, each into the folder of the shard's own file, and replaces that file with the copy."""

    def __init__(self, log: Log, source: ShardSource, worth: int = WORTH_RECORDS) -> None:
        """Fetch nothing that saves folding no more than `worth` records."""
        self._log = log
        self._source = source
        self._worth = worth

    async def replace_if_ahead(self, shard: Shard, lease: Lease, give_up: Callable[[Shard], None]) -> bool:
        """Replace a shard's file by another worker's that is far ahead of it; return False if the shard is as it was.

        Returns True when the shard was given up: `give_up` has closed it, and the caller opens it again. If the disk
        fails just then, what the caller opens is the copy, or an empty shard; either is a fold of the log.
        """
        copy = await self.fetch(shard, lease)
        if copy is None:
            return False
        give_up(shard)
        try:
            await run_in_thread(put_in_place, copy, shard.path)
        except OSError as error:
            log.warning("shard %s is folded: its copy cannot be put in place: %s", shard.path.name, error)
        return True

    async def fetch(self, shard: Shard, lease: Lease) -> Path | None:
        """Return a verified copy that is far ahead of the shard; None when there is none, or the lease has ended.

        It keeps about WRITE_BYTES in memory, and leaves nothing on the disk except the copy that it returns.
        """
        ends = await ends_of(self._log, shard.topics, shard.partition)
        own = sum(shard.offset(topic) for topic in shard.topics)
        if sum(ends.values()) - own <= self._worth:
            return None

        def saves(offsets: Mapping[str, int]) -> int:
            return sum(min(end, offsets.get(topic, 0)) for topic, end in ends.items()) - own

        offers = [o for o in await self._source.offers(shard.partition) if o.version == VERSION]
        offer = max(offers, key=lambda o: saves(o.offsets), default=None)
        if offer is None or saves(offer.offsets) <= self._worth:
            log.info("shard %s is folded: no worker has a file that is far ahead", shard.path.name)
            return None
        copy = copy_of(shard.path)
        began = time.monotonic()
        what = f"shard {shard.path.name}: {saves(offer.offsets):,} records in {offer.size / 1e6:,.0f} MB"
        log.info("%s are copied from %s", what, offer.url)
        try:
            await self._download(offer, copy, lease)
            positions = await run_in_thread(positions_of, copy)
            is_ours = await are_of(self._log, shard.partition, [p for p in positions if p[0] in shard.topics])
            _require(is_ours, "it is no fold of this log")
            is_whole = {topic: next_offset for topic, next_offset, _ in positions}.items() >= offer.offsets.items()
            _require(is_whole, "it is not the file that was offered")
            _require(lease.is_valid, MOVED)
        except (NotCopied, OSError) as error:
            log.warning("shard %s is folded, because no copy came from %s: %s", shard.path.name, offer.url, error)
            copy.unlink(missing_ok=True)
            return None
        except BaseException:
            copy.unlink(missing_ok=True)
            raise
        log.info("%s were copied in %.1f s", what, time.monotonic() - began)
        return copy

    async def _download(self, offer: Offer, copy: Path, lease: Lease) -> None:
        """Write the file, and flush it to the disk: the replacement of a shard must survive a power cut.

        A thread writes and hashes one piece while the next is received. The last CHECKSUM_BYTES received may be the
        checksum, which is not part of the file, so they are always held back.
        """
        free = shutil.disk_usage(copy.parent).free
        _require(
            free >= offer.size + SPARE_BYTES,
            f"{offer.size:,} bytes do not fit on the disk, where {free:,} are free: free space",
        )
        digest = checksum()
        logged = time.monotonic()
        unwritten = list[bytes]()
        size = 0  # of `unwritten`
        received = 0
        writing: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        writing.set_result(None)

        def write(piece: memoryview) -> None:
            file.write(piece)
            digest.update(piece)

        async def hand_over() -> None:
            """Start writing everything except what may be the checksum, while more is received."""
            nonlocal writing, unwritten, size
            await writing
            _require(lease.is_valid, MOVED)
            body = b"".join(unwritten)
            unwritten = [body[-CHECKSUM_BYTES:]]
            size = CHECKSUM_BYTES
            writing = asyncio.ensure_future(run_in_thread(write, memoryview(body)[:-CHECKSUM_BYTES]))

        with copy.open("wb") as file:
            try:
                async with aclosing(self._source.content(offer)) as parts:
                    async for part in parts:
                        unwritten.append(part)
                        size += len(part)
                        received += len(part)
                        _require(received <= offer.size + CHECKSUM_BYTES, "it is longer than what was offered")
                        if size >= WRITE_BYTES:
                            await hand_over()
                        if time.monotonic() - logged > PROGRESS_SECONDS:
                            logged = time.monotonic()
                            mb = f"{received / 1e6:,.0f} of {offer.size / 1e6:,.0f} MB"
                            log.info("shard %s: %s copied from %s", copy.stem, mb, offer.url)
                await hand_over()
            finally:
                await asyncio.gather(writing, return_exceptions=True)
            await writing
            is_whole = file.tell() == offer.size and digest.digest() == unwritten[0]
            _require(is_whole, "it was cut off, or changed on the way")
            await run_in_thread(sync_to_disk, file)


def copy_of(path: Path) -> Path:
    """Return where the copy of a shard is kept until it is put in place."""
    return path.with_name(f"{path.name}.copy")


def sync_to_disk(file: BinaryIO) -> None:
    """Write a file through to the disk."""
    file.flush()
    os.fsync(file.fileno())


def positions_of(copy: Path) -> list[LogPosition]:
    """Return the log positions of a copy. Raises NotCopied when it is damaged, or has other tables."""
    try:
        with closing(open_database(copy, "immutable")) as connection:
            if connection.execute("pragma user_version").fetchone() != (VERSION,):
                raise NotCopied("it has tables of another version")
            if connection.execute("pragma quick_check(1)").fetchone() != ("ok",):
                raise NotCopied("it is damaged")
            positions: list[LogPosition] = connection.execute("select topic, next, mark from offsets").fetchall()
            return positions
    except sqlite3.Error as error:
        raise NotCopied(f"it is damaged: {error}") from error


def put_in_place(copy: Path, path: Path) -> None:
    """Replace a shard's file, which must be closed, with a copy. A kill in between leaves no file, or the copy.

    No part of the old file may remain: SQLite would replay its write-ahead log into the new one.
    """
    remove(path)
    copy.replace(path)


def remove(path: Path) -> None:
    """Remove a shard's file, which must be closed, together with SQLite's companion files and our own."""
    for name in ("", "-wal", "-shm", "-is-damaged"):
        path.with_name(path.name + name).unlink(missing_ok=True)


def _require(fulfilled: bool, otherwise: str) -> None:  # noqa: FBT001 - as an assertion reads
    if not fulfilled:
        raise NotCopied(otherwise)
