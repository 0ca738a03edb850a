"""The log's SQLite file: its tables, its pragmas, and the translation of SQLite's errors into those of a log."""

from __future__ import annotations

import os
import sqlite3
from dataclasses import dataclass
from typing import TYPE_CHECKING

from projections.durable_files import sync_folder
from schemas.log import LogDamaged, LogError, LogFull, LogUnavailable, UnknownTopic

if TYPE_CHECKING:
    from pathlib import Path

LOG_FILE = "log.sqlite"
FORMAT = 1  # PRAGMA user_version; a later format needs a migration
APPLICATION_ID = 0x6D6E656D  # "mnem", which distinguishes a log from other databases
OFFSET_BITS = 40
"""A record's row id is partition id << OFFSET_BITS | offset: appends follow the partition's last row in the tree."""
OFFSET_MASK = (1 << OFFSET_BITS) - 1
IDENTITY_BYTES = 16
BUSY_MILLISECONDS = 5000  # how long a statement waits for the statements of another process
CHECKPOINT_PAGES = 4000  # 16 MB of WAL between two checkpoints; the writer also empties it when it is idle

TABLES = """
create table if not exists topics(
    topic text primary key, partitions integer not null, retention_s integer not null, compact integer not null
) without rowid;
create table if not exists partitions(
    id integer primary key, topic text not null, partition integer not null,
    next_offset integer not null, last_ms integer not null, unique(topic, partition)
);
create table if not exists records(
    id integer primary key, recorded_ms integer not null, key blob, value blob not null, headers blob,
    checksum integer not null
);
create table if not exists group_offsets(
    consumer_group text not null, partition_id integer not null, next_offset integer not null,
    primary key(consumer_group, partition_id)
) without rowid;
create table if not exists identity(id text primary key) without rowid;
create table if not exists edits(partition_id integer primary key, number integer not null);
create table if not exists heads(partition_id integer primary key, next_offset integer not null, head blob not null);
"""


@dataclass(slots=True)
class Tail:
    """The end of a partition, which the writer moves, and publishes to readers after each commit."""

    partition_id: int
    next_offset: int
    last_ms: int

    @property
    def first_row(self) -> int:
        """The row id of offset 0."""
        return self.partition_id << OFFSET_BITS


@dataclass(frozen=True, slots=True)
class TopicSettings:
    """The settings of a topic. `retention_s` 0 keeps records indefinitely; otherwise ticks remove old ones."""

    partitions: int
    retention_s: int
    compact: bool


@dataclass(frozen=True, slots=True)
class Catalog:
    """The topics of an open log, and the end of each of their partitions, as of the last commit."""

    topics: dict[str, TopicSettings]
    tails: dict[tuple[str, int], Tail]

    def settings(self, topic: str) -> TopicSettings:
        """Return the settings of a topic. Raises UnknownTopic."""
        if (settings := self.topics.get(topic)) is None:
            raise UnknownTopic(f"there is no topic {topic!r}: `mnemolog topics create` creates it")
        return settings

    def tail(self, topic: str, partition: int) -> Tail:
        """Return the end of a partition. Raises UnknownTopic."""
        if (tail := self.tails.get((topic, partition))) is None:
            raise UnknownTopic(f"topic {topic} has {self.settings(topic).partitions} partitions, and no {partition}")
        return tail


def open_file(directory: Path) -> tuple[sqlite3.Connection, sqlite3.Connection]:
    """Open or create the file in WAL mode, and return (writer, reader); the writer calls fsync at each commit.

    Raises LogDamaged, LogFull or LogUnavailable. The caller must hold the directory's lock.
    """
    path = directory / LOG_FILE
    is_new = not path.exists()
    writer: sqlite3.Connection | None = None
    try:
        writer = _connect(path)
        if not is_new:
            check_application(writer, path)
        writer.execute("pragma journal_mode = wal")
        writer.execute("pragma synchronous = full")
        writer.execute("pragma secure_delete = on")  # deleted records are overwritten, not only unlinked
        writer.execute(f"pragma wal_autocheckpoint = {CHECKPOINT_PAGES}")
        writer.executescript(TABLES)
        writer.execute(f"pragma application_id = {APPLICATION_ID}")
        writer.execute(f"pragma user_version = {FORMAT}")
        if load_identity(writer) is None:
            writer.execute("insert into identity values(?)", (os.urandom(IDENTITY_BYTES).hex(),))
        reader = _connect(path)
        reader.execute("pragma query_only = on")
    except sqlite3.Error as error:
        if writer is not None:
            writer.close()
        raise meaning(error, path) from error
    except LogError:
        if writer is not None:
            writer.close()
        raise
    if is_new:
        sync_folder(directory.parent)
    return writer, reader


def _connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(
        path, check_same_thread=False, isolation_level=None, timeout=BUSY_MILLISECONDS / 1000, cached_statements=256
    )


def check_application(connection: sqlite3.Connection, path: Path) -> None:
    """Raise LogDamaged for a database that is not a log, or has a later format."""
    (application_id,) = connection.execute("pragma application_id").fetchone()
    (version,) = connection.execute("pragma user_version").fetchone()
    if (application_id, version) == (0, 0) and not connection.execute("select 1 from sqlite_master").fetchone():
        return  # the process died between creating the file and its tables
    if application_id != APPLICATION_ID:
        raise LogDamaged(f"{path} is a database, but not a log: restore it from a copy")
    if version > FORMAT:
        raise LogDamaged(f"{path} has format {version}, this version reads up to {FORMAT}: upgrade")


def load_tails(connection: sqlite3.Connection) -> dict[tuple[str, int], Tail]:
    """Return every partition's tail."""
    rows = connection.execute("select topic, partition, id, next_offset, last_ms from partitions")
    return {(topic, partition): Tail(*rest) for topic, partition, *rest in rows}


def load_topics(connection: sqlite3.Connection) -> dict[str, TopicSettings]:
    """Return every topic's settings."""
    rows = connection.execute("select topic, partitions, retention_s, compact from topics")
    return {
        topic: TopicSettings(partitions, retention, bool(compact)) for topic, partitions, retention, compact in rows
    }


def load_identity(connection: sqlite3.Connection) -> str | None:
    """Return the id that distinguishes this log from all others but its copies; None if an older version wrote it."""
    if not connection.execute("select 1 from sqlite_master where name = 'identity'").fetchone():
        return None
    row = connection.execute("select id from identity").fetchone()
    return None if row is None else str(row[0])


def load_edits(connection: sqlite3.Connection) -> dict[int, int]:
    """Return how often records of each partition were replaced in place, by the partition's id."""
    if not connection.execute("select 1 from sqlite_master where name = 'edits'").fetchone():
        return {}
    return dict(connection.execute("select partition_id, number from edits").fetchall())


def count_edit(connection: sqlite3.Connection, partition_id: int) -> None:
    """Count a replacement of a partition's records in place, in the transaction that replaces them."""
    connection.execute(
        "insert into edits values(?, 1) on conflict(partition_id) do update set number = number + 1", (partition_id,)
    )


def meaning(error: sqlite3.Error, path: Path) -> LogError:
    """Return the log's error for SQLite's: full (free space), damaged (restore a copy), or unavailable (try again)."""
    code = getattr(error, "sqlite_errorcode", None)
    primary = code & 0xFF if isinstance(code, int) else None
    if primary == sqlite3.SQLITE_FULL or code == sqlite3.SQLITE_IOERR_SHMSIZE:
        return LogFull(f"no space left for {path}: free some, then try again; nothing was acknowledged")
    if primary in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
        return LogDamaged(f"{path} is damaged ({error}): restore it from a copy; nothing more is written to it")
    return LogUnavailable(f"{path}: {error}")
