"""The embedded log: one SQLite file in a directory, one writing process, an acknowledgement only after the fsync."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from schemas.log import Appended, LogDamaged, LogError, LogMoved, Position
from schemas.messages.chain import NO_HEAD
from streams.transports.directory_lock import DirectoryLock
from streams.transports.milliseconds import from_ms, to_ms
from streams.transports.recent_records import RecentRecords, as_read
from streams.transports.sqlite.cleanup import compact_partition, delete_until
from streams.transports.sqlite.file import (
    LOG_FILE,
    Catalog,
    Tail,
    TopicSettings,
    load_identity,
    load_tails,
    load_topics,
    meaning,
    open_file,
)
from streams.transports.sqlite.growth import Growth
from streams.transports.sqlite.heads import begin_heads
from streams.transports.sqlite.rows import Ends, append_rows, earliest_offset, from_row, moved, spell, stored_rows
from streams.transports.sqlite.writer import Job, SqliteWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from schemas.log import NewRecord, Record
    from streams.transports.sqlite.growth import Place

Answer = TypeVar("Answer")
DROPPED_AT_ONCE = 5_000  # records deleted in one transaction: other writes run in between


def _utc_now() -> datetime:
    return datetime.now(UTC)


class SqliteLog:  # noqa: PLR0904 - the methods of a log, and those that its transport needs
    """The `Log` of one machine. `open` returns one instance for each directory to all callers in the process.

    Reads run in the calling thread (1,000 records take about 2 ms). Writes run in one thread, where calls that wait at
    the same time share a transaction. Usable from several event loops and threads of the process.
    """

    _open: ClassVar[dict[Path, SqliteLog]] = {}
    _opening: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self, directory: Path, lock: DirectoryLock, clock: Callable[[], datetime]) -> None:
        """Open the file and read its topics and ends; use `open` to create an instance."""
        self.directory = directory
        self.lock = lock
        self._clock = clock
        self._users = 0
        writer, self._reader = open_file(directory)
        try:
            begin_heads(writer)
            self._catalog = Catalog(load_topics(self._reader), load_tails(self._reader))
            self.identity = load_identity(self._reader)
        except sqlite3.Error as error:
            writer.close()
            self._reader.close()
            raise meaning(error, directory / LOG_FILE) from error
        self._reading = threading.Lock()
        self._recent = RecentRecords()
        self.growth = Growth()
        self._ends = Ends()
        self._writer = SqliteWriter(
            writer, directory / LOG_FILE, on_commit=self.growth.tell, on_failure=self._ends.forget
        )

    @classmethod
    def open(cls, directory: Path, clock: Callable[[], datetime] | None = None) -> SqliteLog:
        """Open the log in a directory, which is created if missing; all callers in the process share one open log.

        `clock` returns the append time, by default from the UTC wall clock; the first caller's clock is used. Each
        `open` needs a `close`. Raises LogLocked if another process holds the directory's lock, LogDamaged, LogFull,
        LogUnavailable.
        """
        path = directory.resolve()
        with cls._opening:
            log = cls._open.get(path)
            if log is None:
                path.mkdir(0o700, parents=True, exist_ok=True)
                lock = DirectoryLock.take(path)
                try:
                    log = cls._open[path] = cls(path, lock, clock or _utc_now)
                except BaseException:
                    lock.release()
                    raise
            log._users += 1
            return log

    @classmethod
    def opened(cls, directory: Path) -> SqliteLog:
        """Return the log that this process has open in a directory, without opening it. Raises LookupError."""
        if (log := cls._open.get(directory.resolve())) is None:
            raise LookupError(f"no log is open in {directory}: SqliteLog.open it before the app starts")
        return log

    def close(self) -> None:
        """Close the log; the last caller's close writes the queued records, closes the file and releases the lock."""
        with self._opening:
            self._users -= 1
            if self._users == 0:
                del self._open[self.directory]
                self._writer.close()
                self._reader.close()
                self.lock.release()

    async def append(self, records: Sequence[NewRecord]) -> list[Appended]:
        """See `Log.append`; one transaction appends all records or none. Raises TypeError for anything but bytes."""
        return await self._append(records)

    def next_place(self, topic: str, partition: int) -> Appended:
        """See `ExclusiveLog.next_place`."""
        latest_ms = self._ends.latest_ms
        if latest_ms is None:  # after a start, or a transaction that failed
            latest_ms = max(tail.last_ms for tail in [*self._catalog.tails.values()])
        at_ms = max(to_ms(self._clock()), latest_ms)
        return Appended(Position(topic, partition, self.end_now(topic, partition)), from_ms(at_ms))

    async def append_settled(self, records: Sequence[NewRecord], places: Sequence[Appended]) -> list[Appended]:
        """See `ExclusiveLog.append_settled`."""
        return await self._append(records, places)

    async def _append(self, records: Sequence[NewRecord], wanted: Sequence[Appended] = ()) -> list[Appended]:
        records = tuple(records)
        places = [(record.topic, record.partition) for record in records]
        ids = {place: self._catalog.tail(*place).partition_id for place in set(places)}
        contents = [spell(record) for record in records]
        if not contents:
            return []

        def write(connection: sqlite3.Connection) -> tuple[list[Appended], dict[Place, Tail]] | LogMoved:
            if wanted:
                # The foreseen time, not the present one. Other partitions may have a later time by now.
                at_ms = to_ms(wanted[0].recorded_at)
                if (refusal := moved(connection, self._ends, ids, wanted, at_ms)) is not None:
                    return refusal  # not raised: the transaction must commit the other jobs
            else:
                at_ms = self._ends.time(connection, to_ms(self._clock()))
            return append_rows(connection, self._ends, places, contents, ids, at_ms)

        def publish(answer: tuple[list[Appended], dict[Place, Tail]] | LogMoved) -> None:
            if not isinstance(answer, LogMoved):
                pairs = zip(records, answer[0], strict=True)
                self._recent.add(as_read(record, place, is_settled=bool(wanted)) for record, place in pairs)
                self._catalog.tails.update(answer[1])
                self.growth.add(answer[1], is_settled=bool(wanted))

        answer = await self._write(write, publish, len(records), at_once=bool(wanted))
        assert not isinstance(answer, LogMoved)  # noqa: S101 - the writer raises it, as every LogError
        return answer[0]

    async def read(self, topic: str, partition: int, start: int, limit: int = 1000) -> list[Record]:
        """See `Log.read`."""
        tail = self._catalog.tail(topic, partition)
        if start >= tail.next_offset:
            return []
        recent = self._recent.read(topic, partition, start, limit)
        if recent is not None:
            return recent
        rows = stored_rows(self._select, tail, start, limit)
        try:
            return [from_row(topic, partition, row) for row in rows]
        except LogDamaged as damage:
            self._writer.refuse(damage)
            raise

    async def end(self, topic: str, partition: int) -> int:
        """See `Log.end`."""
        return self.end_now(topic, partition)

    def end_now(self, topic: str, partition: int) -> int:
        """Return `end` without awaiting: it is in memory."""
        return self._catalog.tail(topic, partition).next_offset

    def kept_head(self, topic: str, partition: int) -> tuple[int, bytes, int]:
        """Return the offset up to which the head of a ledger's partition reaches, the head, and the partition's end.

        Each append moves both offsets in one transaction: they differ only if other programs have written the file.
        """
        sql = (
            "select heads.next_offset, head, partitions.next_offset from partitions"
            " left join heads on partition_id = id where id = ?"
        )
        [(reached, head, end)] = self._select(sql, (self._catalog.tail(topic, partition).partition_id,))
        return int(reached or 0), bytes(head or NO_HEAD), int(end)

    async def earliest(self, topic: str, partition: int) -> int:
        """See `Log.earliest`."""
        return earliest_offset(self._select, self._catalog.tail(topic, partition))

    async def partitions(self, topic: str) -> int:
        """See `Log.partitions`."""
        return self._catalog.settings(topic).partitions

    def topics(self) -> dict[str, TopicSettings]:
        """Return every topic and its settings."""
        return dict(self._catalog.topics)

    async def create_topic(
        self, name: str, partitions: int, retention: timedelta | None = None, *, compact: bool = False
    ) -> None:
        """Create a topic, or update the retention and compaction of an existing one.

        `retention` None keeps records indefinitely. Raises LogError if the topic exists with another number of
        partitions: a user's records would be split over two partitions.
        """
        if not name or partitions < 1:
            raise LogError(f"a topic has a name and at least one partition, not {name!r} with {partitions}")
        wanted = TopicSettings(partitions, 0 if retention is None else int(retention.total_seconds()), compact)
        existing = self._catalog.topics.get(name)
        if existing == wanted:
            return
        if existing is not None and existing.partitions != partitions:
            raise LogError(
                f"topic {name} has {existing.partitions} partitions, not {partitions}: "
                "set the number it was created with, or start with an empty directory"
            )

        def write(connection: sqlite3.Connection) -> dict[Place, Tail]:
            connection.execute(
                "insert into topics values(?,?,?,?) on conflict(topic) do update set"
                " retention_s = excluded.retention_s, compact = excluded.compact",
                (name, partitions, wanted.retention_s, compact),
            )
            connection.executemany(
                "insert or ignore into partitions(topic, partition, next_offset, last_ms) values(?,?,0,0)",
                [(name, partition) for partition in range(partitions)],
            )
            return load_tails(connection)

        def publish(tails: dict[Place, Tail]) -> None:
            for place, tail in tails.items():
                self._catalog.tails.setdefault(place, tail)
            self._catalog.topics[name] = wanted

        await self._write(write, publish)

    async def drop_before(self, topic: str, partition: int, offset: int) -> None:
        """See `TrimmedLog.drop_before`; it deletes in steps, between which other writes run."""
        tail = self._catalog.tail(topic, partition)
        begin, end = await self.earliest(topic, partition), min(offset, tail.next_offset)
        for until in (*range(begin + DROPPED_AT_ONCE, end, DROPPED_AT_ONCE), *([end] if begin < end else ())):
            await self._write(
                partial(delete_until, partition_id=tail.partition_id, offset=until),
                lambda _: self._recent.forget(topic, partition),
            )

    def newest_time(self) -> datetime | None:
        """Return the time of the newest record; None if there is none."""
        latest_ms = max((tail.last_ms for tail in [*self._catalog.tails.values()]), default=0)
        return from_ms(latest_ms) if latest_ms else None

    async def set_time_back(self, at: datetime) -> None:
        """Let the log's time continue from an instant, after a wrong clock has dated the newest records later."""
        at_ms = to_ms(at)

        def write(connection: sqlite3.Connection) -> dict[Place, Tail]:
            connection.execute("update partitions set last_ms = ? where last_ms > ?", (at_ms, at_ms))
            self._ends.forget()
            return load_tails(connection)

        await self._write(write, self._catalog.tails.update)

    async def edit(
        self, topic: str, partition: int, change: Callable[[int, sqlite3.Connection], Answer], records: int = 1
    ) -> Answer:
        """Run `change`, which may replace a partition's records in place, in a transaction, and return its result.

        It gets the partition's id and the connection. `records` is the number of records that it replaces.
        """
        tail = self._catalog.tail(topic, partition)
        return await self._write(
            partial(change, tail.partition_id),
            lambda _: self._recent.forget(topic, partition),
            records,
        )

    async def compact(self, topic: str) -> int:
        """Delete all but each key's newest record from a topic created with `compact`; return how many were deleted."""
        settings, deleted = self._catalog.settings(topic), 0
        if not settings.compact:
            raise LogError(f"topic {topic} was not created for compaction: its history would be lost")
        for partition in range(settings.partitions):
            deleted += await self._write(
                partial(compact_partition, partition_id=self._catalog.tail(topic, partition).partition_id),
                lambda _, partition=partition: self._recent.forget(topic, partition),  # type: ignore[misc]
            )
        return deleted

    async def commit_offsets(self, group: str, offsets: Mapping[Place, int]) -> None:
        """Durably store the offsets from which a consumer group continues, each after the last record that is done."""
        rows = [(group, self._catalog.tail(*place).partition_id, offset) for place, offset in offsets.items()]
        sql = "insert into group_offsets values(?,?,?) on conflict do update set next_offset = excluded.next_offset"

        def write(connection: sqlite3.Connection) -> None:
            connection.executemany(sql, rows)

        await self._write(write)

    def committed(self, group: str, topic: str, partition: int) -> int | None:
        """Return the offset from which the group continues; None if it has committed none."""
        rows = self._select(
            "select next_offset from group_offsets where consumer_group = ? and partition_id = ?",
            (group, self._catalog.tail(topic, partition).partition_id),
        )
        return rows[0][0] if rows else None

    def _select(self, sql: str, parameters: tuple[object, ...]) -> list[Any]:
        try:
            with self._reading:
                return self._reader.execute(sql, parameters).fetchall()
        except sqlite3.Error as error:
            failure = meaning(error, self.directory / LOG_FILE)
            if isinstance(failure, LogDamaged):
                self._writer.refuse(failure)
            raise failure from error

    async def _write(
        self,
        write: Callable[[sqlite3.Connection], Answer],
        published: Callable[[Answer], None] = lambda _: None,
        records: int = 1,
        *,
        at_once: bool = False,
    ) -> Answer:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Answer] = loop.create_future()
        self._writer.submit(Job(write, published, loop, future, records), at_once=at_once)
        try:
            return await future
        finally:
            del future  # its error refers to this frame: each would keep the other in memory
