"""A new log's file, filled with the records of an earlier log at the same offsets and with the same times."""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Final

from streams.transports.milliseconds import to_ms
from streams.transports.sqlite.file import LOG_FILE, OFFSET_BITS, TopicSettings, load_tails, meaning, open_file
from streams.transports.sqlite.rows import checksum_of, headers_to_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path
    from types import TracebackType
    from typing import Self

    from schemas.log import Record
    from streams.transports.sqlite.rows import Row

ROWS_AT_ONCE: Final = 2_000


class RestoredFile:
    """Creates and fills the file in a directory that has none yet; it is durable when the context ends.

    The new log has its own identity, because the earlier log may continue differently.
    """

    def __init__(self, directory: Path, topics: Mapping[str, TopicSettings]) -> None:
        """Create the file and its topics. Raises LogFull, LogUnavailable."""
        self._path = directory / LOG_FILE
        self._connection, reader = open_file(directory)
        reader.close()
        with self._errors():
            self._connection.execute("begin")
            for name, one in topics.items():
                row = (name, one.partitions, one.retention_s, one.compact)
                self._connection.execute("insert into topics values(?,?,?,?)", row)
                self._connection.executemany(
                    "insert into partitions(topic, partition, next_offset, last_ms) values(?,?,0,0)",
                    [(name, partition) for partition in range(one.partitions)],
                )
            self._connection.execute("commit")
            self._ids = {place: tail.partition_id for place, tail in load_tails(self._connection).items()}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with closing(self._connection):
            if kind is None:
                with self._errors():
                    self._connection.execute("pragma wal_checkpoint(truncate)").fetchall()

    def add(self, topic: str, partition: int, records: Iterable[Record], least: int) -> int:
        """Insert a partition's records at their offsets; return the next offset, which is at least `least`."""
        partition_id, last_ms, end = self._ids[topic, partition], 0, least
        rows: list[Row] = []
        with self._errors():
            for record in records:
                headers = headers_to_bytes(record.headers)
                at_ms = to_ms(record.recorded_at)
                last_ms, end = max(last_ms, at_ms), max(end, record.position.offset + 1)
                checksum = checksum_of(record.key, record.value, headers)
                row_id = partition_id << OFFSET_BITS | record.position.offset
                rows.append((row_id, at_ms, record.key, record.value, headers, checksum))
                if len(rows) == ROWS_AT_ONCE:
                    self._insert(rows)
                    rows.clear()
            self._insert(rows)
            self._connection.execute(
                "update partitions set next_offset = ?, last_ms = ? where id = ?", (end, last_ms, partition_id)
            )
        return end

    def add_group_offset(self, group: str, topic: str, partition: int, offset: int) -> None:
        """Let a consumer group continue from an offset."""
        with self._errors():
            self._connection.execute(
                "insert into group_offsets values(?,?,?)", (group, self._ids[topic, partition], offset)
            )

    def _insert(self, rows: Sequence[Row]) -> None:
        self._connection.execute("begin")
        self._connection.executemany("insert into records values(?,?,?,?,?,?)", rows)
        self._connection.execute("commit")

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise meaning(error, self._path) from error
