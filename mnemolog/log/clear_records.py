"""A search for a user's unencrypted records on a log that cannot be rewritten, for the receipt of an erasure."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from schemas.topics import DEAD_LETTERS, INBOX, LEDGER
from streams.sealing import sealed_record

if TYPE_CHECKING:
    from schemas.identity import Owner
    from schemas.log import TrimmedLog

WRITTEN_HERE: Final = (INBOX.name, LEDGER.name, DEAD_LETTERS.name)
"""The topics with users' words to which only mnemolog writes; they are unencrypted only if encryption was off."""
_READ_RECORDS: Final = 1_000


class ClearRecords:
    """Reads each partition completely once; later only new records, and the range that has unencrypted ones."""

    def __init__(self, log: TrimmedLog) -> None:
        """`log` is the unsealed log."""
        self._log = log
        self._known: dict[tuple[str, int], tuple[int, int]] = {}
        """By topic and partition, the offset read up to, and the end of the last unencrypted record."""
        self._reading = asyncio.Lock()
        """Held while the log is read, so that a concurrent caller does not read it again."""

    async def topics_of(self, owner: Owner, partition: int) -> list[str]:
        """Return the topics in which an owner's records are unencrypted. Raises LogUnavailable."""
        async with self._reading:
            return [topic for topic in WRITTEN_HERE if await self._has(topic, partition, owner.key)]

    async def _has(self, topic: str, partition: int, key: bytes) -> bool:
        read, clear_before = self._known.get((topic, partition), (0, 0))
        start, end = await self._log.earliest(topic, partition), await self._log.end(topic, partition)
        found = False
        while start < end:
            if clear_before <= start < read:
                start = read
                continue
            until = clear_before if start < clear_before else end
            records = await self._log.read(topic, partition, start, min(_READ_RECORDS, until - start))
            if not records:
                break
            start = records[-1].position.offset + 1
            in_clear = [one for one in records if one.value and sealed_record.key_id_of(one.value) is None]
            found = found or any(one.key == key for one in in_clear)
            if in_clear:
                clear_before = max(clear_before, in_clear[-1].position.offset + 1)
            read = max(read, start)
            self._known[topic, partition] = read, clear_before  # at once: the next read may fail
        return found
