"""The mark of the last record folded of each topic: it tells whether the log at hand is the one that was folded.

An offset alone does not: the log may be another one, or the same one restored from an older copy.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable

    from schemas.log import Log, Record

    Mark: TypeAlias = tuple[str, int, bytes]
    """A topic, the offset after the last record folded, and that record's mark."""


def mark(record: Record) -> bytes:
    """Return the digest (16 bytes) that tells a record from another one at its offset."""
    return blake2b(record.value, digest_size=16).digest()


async def are_of(log: Log, partition: int, marks: Iterable[Mark]) -> bool:
    """Return whether the marked records are those of this log."""
    for topic, following, marked in marks:
        if following > await log.end(topic, partition):
            return False
        for record in await log.read(topic, partition, following - 1, 1):
            if record.position.offset == following - 1 and mark(record) != marked:
                return False
    return True
