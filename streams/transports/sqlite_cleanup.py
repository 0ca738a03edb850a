"""What leaves the log: records past their retention, and in compacted topics all but each key's newest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streams.transports.sqlite_file import OFFSET_BITS, OFFSET_MASK

if TYPE_CHECKING:
    import sqlite3


def delete_until(connection: sqlite3.Connection, partition_id: int, before_ms: int) -> int:
    """Delete the partition's records with a log time before `before_ms`; returns how many.

    Log time never decreases within a partition, so they are its first ones, and the search stops at the first to stay.
    """
    first, last = partition_id << OFFSET_BITS, (partition_id << OFFSET_BITS) | OFFSET_MASK
    kept = connection.execute(
        "select id from records where id between ? and ? and recorded_ms >= ? order by id limit 1",
        (first, last, before_ms),
    ).fetchone()
    end = last if kept is None else kept[0] - 1
    return connection.execute("delete from records where id between ? and ?", (first, end)).rowcount


def compact_partition(connection: sqlite3.Connection, partition_id: int) -> int:
    """Delete the partition's records whose key has a newer one; returns how many. Records without a key stay.

    The newest record of a key stays even if its value is empty (a tombstone): a reader may not have passed it yet.
    """
    first, last = partition_id << OFFSET_BITS, (partition_id << OFFSET_BITS) | OFFSET_MASK
    return connection.execute(
        "delete from records where id between ?1 and ?2 and key is not null and id not in"
        " (select max(id) from records where id between ?1 and ?2 and key is not null group by key)",
        (first, last),
    ).rowcount
