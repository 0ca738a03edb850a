"""Immediate decisions: an inbox item is decided before it is appended, and both records are one transaction.

An item that is delivered is written twice, one after the other: first itself, then the decision on it. Where no other
process appends, the place that an item will get is known beforehand, and with it everything that its decision depends
on. Then it need not be delivered. The log holds the same in the end, to the offset and the millisecond.

Items that come while others are being written are written together afterwards.
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
from schemas.messages.inbox import CandidatesExtracted, ExtractionRejected
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
"""Items of one transaction: so many, or so many bytes and one more."""
DECIDING_SECONDS: Final = 0.01
"""After so long the rest is left to the next transaction, and the event loop runs something else."""
PATIENCE_SECONDS: Final = 0.1
"""An item waits so long for what is being decided before it; then it goes behind it, into the inbox."""
FOLD_SECONDS: Final = 5.0
"""After so long the caller is answered although the decision is not folded: the shard's disk is full, for one."""


_ANSWERS: Final = (CandidatesExtracted, ExtractionRejected)


def always() -> bool:
    """Return True: nothing changes what was asked."""
    return True


@dataclass(frozen=True, slots=True)
class Decided:
    """An item that the log has, and the decision on it."""

    appended: Appended
    decision: Decision
    is_folded: bool


@dataclass(slots=True)
class _Turn:
    """A user's turn in the agent's pool, held as long as items of the user are written here."""

    hold: Hold
    items: int = 0
    unfolded: int = 0
    """Decisions that the log has, and which are not folded yet."""
    state: UserState | None = None
    """The user's state after them; None where there are none."""
    vectors: dict[str, bytes] = field(default_factory=dict)
    """The vectors that they bring."""


@dataclass(slots=True)
class _Asked:
    """An item that waits for its decision."""

    owner: Owner
    item: UserItem
    record: NewRecord
    turn: _Turn
    holds: Callable[[], bool]
    behind: _Asked | None
    """What the same caller asked before: this one must not come before it."""
    answer: asyncio.Future[Decided | None]
    is_given_back: bool = False

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
    """A decision on an item, its record, and what it leads to."""

    asked: _Asked
    decision: Decision
    record: NewRecord
    traceparent: str | None
    after: UserState
    vectors: dict[str, bytes]


class ImmediateDecisions:
    """Decides items, and appends each with its decision, where nothing of its user comes before it."""

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
        self._waiting: list[_Asked] = []
        self._is_writing = False
        self._tasks: set[asyncio.Task[None]] = set()

    async def decide(
        self, items: Sequence[UserItem], records: Sequence[NewRecord], holds: Callable[[], bool] = always
    ) -> list[Decided]:
        """Append items of one user, given as their records too, with the decisions on them; return when all is folded.

        Fewer may be decided, always the first ones. The others are to be appended to the inbox and delivered: something
        of the user waits to be decided before them, or they are not decided in one step. Nothing of them was appended.
        `holds` returns, at the moment of appending, whether the items still are what they should be. Raises
        LogUnavailable, as an append does.
        """
        owner = items[0].envelope.owner
        if isinstance(items[0], (EraseUser, EraseMemory)):  # of which more is done than a decision
            return []
        if isinstance(items[0], CandidatesExtracted):
            await self._shards.load(owner)
            await self._remember.read_texts(owner)
        if (turn := await self._turn(owner, records[0].partition)) is None:
            return []
        turn.items += len(items)
        asked: list[_Asked] = []
        for item, record in zip(items, telemetry.with_trace(records), strict=True):
            answer: asyncio.Future[Decided | None] = asyncio.get_running_loop().create_future()
            asked.append(_Asked(owner, item, record, turn, holds, asked[-1] if asked else None, answer))
        self._waiting += asked
        if not self._is_writing:
            self._is_writing = True
            self._start(self._write())
        answers = [await asked[0].answer] if len(asked) == 1 else await asyncio.gather(*(one.answer for one in asked))
        return [decided for decided in answers if decided is not None]

    async def _turn(self, owner: Owner, inbox: int) -> _Turn | None:
        """Return a user's turn; None where what comes before takes longer than PATIENCE_SECONDS."""
        end = self._log.next_place(INBOX.name, inbox).position.offset
        if not self._remember.has_handled(inbox, end) or self._is_busy(inbox, owner):
            with suppress(TimeoutError):
                async with asyncio.timeout(PATIENCE_SECONDS):
                    await self._remember.until_handled(inbox, end)
                    while self._is_busy(inbox, owner):
                        await self._pool.until_changed()
        if (turn := self._turns.get(owner)) is not None:
            return None if turn.hold.is_wanted else turn  # callers who follow each other must not keep it waiting
        if (hold := self._pool.hold(inbox, owner)) is None:
            return None
        turn = self._turns[owner] = _Turn(hold)
        return turn

    def _is_busy(self, inbox: int, owner: Owner) -> bool:
        """Return whether the agent is at a user."""
        return owner not in self._turns and self._pool.is_busy(inbox, owner)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._failed(error)

    async def _write(self) -> None:
        """Write what waits, some items at a time, until nothing does."""
        try:
            while self._waiting:
                await self._write_some(self._take())
        finally:
            self._is_writing = False

    def _take(self) -> list[_Asked]:
        """Return those that have waited longest."""
        taken = size = 0
        while taken < min(len(self._waiting), MOST_TOGETHER) and size <= BYTES_TOGETHER:
            size += len(self._waiting[taken].record.value)
            taken += 1
        some, self._waiting = self._waiting[:taken], self._waiting[taken:]
        return some

    def _decide_some(self, some: Sequence[_Asked]) -> tuple[list[_Made], dict[int, Appended]]:
        """Return decisions on items, and the place of the first of each inbox. What is left is decided later."""
        first: dict[int, Appended] = {}
        last: dict[Owner, _Made] = {}
        made: list[_Made] = []
        clock = asyncio.get_running_loop().time
        began = clock()
        for n, asked in enumerate(some):
            if clock() - began > DECIDING_SECONDS:  # nobody may append between the first decision and the append
                self._waiting[:0] = some[n:]
                break
            inbox = asked.record.partition
            if inbox not in first:
                first[inbox] = self._log.next_place(INBOX.name, inbox)
            before = sum(one.asked.record.partition == inbox for one in made)
            one = self._decide(asked, first[inbox], before, last.get(asked.owner))
            if one is None:
                self._give_back(asked)
            else:
                made.append(one)
                last[asked.owner] = one
        return made, first

    async def _write_some(self, some: Sequence[_Asked]) -> None:
        """Decide items, and append them with their decisions in one transaction."""
        made, first = self._decide_some(some)
        if not made:
            return
        inboxes = {one.asked.record.partition for one in made}
        records = [record for one in made for record in (one.asked.record, one.record)]
        try:
            appended = await self._log.append_settled(records, [first[inbox] for inbox in inboxes])
        except (LogMoved, RecordTooLarge):  # delivered, each meets its own fate
            for one in made:
                self._give_back(one.asked)
        except LogError as error:
            for one in made:
                one.asked.refuse(error)
                self._start(self._come_to_end(one.asked))
        else:
            self._note(made, appended)
            self._start(self._fold(made, appended))  # while the next ones are on their way to the disk

    def _decide(self, asked: _Asked, first: Appended, before: int, last: _Made | None) -> _Made | None:
        """Decide an item that will stand so many records behind a place; None where it must be delivered.

        `last` is what was decided on the same user for the same transaction.
        """
        owner, item, turn, inbox = asked.owner, asked.item, asked.turn, first.position.partition
        if (asked.behind is not None and asked.behind.is_given_back) or turn.hold.is_wanted or not asked.holds():
            return None
        if not self._remember.has_handled(inbox, first.position.offset):
            return None  # what comes before it may be of this user, or a tick that all users meet
        item_id = item.envelope.event_id
        place = ItemPosition(inbox, first.position.offset + before, first.recorded_at)
        try:
            state = last.after if last else turn.state or self._shards.state(owner)
            vectors = dict(last.vectors if last else turn.vectors)
            if is_decided(state, item_id) or item_id == state.last_item:
                return None
            with telemetry.following("decide", {"mnemolog.item": type(item).__name__}, asked.record.headers) as span:
                decision = self._remember.decision(owner, item, place, state, vectors)
                span.note({"mnemolog.outcome": outcome_of(decision)})
            if not decision.last_part:
                return None
            after = state_after(state, decision, vectors)
            self._shards.of(owner).ledger.foreseen.add(state, decision, after)
            record = decision_record(*self._shards.ledger_of(owner), owner, decision, span.traceparent)
        except (Undecidable, Unfit, NotHeld, ShardDamaged, ShardUnavailable):
            return None  # the agent meets it again, and does what is to be done then
        return _Made(asked, decision, record, span.traceparent, after, vectors)

    def _note(self, made: Sequence[_Made], appended: Sequence[Appended]) -> None:
        """Take in what the log has."""
        for one, place in zip(made, appended[::2], strict=True):
            inbox, offset, turn = place.position.partition, place.position.offset, one.asked.turn
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
                one.asked.say(Decided(place, one.decision, is_folded))

        # The answers to windows first: who waits for what becomes of one is told after the fold of the decision.
        answers = [p for one, p in zip(made, items, strict=True) if isinstance(one.asked.item, _ANSWERS)]
        ends = {(p.position.topic, p.position.partition): p.position.offset + 1 for p in (*answers, *decisions)}
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
                self._folded(one.asked.turn)
                self._release(one.asked)
                self._remember.ended(one.asked.owner, one.asked.item)

    @staticmethod
    def _folded(turn: _Turn) -> None:
        turn.unfolded -= 1
        if not turn.unfolded:
            turn.state, turn.vectors = None, {}

    def _give_back(self, asked: _Asked) -> None:
        """Leave an item to be delivered."""
        asked.is_given_back = True
        self._release(asked)
        asked.say(None)

    def _release(self, asked: _Asked) -> None:
        """Give a user's turn back when this was the last item of it."""
        asked.turn.items -= 1
        if not asked.turn.items:
            del self._turns[asked.owner]
            asked.turn.hold.release()

    async def _come_to_end(self, asked: _Asked) -> None:
        """Fold what the log has of a user of whom it is not known whether something was appended.

        Until then nothing is decided about the user: the next decision would not know of this one.
        """
        with suppress(LogError, NotHeld):
            come_to_end = partial(self._shards.come_to_end, asked.owner)
            await fold_with_retry(lambda: retry(come_to_end, LogUnavailable))
        self._release(asked)
