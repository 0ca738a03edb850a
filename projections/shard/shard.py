"""A shard: one partition's folds in one SQLite file, and the offset up to which each topic has been folded."""

from __future__ import annotations

import asyncio
import contextlib
import os
from functools import partial
from typing import TYPE_CHECKING, Final

from projections.blocking_work import run_in_thread
from projections.encrypted_files import sqlite3
from projections.shard.dead_letters import DeadLettersFold
from projections.shard.errors import ShardUnavailable, trouble
from projections.shard.group_commit import GroupCommit
from projections.shard.ledger import LedgerFold
from projections.shard.log_position import ends_of, record_digest
from projections.shard.observation_lookup import ObservationLookup
from projections.shard.observations import ObservationsFold, remove_before
from projections.shard.rows.damage import PARTITION, first_gap
from projections.shard.rows.published_turns import PublishedTurns
from projections.shard.rows.session_turns import SessionTurns
from projections.shard.tables import begin_build, connect, end_build
from projections.shard.turn_statistics import TurnStatistics
from projections.shard.turn_vectors import TurnVectors
from projections.shard.wal import Checkpoints
from projections.turns import in_turns, to_end
from schemas.messages.chain import NO_HEAD, head_after
from schemas.topics import DEAD_LETTERS, GLOBALS, INBOX, INPUTS, LEDGER

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Iterable, Sequence
    from pathlib import Path

    from projections.shard.ledger import Batch
    from projections.shard.log_position import LogPosition
    from projections.shard.observations import Removal
    from schemas.identity import Owner
    from schemas.log import Log, Record

BATCH_RECORDS: Final = 500
"""The number of records folded in one transaction; the event loop runs between two of them."""
BULK_RECORDS: Final = 2_000
_KEEP_OFFSET: Final = "insert or replace into offsets values(?,?,?)"


class Shard:
    """The folds of a partition's ledger, inbox and inputs. It trusts its own offsets, never those of a consumer group.

    A fold and its offset are one transaction, which consecutive small folds share (see `GroupCommit`).
    `changed` is called after each fold with the memories whose index entries change.
    """

    def __init__(
        self,
        path: Path,
        log: Log,
        partition: int,
        changed: Callable[[Owner, Sequence[str]], None],
        *,
        belongs: Callable[[Owner], bool] = lambda _: True,
        holds_globals: bool = False,
    ) -> None:
        self.path = path
        """The file. Other connections read it as `committed_file()` or `writes.try_commit` leaves it."""
        self.partition = partition
        self.ledger_topic = GLOBALS.name if holds_globals else LEDGER.name
        self.topics: tuple[str, ...] = (
            (self.ledger_topic,)
            if holds_globals
            else (*(t.name for t in INPUTS), INBOX.name, DEAD_LETTERS.name, self.ledger_topic)
        )
        self.log = log
        self.changed = changed
        self._holds_globals = holds_globals
        self._belongs = belongs
        self.folding = asyncio.Lock()
        """The lock held while records are folded: its holder sees a shard that does not change."""
        self.retired = False
        """Whether another generation replaced it: a retired shard does not fold any more."""
        self.removed_before: dict[str, int] = {}
        """The offset before which each topic's observations were removed, as far as this process knows."""
        self._is_building = False
        self._is_closed = False
        self._open()

    def _open(self) -> None:
        self._connection = connect(self.path)
        self.checkpoints = Checkpoints(self.path)
        self._offsets: dict[str, int] = self._read_offsets()
        partition = None if self._holds_globals else self.partition
        self.ledger = LedgerFold(self._connection, partition, self._belongs, self.ledger_topic)
        self.dead_letters = DeadLettersFold(self._connection, self.ledger.erased_users)
        self.observations = ObservationLookup(self._connection, self.partition, self.dead_letters)
        self.turns = PublishedTurns(self._connection)
        self.session_turns = SessionTurns(self._connection)
        self.turn_statistics = TurnStatistics(self._connection)
        caches = (
            self.ledger.erased_users.forget,
            self.observations.forget_recent,
            self.turn_statistics.forget,
            self.turns.forget_zones,
        )
        self._forget_folded = partial(_call_all, caches)  # a bound method would make a cycle, and delay the freeing
        self.writes = GroupCommit(self._connection, self.checkpoints, self._forget_folded)
        self.turn_vectors = TurnVectors(self._connection, self.writes)
        self._observations_fold = ObservationsFold(
            self._connection, self.observations, self.turn_statistics, self.ledger.erased_users, self._belongs
        )

    def close(self) -> None:
        """Close the file."""
        self._is_closed = True
        self.writes.close()
        self.ledger.forget()
        self.checkpoints.close()
        self._connection.close()

    def reopen(self, put_in_place: Callable[[], None]) -> None:
        """Close the file, replace it by calling `put_in_place`, and open it. The shard must not be used meanwhile.

        Raises ShardUnavailable, ShardDamaged, and the errors of `put_in_place`, after which the shard is open again.
        """
        void = self.ledger.void_decisions
        self.close()
        try:
            put_in_place()
        finally:
            self._open()
            self._is_closed = False
            self.ledger.void_decisions = void

    def begin_build(self) -> None:
        """Make a new file fast to fill: it has no journal, and no index for reads only, until `end_build`.

        Nothing may have been folded into it. If the build fails or the process dies, the file must be deleted.
        """
        self._is_building = True
        begin_build(self._connection)

    def end_build(self) -> None:
        """Complete a file that was filled since `begin_build`, flush it to the disk, and close it."""
        end_build(self._connection)
        self.close()
        with self.path.open("rb") as file:
            os.fsync(file.fileno())

    def committed_file(self, tenant: str | None = None) -> Path:
        """Commit everything that was folded, and return the file. Raises ShardUnavailable, ShardDamaged.

        A caller that reads only `tenant` gets the file even if it cannot be written, provided that all records of that
        tenant are committed.
        """
        try:
            self.writes.commit()
        except ShardUnavailable as error:
            if tenant is None or self.writes.has_waiting(tenant):
                whose = "of global memories" if self._holds_globals else f"of partition {self.partition}"
                raise type(error)(f"what was decided last {whose} is not in its file yet, {error}") from error
        return self.path

    async def clear_deleted(self) -> None:
        """Overwrite deleted rows in the file and in its write-ahead log. Raises as `committed_file`."""
        self.writes.commit()
        await run_in_thread(self.checkpoints.clear)

    def start_over(self) -> None:
        """Empty all tables: the next fold begins at offset 0. Raises ShardUnavailable, ShardDamaged."""
        self.writes.discard()
        self.reload()
        run = self._connection.execute
        tables = [name for (name,) in run("select name from sqlite_master where type='table'").fetchall()]
        self.writes.write(lambda: [run(f"delete from {table}") for table in tables])  # noqa: S608 - our own tables
        self.reload()

    def reload(self) -> None:
        """Read again a file into which another process has folded. Raises ShardUnavailable, ShardDamaged."""
        self._offsets = self._read_offsets()
        self.ledger.forget()
        self._forget_folded()

    def positions(self, topics: Collection[str]) -> list[LogPosition]:
        """Return the log position of each of the topics that has been folded at all."""
        rows = self._connection.execute("select topic, next, mark from offsets").fetchall()
        return [row for row in rows if row[0] in topics]

    def _read_offsets(self) -> dict[str, int]:
        try:
            rows = self._connection.execute("select topic, next, mark from offsets").fetchall()
            marks = {topic: mark for topic, _, mark in rows}
            self.head: bytes = marks.get(_head_row(self.ledger_topic), NO_HEAD)
            """The running head of the ledger's partition, after the last record folded."""
            return {topic: offset for topic, offset, _ in rows}
        except sqlite3.DatabaseError as error:
            raise trouble(self.path, error) from error

    def offset(self, topic: str) -> int:
        """Return the offset of the next record of the topic that will be folded."""
        return self._offsets.get(topic, 0)

    def indexed(self, index: str) -> int:
        """Return the ledger offset up to which an index is known to be complete."""
        return self.offset(_index_row(index))

    def keep_indexed(self, index: str, reached: int) -> None:
        """Record that an index is complete up to a ledger offset.

        This is skipped on a full disk, and while records are folded: it could block the transaction of a thread or
        process that folds.
        """
        row = _index_row(index)
        if self._offsets.get(row) != reached and not self.retired and not self.folding.locked():
            place = (row, reached, b"")
            with contextlib.suppress(ShardUnavailable):
                self.writes.write(lambda: self._connection.execute(_KEEP_OFFSET, place), 0)
                self._offsets[row] = reached

    async def up_to(self, topic: str, offset: int) -> None:
        """Fold the topic up to `offset` or the log's end."""
        while self.offset(topic) < offset and not self.retired:
            async with self.folding:
                if self.offset(topic) >= offset or self.retired:
                    return
                if not await self._fold_some(topic):
                    return

    def fold_known(self, topic: str, records: Sequence[Record]) -> bool:
        """Fold records that this process has just appended, without reading them; return whether that was possible.

        It is not possible during another fold, or if an earlier record is not folded yet: then `up_to` reads and folds
        them. Raises ShardUnavailable, ShardDamaged.
        """
        first, last = records[0].position.offset, records[-1].position.offset
        is_next = self.offset(topic) == first and last - first + 1 == len(records)
        if not is_next or self.folding.locked() or self.retired or self._is_closed:
            return False
        self.fold(topic, records)
        self.checkpoints.committed()
        return True

    async def level(self, topic: str, offset: int) -> None:
        """Fold exactly the records before `offset`. The caller holds `folding`."""
        while (start := self.offset(topic)) < offset:
            records = await self.log.read(topic, self.partition, start, min(BATCH_RECORDS, offset - start))
            before = [r for r in records if r.position.offset < offset]
            if not before or self.retired:
                return
            self.fold(topic, before)

    async def catch_up(self, progress: Callable[[int], None] = lambda _: None) -> None:
        """Fold every topic to its end; `progress` is called with the number of records that each step folded."""
        for topic, end in (await ends_of(self.log, self.topics, self.partition)).items():
            while (before := self.offset(topic)) < end:
                await self.up_to(topic, min(end, before + BATCH_RECORDS))
                if self.offset(topic) == before:
                    break
                progress(self.offset(topic) - before)
                await asyncio.sleep(0)

    async def _fold_some(self, topic: str) -> int:
        records = await self.log.read(topic, self.partition, self.offset(topic), BATCH_RECORDS)
        if not records or self.retired:
            return len(records)
        batch = None
        if topic == self.ledger_topic:
            batch = await in_turns(self._while_open(self.ledger.gather(_kept(records))))
            if batch is None:
                return 0
        self.fold(topic, records, batch)
        self.checkpoints.committed()
        return len(records)

    def _while_open(self, steps: Generator[None, None, Batch]) -> Generator[None, None, Batch | None]:
        """Gather a batch, in steps; return None if the shard is closed or retired between two of them."""
        ledger = self.ledger
        while True:
            try:
                next(steps)
            except StopIteration as end:
                batch: Batch = end.value
                return batch
            yield
            if self.retired or ledger is not self.ledger or self._is_closed:
                return None

    def fold(self, topic: str, records: Sequence[Record], batch: Batch | None = None) -> None:
        """Fold records of a topic, all or none; the next offset is the one after the last.

        `batch` holds the gathered changes of records of the ledger, if they were gathered before.
        """
        if batch is None and topic == self.ledger_topic:
            batch = to_end(self.ledger.gather(_kept(records)))
        last = records[-1]
        next_offset = last.position.offset + 1
        places = [(topic, next_offset, record_digest(last))]
        head = self.head
        if batch is not None:
            head = head_after(head, records)
            places.append((_head_row(topic), next_offset, head))
            if (gap := first_gap(self.offset(topic), records)) is not None:
                batch.damage(PARTITION, *gap)
        records = _kept(records)
        changes = {} if batch is None else batch.indexed_changes()
        is_erasing = batch is not None and bool(batch.erased or batch.erased_memories)
        size = None if is_erasing or self._is_building else sum(len(record.value) for record in records)
        write = partial(self._write, topic, records, batch, places)
        self.writes.write(write, size, records)
        self._offsets[topic] = next_offset
        self.head = head
        if batch is not None:
            try:
                self.ledger.keep(batch)
                for owner, ids in changes.items():
                    self.changed(owner, ids)
            except BaseException:  # the file has the batch: cached values may be older
                self.ledger.forget()
                self._forget_folded()
                raise
            if is_erasing:
                self._forget_folded()
                if not self._is_building:
                    self.checkpoints.truncate()

    def _write(self, topic: str, records: Sequence[Record], batch: Batch | None, places: Sequence[LogPosition]) -> None:
        if batch is not None:
            self.ledger.write(batch)
        elif topic == INBOX.name:
            self._observations_fold.fold_inbox(records)
        elif topic == DEAD_LETTERS.name:
            self.dead_letters.fold(records)
        else:
            self._observations_fold.fold_inputs(records)
        for place in places:
            self._connection.execute(_KEEP_OFFSET, place)

    def remove_before(self, topic: str, earliest: int, after: tuple[str, str], rows: int) -> Removal:
        """Take one step of removing a topic's observations before an offset. The caller holds `folding`."""
        self._forget_folded()
        return self.writes.write(lambda: remove_before(self._connection, topic, earliest, after, rows))


def _call_all(calls: Iterable[Callable[[], None]]) -> None:
    for call in calls:
        call()


def _kept(records: Sequence[Record]) -> list[Record]:
    """Return the records that were not erased."""
    return [record for record in records if not record.is_erased]


def _head_row(topic: str) -> str:
    return f"head {topic}"


def _index_row(index: str) -> str:
    return f"index {index}"
