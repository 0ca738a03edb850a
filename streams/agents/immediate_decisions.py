"""Immediate decisions: a command is decided before it is appended, and both records are one transaction.

A command that goes through the inbox is durable twice, one after the other: when the log has it, and when the log has
the decision on it, which is made after it was delivered. Where no other process appends, the place that a command will
get is known beforehand, and with it everything that its decision depends on. Then it need not be delivered. The log
holds the same in the end, to the offset and the millisecond.

Commands that come while others are being written are written together afterwards.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from projections.partitions.assignment import NotHeld
from projections.shard.errors import ShardDamaged, ShardUnavailable
from projections.state.evolve import Unfit, is_decided
from schemas import telemetry
from schemas.log import LogError, LogMoved, LogUnavailable, RecordTooLarge
from schemas.messages.erasure import EraseMemory, EraseUser
from schemas.topics import INBOX
from streams.agents.remember import Undecidable, decision_record, memories_made, outcome_of, state_after
from streams.decisions.draft import ItemPosition
from streams.delivery.retry import catch_up, fold_with_retry, retry

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from projections.index.sync import IndexSync
    from projections.partitions.shards import Shards
    from projections.state.memory import UserState
    from schemas.identity import Owner
    from schemas.log import Appended, ExclusiveLog, NewRecord
    from schemas.messages.decision import Decision
    from schemas.messages.inbox import UserItem
    from streams.agents.remember import Remember
    from streams.delivery.keyed_pool import Hold, KeyedPool

MOST_TOGETHER: Final = 64
BYTES_TOGETHER: Final = 1 << 20
"""Commands of one transaction: so many, or so many bytes and one more."""
FOLD_SECONDS: Final = 5.0
"""After so long a command is answered although its decision is not folded: its shard's disk is full, for one."""


@dataclass(frozen=True, slots=True)
class Decided:
    """A command that the log has, and the decision on it."""

    appended: Appended
    decision: Decision
    is_folded: bool


@dataclass(slots=True)
class _Turn:
    """A user's turn in the agent's pool, held as long as commands of the user are written here."""

    hold: Hold
    commands: int = 0
    unfolded: int = 0
    """Decisions that the log has, and which are not folded yet."""
    state: UserState | None = None
    """The user's state after them; None where there are none."""
    vectors: dict[str, bytes] = field(default_factory=dict)
    """The vectors that they bring."""


@dataclass(slots=True)
class _Command:
    """A command that waits for its decision."""

    owner: Owner
    item: UserItem
    record: NewRecord
    turn: _Turn
    answer: asyncio.Future[Decided | None]

    def say(self, answer: Decided | None) -> None:
        """Answer the caller who waits, if one still does."""
        if not self.answer.done():
            self.answer.set_result(answer)

    def refuse(self, error: LogError) -> None:
        """Raise an error of its own at the caller who waits, if one still does."""
        if not self.answer.done():
            self.answer.set_exception(type(error)(*error.args))


@dataclass(frozen=True, slots=True)
class _Made:
    """A decision on a command, its record, and what it leads to."""

    command: _Command
    decision: Decision
    record: NewRecord
    traceparent: str | None
    after: UserState
    vectors: dict[str, bytes]


class ImmediateDecisions:
    """Decides commands, and appends each with its decision, where nothing of its user comes before it."""

    def __init__(
        self,
        *,
        log: ExclusiveLog,
        remember: Remember,
        shards: Shards,
        index_sync: IndexSync,
        pool: KeyedPool,
        failed: Callable[[BaseException], None],
        counted: Callable[[str, str], None] = lambda _step, _outcome: None,
    ) -> None:
        """Take the agent that decides otherwise, and its pool. An error that nothing expects goes to `failed`."""
        self._log = log
        self._remember = remember
        self._shards = shards
        self._index_sync = index_sync
        self._pool = pool
        self._failed = failed
        self._counted = counted
        self._turns: dict[Owner, _Turn] = {}
        self._waiting: list[_Command] = []
        self._is_writing = False
        self._tasks: set[asyncio.Task[None]] = set()

    async def decide(self, item: UserItem, record: NewRecord) -> Decided | None:
        """Append a command, given as its record too, with the decision on it; return when that is folded.

        None where it must be delivered: something of its user waits to be decided, or it is not decided in one step.
        Nothing was appended then. Raises LogUnavailable, as an append does.
        """
        owner = item.envelope.owner
        if isinstance(item, (EraseUser, EraseMemory)):  # of which more is done than a decision
            return None
        turn = self._turns.get(owner)
        if turn is None:
            if (hold := self._pool.hold(record.partition, owner)) is None:
                return None
            turn = self._turns[owner] = _Turn(hold)
        elif turn.hold.is_wanted:  # else callers who follow each other would keep it waiting
            return None
        turn.commands += 1
        [record] = telemetry.with_trace([record])
        command = _Command(owner, item, record, turn, asyncio.get_running_loop().create_future())
        self._waiting.append(command)
        if not self._is_writing:
            self._is_writing = True
            self._start(self._write())
        return await command.answer

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._failed(error)

    async def _write(self) -> None:
        """Write what waits, some commands at a time, until nothing does."""
        try:
            while self._waiting:
                await self._write_some(self._take())
        finally:
            self._is_writing = False

    def _take(self) -> list[_Command]:
        """Return those that have waited longest."""
        taken = size = 0
        while taken < min(len(self._waiting), MOST_TOGETHER) and size <= BYTES_TOGETHER:
            size += len(self._waiting[taken].record.value)
            taken += 1
        some, self._waiting = self._waiting[:taken], self._waiting[taken:]
        return some

    async def _write_some(self, commands: Sequence[_Command]) -> None:
        """Decide commands, and append them with their decisions in one transaction."""
        first: dict[int, Appended] = {}
        last: dict[Owner, _Made] = {}
        made: list[_Made] = []
        for command in commands:
            inbox = command.record.partition
            if inbox not in first:
                first[inbox] = self._log.next_place(INBOX.name, inbox)
            before = sum(one.command.record.partition == inbox for one in made)
            one = self._decide(command, first[inbox], before, last.get(command.owner))
            if one is None:
                self._give_back(command)
            else:
                made.append(one)
                last[command.owner] = one
        if not made:
            return
        inboxes = {one.command.record.partition for one in made}
        records = [record for one in made for record in (one.command.record, one.record)]
        try:
            appended = await self._log.append_settled(records, [first[inbox] for inbox in inboxes])
        except (LogMoved, RecordTooLarge):  # delivered, each meets its own fate
            for one in made:
                self._give_back(one.command)
        except LogError as error:
            for one in made:
                one.command.refuse(error)
                self._start(self._come_to_end(one.command))
        else:
            self._note(made, appended)
            self._start(self._fold(made, appended))  # while the next ones are on their way to the disk

    def _decide(self, command: _Command, first: Appended, before: int, last: _Made | None) -> _Made | None:
        """Decide a command that will stand so many records behind a place; None where it must be delivered.

        `last` is what was decided on the same user for the same transaction.
        """
        owner, item, turn, inbox = command.owner, command.item, command.turn, first.position.partition
        if turn.hold.is_wanted or not self._remember.has_handled(inbox, first.position.offset):
            return None  # what comes before it may be of this user, or a tick that all users meet
        item_id = item.envelope.event_id
        place = ItemPosition(inbox, first.position.offset + before, first.recorded_at)
        try:
            state = last.after if last else turn.state or self._shards.state(owner)
            vectors = dict(last.vectors if last else turn.vectors)
            if is_decided(state, item_id) or item_id == state.last_item:
                return None
            with telemetry.following("decide", {"mnemolog.item": type(item).__name__}, command.record.headers) as span:
                decision = self._remember.decision(owner, item, place, state, vectors)
                span.note({"mnemolog.outcome": outcome_of(decision)})
            if not decision.last_part:
                return None
            after = state_after(state, decision, vectors)
            self._shards.of(owner).ledger.foreseen.add(state, decision, after)
            record = decision_record(*self._shards.ledger_of(owner), owner, decision, span.traceparent)
        except (Undecidable, Unfit, NotHeld, ShardDamaged, ShardUnavailable):
            return None  # the agent meets it again, and does what is to be done then
        return _Made(command, decision, record, span.traceparent, after, vectors)

    def _note(self, made: Sequence[_Made], appended: Sequence[Appended]) -> None:
        """Take in what the log has."""
        for one, place in zip(made, appended[::2], strict=True):
            inbox, offset, turn = place.position.partition, place.position.offset, one.command.turn
            if self._remember.has_handled(inbox, offset):  # not where deliveries have begun anew meanwhile
                self._remember.handled(inbox, offset)
            turn.unfolded += 1
            turn.state, turn.vectors = one.after, one.vectors
            self._counted("remember", outcome_of(one.decision))
            telemetry.made(memories_made(one.decision), one.traceparent)

    async def _fold(self, made: Sequence[_Made], appended: Sequence[Appended]) -> None:
        """Fold decisions that the log has, and answer the callers."""
        items, decisions = appended[::2], appended[1::2]

        def answer(*, is_folded: bool) -> None:
            for one, place in zip(made, items, strict=True):
                one.command.say(Decided(place, one.decision, is_folded))

        ends = {(one.position.topic, one.position.partition): one.position.offset + 1 for one in decisions}
        timer = asyncio.get_running_loop().call_later(FOLD_SECONDS, partial(answer, is_folded=False))
        try:
            with telemetry.following("fold", {"mnemolog.decisions": len(made)}, made[-1].record.headers):
                for (topic, partition), end in ends.items():
                    await catch_up(self._shards, topic, partition, end)
                await self._index_sync.try_flush()
            answer(is_folded=True)
        except NotHeld:  # whoever has the partition now folds it
            answer(is_folded=False)
        finally:
            timer.cancel()
            for one in made:
                self._folded(one.command.turn)
                self._release(one.command)
                self._remember.notify(one.command.owner, one.decision.item_id)

    @staticmethod
    def _folded(turn: _Turn) -> None:
        turn.unfolded -= 1
        if not turn.unfolded:
            turn.state, turn.vectors = None, {}

    def _give_back(self, command: _Command) -> None:
        """Leave a command to be delivered."""
        self._release(command)
        command.say(None)

    def _release(self, command: _Command) -> None:
        """Give a user's turn back when this was the last command of it."""
        command.turn.commands -= 1
        if not command.turn.commands:
            del self._turns[command.owner]
            command.turn.hold.release()

    async def _come_to_end(self, command: _Command) -> None:
        """Fold what the log has of a user of whom it is not known whether something was appended.

        Until then nothing is decided about the user: the next decision would not know of this one.
        """
        with suppress(LogError, NotHeld):
            come_to_end = partial(self._shards.come_to_end, command.owner)
            await fold_with_retry(lambda: retry(come_to_end, LogUnavailable))
        self._release(command)
