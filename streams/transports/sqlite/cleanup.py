"""Deletion from the log: a partition's oldest records, and in compacted topics all but the newest of each key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streams.transports.sqlite.file import OFFSET_BITS, OFFSET_MASK

if TYPE_CHECKING:
    import sqlite3


def delete_until(connection: sqlite3.Connection, partition_id: int, offset: int) -> None:
    """Delete the partition's records before an offset."""
    first = partition_id << OFFSET_BITS
    connection.execute("delete from records where id between ? and ?", (first, first + offset - 1))


def compact_partition(connection: sqlite3.Connection, partition_id: int) -> int:
    """Delete the partition's records whose key has a newer record; return how many. Records without a key stay.

    The newest record of a key stays even if its value is empty (a tombstone): a reader may not have read it yet.
    """
    first, last = partition_id << OFFSET_BITS, (partition_id << OFFSET_BITS) | OFFSET_MASK
    return connection.execute(
        "delete from records where id between ?1 and ?2 and key is not null and id not in"
        " (select max(id) from records where id between ?1 and ?2 and key is not null group by key)",
        (first, last),
    ).rowcount
