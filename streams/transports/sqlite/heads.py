"""The running heads of the ledger's partitions, in the log's file: each transaction that appends also moves them.

If a shard is lost, only the head in this file can show that the last records of a partition are missing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from schemas.messages.chain import NO_HEAD, STORED_AS, hash_of, next_head
from schemas.topics import LEDGERS
from streams.transports.sqlite.file import OFFSET_BITS

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from streams.transports.sqlite.file import Tail


class Heads:
    """The heads as of the writer's present transaction; only the writer's thread uses them."""

    def __init__(self) -> None:
        """Begin empty: a head is read from the file when it is needed."""
        self._heads: dict[int, bytes] = {}

    def forget(self) -> None:
        """Forget all heads: they are read from the file again."""
        self._heads.clear()

    def move(self, connection: sqlite3.Connection, tail: Tail, hashes: Iterable[bytes]) -> None:
        """Move a partition's head over the records that the transaction appends, given their hashes, to its new end."""
        head = self._heads.get(tail.partition_id) or read_head(connection, tail.partition_id)[1]
        for stored in hashes:
            head = next_head(head, stored, tail.last_ms)
        self._heads[tail.partition_id] = head
        _write(connection, tail.partition_id, tail.next_offset, head)


def read_head(connection: sqlite3.Connection, partition_id: int) -> tuple[int, bytes]:
    """Return the offset up to which a partition's head reaches, and the head."""
    found = connection.execute("select next_offset, head from heads where partition_id = ?", (partition_id,)).fetchone()
    return found or (0, NO_HEAD)


def begin_heads(connection: sqlite3.Connection) -> None:
    """Compute the heads of partitions that have none, because an earlier version appended to them; once for a log."""
    rows = connection.execute(
        "select id, next_offset from partitions where topic in (?, ?) and next_offset > 0"
        " and id not in (select partition_id from heads)",
        sorted(LEDGERS),
    ).fetchall()
    for partition_id, end in rows:
        head, first = NO_HEAD, partition_id << OFFSET_BITS
        records = connection.execute(
            "select value, headers, recorded_ms from records where id between ? and ? order by id",
            (first, first + end - 1),
        )
        for value, headers, at_ms in records:
            head = next_head(head, _kept(headers) or hash_of(value), at_ms)
        _write(connection, partition_id, end, head)


def _kept(headers: bytes | None) -> bytes | None:
    found = dict(orjson.loads(headers)) if headers else {}
    return found[STORED_AS].encode("latin-1") if STORED_AS in found else None


def _write(connection: sqlite3.Connection, partition_id: int, end: int, head: bytes) -> None:
    connection.execute("insert or replace into heads values(?,?,?)", (partition_id, end, head))
