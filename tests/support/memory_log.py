"""A log in memory, whose time the test sets."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from schemas.log import Appended, LogMoved, Position, Record, UnknownTopic
from schemas.topics import TOPICS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from schemas.log import NewRecord

START = datetime(2026, 1, 5, 8, tzinfo=UTC)


class MemoryLog:
    """Implements `schemas.log.Log` over the topics of `schemas.topics`; `now` is the log time of the next record."""

    def __init__(self, partitions: int = 1, now: datetime = START) -> None:
        """Begin empty, with every topic."""
        self.now = now
        self._partitions = {t.name: 1 if t.single_partition else partitions for t in TOPICS}
        self._records: dict[tuple[str, int], list[Record]] = defaultdict(list)
        self._last = now
        self._earliest: dict[tuple[str, int], int] = defaultdict(int)

    async def drop_before(self, topic: str, partition: int, offset: int) -> None:
        """Drop records, as retention does."""
        self._earliest[topic, partition] = max(offset, self._earliest[topic, partition])

    def set_time_back(self, now: datetime) -> None:
        """Let log time continue from an earlier instant, as when a wrong clock is put right."""
        self.now = self._last = now

    def restore(self, other: MemoryLog) -> None:
        """Take over all records of another log, as if a copy had been put in the place of this one."""
        self._records, self._earliest, self._last = other._records, other._earliest, other._last

    async def append(self, records: Sequence[NewRecord]) -> list[Appended]:
        """Append all records, or none if one of them names an unknown topic or partition. Raises UnknownTopic."""
        for record in records:
            self._check(record.topic, record.partition)
        appended = []
        self._last = max(self._last, self.now)
        for new in records:
            held = self._records[new.topic, new.partition]
            position = Position(new.topic, new.partition, len(held))
            held.append(
                Record(position=position, recorded_at=self._last, key=new.key, value=new.value, headers=new.headers)
            )
            appended.append(Appended(position, self._last))
        return appended

    def next_place(self, topic: str, partition: int) -> Appended:
        """Return the position of the next record, and its time."""
        self._check(topic, partition)
        offset = len(self._records[topic, partition])
        return Appended(Position(topic, partition, offset), max(self._last, self.now))

    async def append_settled(self, records: Sequence[NewRecord], places: Sequence[Appended]) -> list[Appended]:
        """Append records if their places are still free. Raises LogMoved if they are not."""
        if any(self.next_place(place.position.topic, place.position.partition) != place for place in places):
            raise LogMoved("another record came first")
        return await self.append(records)

    async def read(self, topic: str, partition: int, start: int, limit: int = 1000) -> list[Record]:
        """Return at most `limit` records from offset `start` on."""
        self._check(topic, partition)
        start = max(start, self._earliest[topic, partition])
        return self._records[topic, partition][start : start + limit]

    async def end(self, topic: str, partition: int) -> int:
        """Return the offset after the last record."""
        self._check(topic, partition)
        return len(self._records[topic, partition])

    async def earliest(self, topic: str, partition: int) -> int:
        """Return the offset of the first record that was not dropped."""
        self._check(topic, partition)
        return self._earliest[topic, partition]

    async def partitions(self, topic: str) -> int:
        """Return the number of partitions of a topic."""
        self._check(topic, 0)
        return self._partitions[topic]

    def _check(self, topic: str, partition: int) -> None:
        if not 0 <= partition < self._partitions.get(topic, 0):
            raise UnknownTopic(f"{topic}:{partition} does not exist")
