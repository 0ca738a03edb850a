"""The log's file, opened only to be read: while a worker writes it, or where nothing may be changed."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from projections.encrypted_files import how_still
from schemas.log import LogError, UnknownTopic
from streams.transports.sqlite.file import (
    BUSY_MILLISECONDS,
    check_application,
    load_edits,
    load_identity,
    load_tails,
    load_topics,
    meaning,
)
from streams.transports.sqlite.rows import earliest_offset, from_row, stored_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from schemas.log import Appended, NewRecord, Record
    from streams.transports.sqlite.file import Tail, TopicSettings


class NotWritten(LogError):
    """The log was opened only to be read."""


@dataclass(frozen=True, slots=True)
class LogState:
    """The topics, ends and offsets in the file, as of one commit."""

    identity: str | None
    topics: Mapping[str, TopicSettings]
    tails: Mapping[tuple[str, int], Tail]
    edits: Mapping[int, int]
    """How often records of each partition were replaced in place, by the partition's id."""
    group_offsets: Sequence[tuple[str, str, int, int]]
    """Consumer group, topic, partition and the offset from which the group continues."""


class ReadOnlyLog:
    """The reading half of `Log`, as of the moment at which it was opened: later records are not visible."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        """Read the state of the file. Raises LogDamaged, LogUnavailable."""
        self._connection = connection
        self._path = path
        self.state = self._read_state()

    @classmethod
    @contextmanager
    def beside_worker(cls, path: Path) -> Iterator[ReadOnlyLog]:
        """Open the file, which another process may write meanwhile. Raises LogDamaged, LogUnavailable."""
        with _opened(path, "mode=ro") as connection:
            yield cls(connection, path)

    @classmethod
    @contextmanager
    def still(cls, path: Path) -> Iterator[ReadOnlyLog]:
        """Open a file that no process has open, and change neither it nor its folder. Raises as `beside_worker`."""
        how = how_still(path)
        ahead = path.with_name(f"{path.name}-wal")
        if how == "immutable=1" and ahead.exists() and ahead.stat().st_size:
            # A careless copy lacks the file of shared memory, which SQLite would create: open a copy in another folder.
            with tempfile.TemporaryDirectory() as folder:
                for one in (path, ahead):
                    shutil.copyfile(one, Path(folder) / one.name)
                with _opened(Path(folder) / path.name, "mode=rw") as connection:
                    yield cls(connection, path)
        else:
            with _opened(path, how) as connection:
                yield cls(connection, path)

    def _read_state(self) -> LogState:
        run = self._connection.execute
        try:
            run("begin")
            check_application(self._connection, self._path)
            if not run("select 1 from sqlite_master where name = 'records'").fetchone():
                return LogState(None, {}, {}, {}, ())  # its process died before it made the tables, or it was truncated
            groups = run(
                "select consumer_group, topic, partition, g.next_offset from group_offsets as g"
                " join partitions as p on p.id = g.partition_id"
            ).fetchall()
            return LogState(
                load_identity(self._connection),
                load_topics(self._connection),
                load_tails(self._connection),
                load_edits(self._connection),
                groups,
            )
        except sqlite3.Error as error:
            raise meaning(error, self._path) from error
        finally:
            if self._connection.in_transaction:
                self._connection.execute("rollback")

    async def append(self, _: Sequence[NewRecord]) -> list[Appended]:
        """Raise NotWritten."""
        self._refuse()

    async def read(self, topic: str, partition: int, start: int, limit: int = 1000) -> list[Record]:
        """See `Log.read`."""
        tail = self._tail(topic, partition)
        rows = stored_rows(self._select, tail, start, limit)
        return [from_row(topic, partition, row) for row in rows]

    async def end(self, topic: str, partition: int) -> int:
        """See `Log.end`."""
        return self._tail(topic, partition).next_offset

    async def earliest(self, topic: str, partition: int) -> int:
        """See `Log.earliest`."""
        return earliest_offset(self._select, self._tail(topic, partition))

    async def partitions(self, topic: str) -> int:
        """See `Log.partitions`."""
        if (settings := self.state.topics.get(topic)) is None:
            raise UnknownTopic(f"there is no topic {topic!r} in {self._path}")
        return settings.partitions

    async def drop_before(self, _topic: str, _partition: int, _offset: int) -> None:
        """Raise NotWritten."""
        self._refuse()

    def edits(self, topic: str, partition: int) -> int:
        """Return how often records of a partition were replaced in place."""
        return self.state.edits.get(self._tail(topic, partition).partition_id, 0)

    def _refuse(self) -> NoReturn:
        raise NotWritten(f"{self._path} was opened only to be read")

    def _tail(self, topic: str, partition: int) -> Tail:
        if (tail := self.state.tails.get((topic, partition))) is None:
            raise UnknownTopic(f"there is no {topic}:{partition} in {self._path}")
        return tail

    def _select(self, sql: str, parameters: tuple[object, ...]) -> list[Any]:
        try:
            return self._connection.execute(sql, parameters).fetchall()
        except sqlite3.Error as error:
            raise meaning(error, self._path) from error


@contextmanager
def _opened(path: Path, how: str) -> Iterator[sqlite3.Connection]:
    try:
        connection = sqlite3.connect(
            f"{path.resolve().as_uri()}?{how}",
            uri=True,
            isolation_level=None,
            check_same_thread=False,
            timeout=BUSY_MILLISECONDS / 1000,
        )
    except sqlite3.Error as error:
        raise meaning(error, path) from error
    with closing(connection):
        yield connection
