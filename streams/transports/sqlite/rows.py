"""The conversion of records to rows of the file and back, and the insertion of many rows with one statement."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, TypeAlias

import orjson

from schemas.log import Appended, LogDamaged, LogMoved, Position, Record
from schemas.messages.chain import hash_of
from schemas.topics import LEDGERS
from streams.transports.milliseconds import from_ms
from streams.transports.sqlite.file import OFFSET_MASK, Tail
from streams.transports.sqlite.heads import Heads

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime
    from typing import Any

    from schemas.log import Headers, NewRecord

Content: TypeAlias = tuple["bytes | None", bytes, "bytes | None", int]  # key, value, headers, checksum
Row: TypeAlias = tuple[int, int, "bytes | None", bytes, "bytes | None", int]  # row id, recorded_ms, then the content

# Few large statements, not one for each row: Python's sqlite3 releases the interpreter lock at each step of a
# statement, and a busy event loop takes up to 5 ms to release it again. Fixed sizes keep the prepared statements in the
# cache. A failed statement rolls back its transaction: otherwise SQLite would keep the pages that it might have to
# restore, which contain users' words, in a temporary file.
_ROWS_AT_ONCE = (512, 64, 8, 4, 2, 1)
_MARKS = "(?,?,?,?,?,?)"
_INSERT = {
    n: f"insert or rollback into records values {','.join([_MARKS] * n)}"  # noqa: S608 - only marks
    for n in _ROWS_AT_ONCE
}


Select: TypeAlias = "Callable[[str, tuple[object, ...]], list[Any]]"
"""A function that runs a query with its parameters and returns the rows."""


def stored_rows(select: Select, tail: Tail, start: int, limit: int) -> list[Row]:
    """Return at most `limit` rows of a partition, from the offset `start` on."""
    return select(
        "select id, recorded_ms, key, value, headers, checksum from records"
        " where id >= ? and id < ? order by id limit ?",
        (tail.first_row + max(0, start), tail.first_row + tail.next_offset, limit),
    )


def earliest_offset(select: Select, tail: Tail) -> int:
    """Return the offset of a partition's first remaining record; the partition's end if there is none."""
    rows = select(
        "select id from records where id >= ? and id < ? order by id limit 1",
        (tail.first_row, tail.first_row + tail.next_offset),
    )
    return int(rows[0][0] & OFFSET_MASK) if rows else tail.next_offset


def spell(record: NewRecord) -> Content:
    """Return the columns of a record except its position and time. Raises TypeError for anything but bytes."""
    if not isinstance(record.value, bytes) or not isinstance(record.key, bytes | None):
        raise TypeError("a record's value is bytes, its key bytes or None")
    headers = headers_to_bytes(record.headers)
    return record.key, record.value, headers, checksum_of(record.key, record.value, headers)


def from_row(topic: str, partition: int, row: Row) -> Record:
    """Return the record in a row. Raises LogDamaged if the row differs from the record that was appended."""
    row_id, recorded_ms, key, value, headers, checksum = row
    if checksum_of(key, value, headers) != checksum:
        raise LogDamaged(
            f"{topic}:{partition}:{row_id & OFFSET_MASK} is not what was appended: restore the log from a copy"
        )
    return Record(
        position=Position(topic, partition, row_id & OFFSET_MASK),
        recorded_at=from_ms(recorded_ms),
        key=key,
        value=value,
        headers=headers_from_bytes(headers) if headers else (),
    )


class Ends:
    """The ends of the partitions, their heads, and the newest time, as of the writer's present transaction.

    Only the writer's thread uses them, except for `latest_ms`. Values that are unknown, such as all of them after a
    failed transaction, are read from the file.
    """

    def __init__(self) -> None:
        """Begin empty: values are read from the file when they are needed."""
        self._ends: dict[int, tuple[int, int]] = {}
        self.heads = Heads()
        self._latest_ms: int | None = None

    def forget(self) -> None:
        """Forget all values: they are read from the file again."""
        self._ends.clear()
        self.heads.forget()
        self._latest_ms = None

    @property
    def latest_ms(self) -> int | None:
        """The newest time; None if it is unknown. Any thread may read it; a transaction may be about to change it."""
        return self._latest_ms

    def time(self, connection: sqlite3.Connection, now_ms: int) -> int:
        """Return the time of records that are appended now.

        The log's time never goes back, even if the clock does. All partitions share it, because an observation in one
        is compared with a forgetting in another.
        """
        if self._latest_ms is None:
            (self._latest_ms,) = connection.execute("select coalesce(max(last_ms), 0) from partitions").fetchone()
        self._latest_ms = latest = max(now_ms, self._latest_ms)
        return latest

    def tail(self, connection: sqlite3.Connection, partition_id: int) -> Tail:
        """Return a partition's end."""
        end = self._ends.get(partition_id)
        if end is None:
            rows = connection.execute("select next_offset, last_ms from partitions where id = ?", (partition_id,))
            end = rows.fetchone()
        return Tail(partition_id, *end)

    def note(self, tails: Iterable[Tail], at_ms: int) -> None:
        """Note the new ends of partitions in this transaction, and the time of the records appended there."""
        self._ends.update((tail.partition_id, (tail.next_offset, tail.last_ms)) for tail in tails)
        if self._latest_ms is not None:  # otherwise another partition may have a later time
            self._latest_ms = max(at_ms, self._latest_ms)


def moved(
    connection: sqlite3.Connection,
    ends: Ends,
    partition_ids: Mapping[tuple[str, int], int],
    wanted: Iterable[Appended],
    at_ms: int,
) -> LogMoved | None:
    """Return the reason why records cannot be appended at the foreseen places and time; None if they can."""
    tails = {place: ends.tail(connection, partition_id) for place, partition_id in partition_ids.items()}
    for place in wanted:
        end = tails[place.position.topic, place.position.partition].next_offset
        if end != place.position.offset:
            return LogMoved(f"{place.position} was wanted, and the log goes on at {end}")
    latest_ms = max(tail.last_ms for tail in tails.values())
    return LogMoved(f"{from_ms(at_ms)} was wanted, and the log has {from_ms(latest_ms)}") if latest_ms > at_ms else None


def append_rows(  # noqa: PLR0917 - called in one place
    connection: sqlite3.Connection,
    ends: Ends,
    places: Sequence[tuple[str, int]],
    contents: Sequence[Content],
    partition_ids: dict[tuple[str, int], int],
    at_ms: int,
) -> tuple[list[Appended], dict[tuple[str, int], Tail]]:
    """Insert the contents, each at its place (topic, partition), in the caller's transaction, with one time.

    The same transaction advances the partitions' offsets and times. Returns the positions in the order of the contents,
    and the ends that the partitions have once the transaction is committed.
    """
    tails: dict[tuple[str, int], Tail] = {}
    rows: list[object] = []
    appended: list[Appended] = []
    times: dict[int, datetime] = {}
    for place, content in zip(places, contents, strict=True):
        tail = tails.get(place)
        if tail is None:
            tail = tails[place] = ends.tail(connection, partition_ids[place])
            tail.last_ms = at_ms
        rows += (tail.first_row | tail.next_offset, tail.last_ms, *content)
        if tail.last_ms not in times:
            times[tail.last_ms] = from_ms(tail.last_ms)
        stored = hash_of(content[1]) if place[0] in LEDGERS else b""  # once, for the head and the fold
        appended.append(Appended(Position(*place, tail.next_offset), times[tail.last_ms], stored))
        tail.next_offset += 1
    _insert(connection, rows)
    connection.executemany(
        "update partitions set next_offset = ?, last_ms = ? where id = ?",
        [(tail.next_offset, tail.last_ms, tail.partition_id) for tail in tails.values()],
    )
    ends.note(tails.values(), at_ms)
    _move_heads(connection, ends, appended, tails)
    return appended, tails


def _move_heads(
    connection: sqlite3.Connection,
    ends: Ends,
    appended: Iterable[Appended],
    tails: Mapping[tuple[str, int], Tail],
) -> None:
    of_ledger: dict[tuple[str, int], list[bytes]] = {}
    for one in appended:
        if one.stored_hash:
            of_ledger.setdefault((one.position.topic, one.position.partition), []).append(one.stored_hash)
    for place, some in of_ledger.items():
        ends.heads.move(connection, tails[place], some)


def _insert(connection: sqlite3.Connection, values: list[object]) -> None:
    start = 0
    columns = 6
    for count in _ROWS_AT_ONCE:
        width = count * columns
        while len(values) - start >= width:
            connection.execute(_INSERT[count], values[start : start + width])
            start += width


def checksum_of(key: bytes | None, value: bytes, headers: bytes | None) -> int:
    """Return the checksum of a record."""
    # SQLite notices a broken tree, but not a flipped bit in a value
    return zlib.crc32(headers or b"", zlib.crc32(value, zlib.crc32(key or b"")))


def headers_to_bytes(headers: Headers) -> bytes | None:
    """Return headers as a row stores them; None if there are none."""
    # latin-1 maps each byte to one character and back, so that the file stays readable JSON
    return orjson.dumps([(name, value.decode("latin-1")) for name, value in headers]) if headers else None


def headers_from_bytes(stored: bytes) -> Headers:
    """Return the headers that a row stores."""
    return tuple((name, value.encode("latin-1")) for name, value in orjson.loads(stored))
