"""Replacement of records in the file at their offsets: for erasures, and to encrypt an existing log.

Nothing else changes appended records. Readers see the new contents at the same offsets.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from contextlib import closing, suppress
from functools import partial
from typing import TYPE_CHECKING, Final

from projections.stale_bytes import StillWritten, clear_gaps
from schemas.log import ERASED_VALUE, LogUnavailable
from schemas.messages.chain import STORED_AS, hash_of, kept_hash
from schemas.messages.dead_letters import headers_in_clear
from schemas.topics import LEDGERS
from streams.transports.sqlite.file import LOG_FILE, OFFSET_BITS, count_edit
from streams.transports.sqlite.rows import checksum_of, headers_from_bytes, headers_to_bytes

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from streams.transports.sqlite.log import SqliteLog

_STEPS_BETWEEN_LOOKS: Final = 10_000


async def overwrite(log: SqliteLog, topic: str, partition: int, key: bytes, before: int) -> int:
    """Replace a key's records before an offset with empty, erased ones; return how many were replaced.

    Only unencrypted records have a key. Their bytes are gone from the disk after `empty_write_ahead_log`.
    """
    return await log.edit(topic, partition, partial(_overwrite, key=key, before=before, is_ledger=topic in LEDGERS))


async def replace_records(
    log: SqliteLog, topic: str, partition: int, contents: Mapping[int, tuple[bytes | None, bytes]]
) -> None:
    """Replace the key and the value of records, by their offsets, in one transaction.

    Of their headers, only those are kept that a sealed record may have in clear.
    """
    await log.edit(topic, partition, partial(_replace, contents=contents, is_ledger=topic in LEDGERS), len(contents))


async def offsets_of(
    log: SqliteLog, topic: str, partition: int, key: bytes, beginnings: Collection[bytes]
) -> list[int]:
    """Return the offsets of records that have this key, or whose value has one of these beginnings.

    All beginnings must have one length. Searches in a thread.
    """
    first = (await log.edit(topic, partition, lambda partition_id, _: partition_id)) << OFFSET_BITS

    def find() -> list[int]:
        with closing(_connect(log)) as connection:
            rows = connection.execute(
                "select id, key, substr(value, 1, ?) from records where id >= ? and id < ?",
                (max(map(len, beginnings), default=0), first, first + (1 << OFFSET_BITS)),
            )
            return [row_id - first for row_id, own, begin in rows if own == key or begin in wanted]

    wanted = frozenset(beginnings)
    return await asyncio.to_thread(find)


async def keys_in(log: SqliteLog, topic: str, partition: int, until: float) -> set[bytes]:
    """Return the keys of a partition's records; only unencrypted records have one. Searches in a thread.

    It reads the whole partition. Raises TimeoutError at `until`, by `time.monotonic`, and LogUnavailable.
    """
    first = (await log.edit(topic, partition, lambda partition_id, _: partition_id)) << OFFSET_BITS

    def find() -> set[bytes]:
        with closing(_connect(log)) as connection:
            connection.set_progress_handler(lambda: time.monotonic() >= until, _STEPS_BETWEEN_LOOKS)
            rows = connection.execute(
                "select distinct key from records where id >= ? and id < ? and key is not null",
                (first, first + (1 << OFFSET_BITS)),
            )
            return {key for (key,) in rows}

    try:
        return await asyncio.to_thread(find)
    except sqlite3.Error as error:
        if time.monotonic() >= until:
            raise TimeoutError from error
        raise LogUnavailable(f"{log.directory / LOG_FILE} cannot be read: {error}") from error


async def empty_write_ahead_log(log: SqliteLog) -> None:
    """Move the write-ahead log into the file and truncate it, unless other connections use it for too long."""

    def empty() -> None:
        with suppress(sqlite3.Error), closing(_connect(log)) as connection:
            connection.execute("pragma secure_delete = on")
            connection.execute("pragma wal_checkpoint(truncate)").fetchall()

    await asyncio.to_thread(empty)


async def clear_stale_bytes(log: SqliteLog) -> None:
    """Overwrite the copies that moved records have left in the file.

    Raises LogUnavailable if other connections write the file, or read an old state of it, for too long.
    """

    def clear() -> None:
        with closing(_connect(log)) as connection:
            clear_gaps(log.directory / LOG_FILE, connection)

    try:
        await asyncio.to_thread(clear)
    except (StillWritten, sqlite3.Error, OSError) as error:
        raise LogUnavailable(f"erased data cannot be overwritten in the log's file: {error}") from error


async def write_anew(log: SqliteLog) -> None:
    """Rewrite the file without the gaps that replaced records have left. The caller must be the log's only user."""

    def write() -> None:
        with closing(_connect(log)) as connection:
            connection.execute("vacuum")
            connection.execute("pragma wal_checkpoint(truncate)").fetchall()

    await asyncio.to_thread(write)


def _connect(log: SqliteLog) -> sqlite3.Connection:
    return sqlite3.connect(log.directory / LOG_FILE, isolation_level=None, timeout=60.0)


def _overwrite(partition_id: int, connection: sqlite3.Connection, *, key: bytes, before: int, is_ledger: bool) -> int:
    first = partition_id << OFFSET_BITS
    last = first + before - 1
    if is_ledger:
        rows = connection.execute("select id from records where id between ? and ? and key=?", (first, last, key))
        offsets = [row_id - first for (row_id,) in rows]
        _replace(partition_id, connection, contents=dict.fromkeys(offsets, (None, ERASED_VALUE)), is_ledger=True)
        return len(offsets)
    count_edit(connection, partition_id)
    return connection.execute(
        "update records set key=null, value=?, headers=null, checksum=? where id between ? and ? and key=?",
        (ERASED_VALUE, checksum_of(None, ERASED_VALUE, None), first, last, key),
    ).rowcount


def _replace(
    partition_id: int,
    connection: sqlite3.Connection,
    *,
    contents: Mapping[int, tuple[bytes | None, bytes]],
    is_ledger: bool,
) -> None:
    """Replace records; each record of a ledger keeps the hash of the record that was appended at its offset."""
    first = partition_id << OFFSET_BITS
    count_edit(connection, partition_id)
    for offset, (key, value) in contents.items():
        lying, headers = connection.execute(
            "select value, headers from records where id = ?", (first | offset,)
        ).fetchone()
        known = headers_from_bytes(headers) if headers else ()
        in_clear = headers_in_clear(known) if value != ERASED_VALUE else ()
        if is_ledger:
            in_clear = (*in_clear, (STORED_AS, kept_hash(known) or hash_of(lying)))
        kept = headers_to_bytes(in_clear)
        connection.execute(
            "update records set key=?, value=?, headers=?, checksum=? where id = ?",
            (key, value, kept, checksum_of(key, value, kept), first | offset),
        )
