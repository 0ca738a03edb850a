"""The newest records of each partition, as they were appended: agents and folds read them without going to the file."""

from __future__ import annotations

import threading
from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, Final

from schemas.log import Record

if TYPE_CHECKING:
    from collections.abc import Iterable

    from schemas.log import Appended, NewRecord

MAX_RECORDS: Final = 512
MAX_BYTES: Final = 1 << 20
"""Of values, in one partition; the newest record is kept whatever its size."""


class RecentRecords:
    """Holds for each partition its last records without a gap. They must be durable; from any thread."""

    def __init__(self) -> None:
        """Start with nothing."""
        self._records: dict[tuple[str, int], deque[Record]] = {}
        self._bytes: dict[tuple[str, int], int] = {}
        self._lock = threading.Lock()

    def add(self, records: Iterable[Record]) -> None:
        """Keep what was just committed, in the order of the offsets."""
        with self._lock:
            for record in records:
                place = (record.position.topic, record.position.partition)
                kept = self._records.setdefault(place, deque())
                if kept and kept[-1].position.offset + 1 != record.position.offset:
                    kept.clear()
                    self._bytes[place] = 0
                kept.append(record)
                size = self._bytes.get(place, 0) + len(record.value)
                while len(kept) > 1 and (len(kept) > MAX_RECORDS or size > MAX_BYTES):
                    size -= len(kept.popleft().value)
                self._bytes[place] = size

    def read(self, topic: str, partition: int, start: int, limit: int) -> list[Record] | None:
        """Return at most `limit` records from `start` on; None when the file has to be asked."""
        with self._lock:
            kept = self._records.get((topic, partition))
            if not kept or start < (first := kept[0].position.offset):
                return None
            return list(islice(kept, start - first, start - first + limit))

    def kept(self, topic: str, partition: int) -> range:
        """Return the offsets of what is held."""
        with self._lock:
            held = self._records.get((topic, partition))
            return range(held[0].position.offset, held[-1].position.offset + 1) if held else range(0)

    def forget(self, topic: str, partition: int) -> None:
        """Drop a partition's records: some of them are no longer in the file."""
        with self._lock:
            self._records.pop((topic, partition), None)
            self._bytes.pop((topic, partition), None)


def as_read(record: NewRecord, appended: Appended) -> Record:
    """Return what reading the record just appended gives."""
    return Record(
        position=appended.position,
        recorded_at=appended.recorded_at,
        key=record.key,
        value=record.value,
        headers=record.headers,
    )
