"""The newest records of each partition in memory: agents and folds read them without the file or the broker."""

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
"""The most bytes of values kept for one partition; the newest record is kept whatever its size."""


class RecentRecords:
    """Keeps the newest records of each partition, without gaps. Add only durable ones. Usable from any thread."""

    def __init__(self) -> None:
        self._records: dict[tuple[str, int], deque[Record]] = {}
        self._bytes: dict[tuple[str, int], int] = {}
        self._lock = threading.Lock()

    def add(self, records: Iterable[Record]) -> None:
        """Add records that have just become durable, in the order of their offsets."""
        with self._lock:
            for record in records:
                place = (record.position.topic, record.position.partition)
                records_here = self._records.setdefault(place, deque())
                if records_here and records_here[-1].position.offset + 1 != record.position.offset:
                    records_here.clear()
                    self._bytes[place] = 0
                records_here.append(record)
                size = self._bytes.get(place, 0) + len(record.value)
                while len(records_here) > 1 and (len(records_here) > MAX_RECORDS or size > MAX_BYTES):
                    size -= len(records_here.popleft().value)
                self._bytes[place] = size

    def read(self, topic: str, partition: int, start: int, limit: int) -> list[Record] | None:
        """Return at most `limit` records from `start` on; None if `start` precedes those kept, or none are kept."""
        with self._lock:
            records = self._records.get((topic, partition))
            if not records or start < (first := records[0].position.offset):
                return None
            return list(islice(records, start - first, start - first + limit))

    def offsets(self, topic: str, partition: int) -> range:
        """Return the offsets of a partition's kept records."""
        with self._lock:
            records = self._records.get((topic, partition))
            return range(records[0].position.offset, records[-1].position.offset + 1) if records else range(0)

    def forget(self, topic: str, partition: int) -> None:
        """Drop a partition's records, because some of them are no longer in the log."""
        with self._lock:
            self._records.pop((topic, partition), None)
            self._bytes.pop((topic, partition), None)


def as_read(record: NewRecord, appended: Appended, *, is_settled: bool = False) -> Record:
    """Return an appended record in the form in which reading it returns it."""
    return Record(
        position=appended.position,
        recorded_at=appended.recorded_at,
        key=record.key,
        value=record.value,
        headers=record.headers,
        is_settled=is_settled,
        stored_hash=appended.stored_hash,
    )
