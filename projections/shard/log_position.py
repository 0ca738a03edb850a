"""The position in each topic up to which a shard has folded, which identifies the log that it was folded from.

An offset alone does not identify it: the log may be another one, or the same one restored from an older copy. So the
digest of the last record folded is kept with it (the column is called `mark`).
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, TypeAlias

from schemas.messages.chain import stored_hash

if TYPE_CHECKING:
    from collections.abc import Iterable

    from schemas.log import Log, Record

    LogPosition: TypeAlias = tuple[str, int, bytes]
    """A topic, the offset after the last record folded, and that record's digest."""

_ERASED: Final = bytes(16)
"""The digest of a record that was erased before it was folded: it cannot be compared."""


def record_digest(record: Record) -> bytes:
    """Return the digest (16 bytes) that distinguishes a record from any other at its offset."""
    if record.is_erased and not record.stored_hash:
        return _ERASED
    return stored_hash(record)[:16]


async def are_of(log: Log, partition: int, positions: Iterable[LogPosition]) -> bool:
    """Return whether the records before these positions are those of this log."""
    return all(await asyncio.gather(*(_is_of(log, partition, position) for position in positions)))


async def _is_of(log: Log, partition: int, position: LogPosition) -> bool:
    topic, next_offset, digest = position
    if next_offset > await log.end(topic, partition):
        return False
    for record in await log.read(topic, partition, next_offset - 1, 1):
        is_known = record.position.offset == next_offset - 1 and (record.stored_hash or not record.is_erased)
        if is_known and digest != _ERASED and record_digest(record) != digest:
            return False
    return True


async def ends_of(log: Log, topics: Iterable[str], partition: int) -> dict[str, int]:
    """Return the end of each topic's partition; all are requested concurrently."""
    topics = tuple(topics)
    return dict(zip(topics, await asyncio.gather(*(log.end(topic, partition) for topic in topics)), strict=True))
