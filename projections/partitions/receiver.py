"""Takes a partition's shard from a worker that has one: copying a file is faster than folding what it was made of.

A copy is a fold of our log like any other, or it is not used: its length and checksum are those that the giver sends,
its tables are of our version, and its marks are those of our log. Whatever goes wrong, the partition is folded.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import sqlite3
import time
from contextlib import aclosing, closing
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, Protocol

from projections.shard.log_position import are_of
from projections.shard.tables import VERSION
from projections.threads import in_thread

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
    from pathlib import Path
    from typing import BinaryIO

    from projections.partitions.assignment import Lease
    from projections.shard.log_position import Mark
    from projections.shard.shard import Shard
    from schemas.log import Log

WORTH_RECORDS: Final = 20_000
"""A copy that saves folding no more than this is not asked for: folding them takes about four seconds."""
CHECKSUM_BYTES: Final = 32
WRITTEN_AT_ONCE: Final = 4 << 20
SPARE_BYTES: Final = 256 << 20
"""What a copy leaves free on the disk, for the other shards."""
SAY_EVERY_SECONDS: Final = 5.0

MOVED: Final = "the partition was taken away meanwhile"
log = logging.getLogger("mnemolog.shard")


class NotCopied(Exception):
    """The copy cannot be had, or is not what it should be: the partition is folded from the log."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A worker's file of a partition: who has it, up to which offset of each topic it is folded, and how long it is."""

    url: str
    partition: int
    offsets: Mapping[str, int]
    version: int
    size: int


class ShardSource(Protocol):
    """What other workers have."""

    async def offers(self, partition: int) -> Sequence[Offer]:
        """Return what can be had now; never fails."""

    def content(self, offer: Offer) -> AsyncGenerator[bytes, None]:
        """Yield the file in parts, then its checksum (`checksum`). Raises NotCopied."""


def checksum() -> blake2b:
    """Return the hash that a file is sent with, of CHECKSUM_BYTES, to be fed with it."""
    return blake2b(digest_size=CHECKSUM_BYTES)


class ShardReceiver:
    """Fetches copies, each beside the shard's own file; whoever holds the shard puts it in place."""

    def __init__(self, log: Log, source: ShardSource, worth: int = WORTH_RECORDS) -> None:
        """Copy nothing that saves folding no more than `worth` records."""
        self._log = log
        self._source = source
        self._worth = worth

    async def replace_if_ahead(self, shard: Shard, lease: Lease, give_up: Callable[[Shard], None]) -> bool:
        """Put another worker's file in the place of the shard's own, which is given up; False: the shard is as it was.

        A file that could not be put there leaves none, or the copy: either is opened and folded on.
        """
        copy = await self.fetch(shard, lease)
        if copy is None:
            return False
        give_up(shard)
        try:
            await in_thread(put_in_place, copy, shard.path)
        except OSError as error:
            log.warning("shard %s is folded: its copy cannot be put in place: %s", shard.path.name, error)
        return True

    async def fetch(self, shard: Shard, lease: Lease) -> Path | None:
        """Return a verified copy that is far ahead of the shard; None when there is none, or the lease has ended.

        Nothing is held in memory but WRITTEN_AT_ONCE, and nothing is left on the disk but what is returned.
        """
        ends = {topic: await self._log.end(topic, shard.partition) for topic in shard.topics}
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
        copy, began = copy_of(shard.path), time.monotonic()
        said = f"shard {shard.path.name}: {saves(offer.offsets):,} records in {offer.size / 1e6:,.0f} MB"
        log.info("%s are copied from %s", said, offer.url)
        try:
            await self._download(offer, copy, lease)
            marks = await in_thread(examined, copy)
            is_ours = await are_of(self._log, shard.partition, [m for m in marks if m[0] in shard.topics])
            _require(is_ours, "it is no fold of this log")
            is_whole = {topic: following for topic, following, _ in marks}.items() >= offer.offsets.items()
            _require(is_whole, "it is not the file that was offered")
            _require(lease.is_valid, MOVED)
        except (NotCopied, OSError) as error:
            log.warning("shard %s is folded, because no copy came from %s: %s", shard.path.name, offer.url, error)
            copy.unlink(missing_ok=True)
            return None
        except BaseException:
            copy.unlink(missing_ok=True)
            raise
        log.info("%s were copied in %.1f s", said, time.monotonic() - began)
        return copy

    async def _download(self, offer: Offer, copy: Path, lease: Lease) -> None:
        """Write the file, and flush it to the disk: what takes the place of a shard must outlive a power cut."""
        free = shutil.disk_usage(copy.parent).free
        _require(
            free >= offer.size + SPARE_BYTES,
            f"{offer.size:,} bytes do not fit on the disk, where {free:,} are free: free space",
        )
        seen, said, waiting, size, received = checksum(), time.monotonic(), list[bytes](), 0, 0
        writing: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        writing.set_result(None)

        def write(some: memoryview) -> None:
            file.write(some)
            seen.update(some)

        async def hand_over() -> None:
            """Have everything but what may be the checksum written, while more is received."""
            nonlocal writing, waiting, size
            await writing
            _require(lease.is_valid, MOVED)
            body = b"".join(waiting)
            waiting, size = [body[-CHECKSUM_BYTES:]], CHECKSUM_BYTES
            writing = asyncio.ensure_future(in_thread(write, memoryview(body)[:-CHECKSUM_BYTES]))

        with copy.open("wb") as file:
            try:
                async with aclosing(self._source.content(offer)) as parts:
                    async for part in parts:
                        waiting.append(part)
                        size += len(part)
                        received += len(part)
                        _require(received <= offer.size + CHECKSUM_BYTES, "it is longer than what was offered")
                        if size >= WRITTEN_AT_ONCE:
                            await hand_over()
                        if time.monotonic() - said > SAY_EVERY_SECONDS:
                            said = time.monotonic()
                            mb = f"{received / 1e6:,.0f} of {offer.size / 1e6:,.0f} MB"
                            log.info("shard %s: %s copied from %s", copy.stem, mb, offer.url)
                await hand_over()
            finally:
                await asyncio.gather(writing, return_exceptions=True)
            await writing
            is_whole = file.tell() == offer.size and seen.digest() == waiting[0]
            _require(is_whole, "it was cut off, or changed on the way")
            await in_thread(flush, file)


def copy_of(path: Path) -> Path:
    """Return where a shard's copy is kept until it is put in place."""
    return path.with_name(f"{path.name}.copy")


def flush(file: BinaryIO) -> None:
    """Bring a file to the disk."""
    file.flush()
    os.fsync(file.fileno())


def examined(copy: Path) -> list[Mark]:
    """Return what a file is a fold of. Raises NotCopied when it is damaged, or has other tables."""
    where = f"{copy.resolve().as_uri()}?immutable=1"
    try:
        with closing(sqlite3.connect(where, uri=True)) as connection:
            if connection.execute("pragma user_version").fetchone() != (VERSION,):
                raise NotCopied("it has tables of another version")
            if connection.execute("pragma quick_check(1)").fetchone() != ("ok",):
                raise NotCopied("it is damaged")
            return connection.execute("select topic, next, mark from offsets").fetchall()
    except sqlite3.Error as error:
        raise NotCopied(f"it is damaged: {error}") from error


def put_in_place(copy: Path, path: Path) -> None:
    """Let a copy take the place of a shard's file that nobody has open; killed in between, there is none, or the copy.

    Nothing may be left of the old one: SQLite would play its write-ahead log into the new one.
    """
    for name in ("", "-wal", "-shm", "-is-damaged"):
        path.with_name(path.name + name).unlink(missing_ok=True)
    copy.replace(path)


def _require(fulfilled: bool, otherwise: str) -> None:  # noqa: FBT001 - as an assertion reads
    if not fulfilled:
        raise NotCopied(otherwise)
