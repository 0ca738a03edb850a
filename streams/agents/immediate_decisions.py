"""Immediate decisions: a command is decided before it is appended, and both records are one transaction.

A command that is delivered makes its caller wait for two transactions: its own, and that of the decision on it. Where
no other process appends, the place that a command will get is known beforehand, and with it everything that its
decision depends on. Then it need not be delivered. The log holds the same in the end, to the offset and millisecond.

A model's answer to a window is decided likewise; what is said here of commands goes for it too. Commands that come
while others are being written are written together afterwards, those of several tenants in turns.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from projections.partitions.assignment import NotHeld
from projections.shard.errors import ShardDamaged, ShardUnavailable
from projections.state.evolve import Unfit, is_decided
from schemas import codec, telemetry
from schemas.log import LogError, LogMoved, LogUnavailable, RecordTooLarge
from schemas.messages.erasure import EraseMemory, EraseUser
from schemas.messages.inbox import EXTRACTIONS, CandidatesExtracted
from schemas.topics import INBOX
from streams.agents.remember import Undecidable, decision_record, memories_made, outcome_of, state_after
from streams.decisions.draft import ItemPosition
from streams.delivery.delivery import always
from streams.delivery.fair_queue import FairQueue
from streams.delivery.priority import LONGEST_TURN_SECONDS
from streams.delivery.retry import catch_up, fold_with_retry, retry
from streams.transports.recent_records import as_read

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence
    from contextlib import AbstractContextManager

    from projections.index.sync import IndexSync
    from projections.partitions.held import Held
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
"""The limits of one transaction: the most commands, and the bytes after which no further command is added."""
PATIENCE_SECONDS: Final = 0.1
"""The longest wait of a command for earlier ones to be decided; after that it goes to the inbox, after them."""
FOLD_SECONDS: Final = 5.0
"""The time after which the caller is answered although the decision is not folded, as with a full disk."""

UNKNOWN: Final = "it is not known whether the log has the command: send it again"


@dataclass(frozen=True, slots=True)
class Decided:
    """A command that the log has, and the decision on it."""

    appended: Appended
    decision: Decision
    is_folded: bool


@dataclass(slots=True)
class _Turn:
    """A user's turn in the agent's pool, held while commands of the user are written here."""

    hold: Hold
    commands: int = 0
    unfolded: int = 0
    """The number of decisions that the log has, and that are not folded yet."""
    state: UserState | None = None
    """The user's state after these decisions; None if there are none."""


@dataclass(eq=False, slots=True)
class _Asked:
    """A command that waits for its decision."""

    held: Held
    item: UserItem
    record: NewRecord
    turn: _Turn
    holds: Callable[[], bool]
    answer: asyncio.Future[Decided | None]

    def say(self, answer: Decided | None) -> None:
        """Answer the caller, if it still waits."""
        if not self.answer.done():
            self.answer.set_result(answer)

    def refuse(self, error: Exception) -> None:
        """Raise an error at the caller who waits, if one still does; one of the log is that caller's own."""
        if not self.answer.done():
            self.answer.set_exception(type(error)(*error.args) if isinstance(error, LogError) else error)


@dataclass(frozen=True, slots=True)
class _Made:
    """A decision on a command, its record, and what it leads to."""

    asked: _Asked
    decision: Decision
    record: NewRecord
    traceparent: str | None
    after: UserState


class _Written(NamedTuple):
    """A decision on a command, and where the log has both."""

    made: _Made
    command: Appended
    decision: Appended


class ImmediateDecisions:
    """Decides commands, and appends each with its decision, if no earlier item of its user is undecided."""

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
        patience_seconds: float = PATIENCE_SECONDS,
        fold_seconds: float = FOLD_SECONDS,
    ) -> None:
        """Take the agent that decides otherwise, and its pool.

        An error that nothing expects goes to `failed`, unless it is that of one command of which the log has nothing:
        its caller meets it. After one that goes there nothing is decided here any more: what is folded is not known.
        """
        self._log = log
        self._remember = remember
        self._shards = shards
        self._index_sync = index_sync
        self._pool = pool
        self._failed = failed
        self._counted = counted
        self._patience_seconds = patience_seconds
        self._fold_seconds = fold_seconds
        self._turns: dict[Owner, _Turn] = {}
        self._waiting: FairQueue[_Asked] = FairQueue()
        self._unanswered: set[_Asked] = set()
        self._is_writing = False
        self._is_stopped = False
        self._tasks: set[asyncio.Task[None]] = set()

    async def decide(self, item: UserItem, record: NewRecord, holds: Callable[[], bool] = always) -> Decided | None:
        """Append a command, given as its record too, with the decision on it; return when that is folded.

        `holds` returns whether it is still to be appended. It is asked when nothing else can be decided about the user
        before it.

        None where it must be delivered: something of its user waits to be decided before it, or it is not decided in
        one step. Nothing was appended then. Raises LogUnavailable, as an append does.
        """
        owner = item.envelope.owner
        held = self._shards.resolve(owner)
        if isinstance(item, CandidatesExtracted):
            try:
                await held.load()
                await self._remember.read_texts(held)
            except (NotHeld, ShardDamaged, ShardUnavailable):
                return None
        if self._is_stopped or isinstance(item, (EraseUser, EraseMemory)):  # of these more is done than a decision
            return None
        if (turn := await self._turn(owner, record.partition)) is None:
            return None
        turn.commands += 1
        [record] = telemetry.with_trace([record])
        asked = _Asked(held, item, record, turn, holds, asyncio.get_running_loop().create_future())
        self._waiting.put(owner.tenant, asked)
        if not self._is_writing:
            self._is_writing = True
            self._start(self._write())
        self._unanswered.add(asked)
        try:
            return await asked.answer
        finally:
            self._unanswered.discard(asked)

    async def stop(self) -> None:
        """End what goes on here, before the shards are closed: what the log has is folded at the next start.

        Callers who wait get LogUnavailable, for their command may be in the log; those who come later get None.
        """
        self._is_stopped = True
        tasks = [*self._tasks]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for asked in self._unanswered:
            asked.refuse(LogUnavailable("the worker stops: send the command again"))

    async def _turn(self, owner: Owner, inbox: int) -> _Turn | None:
        """Return a user's turn; None where what comes before takes longer than the patience."""
        end = self._log.next_place(INBOX.name, inbox).position.offset
        if not self._remember.has_handled(inbox, end) or self._is_busy(inbox, owner):
            with suppress(TimeoutError):
                async with asyncio.timeout(self._patience_seconds):
                    await self._remember.until_handled(inbox, end)
                    while self._is_busy(inbox, owner):
                        await self._pool.until_changed()
            end = self._log.next_place(INBOX.name, inbox).position.offset
            if self._is_stopped or not self._remember.has_handled(inbox, end):
                return None  # a tick waits until no turn is held
        if (turn := self._turns.get(owner)) is not None:
            return None if turn.hold.is_wanted else turn  # callers who follow each other must not keep it waiting
        if (hold := self._pool.hold(inbox, owner)) is None:
            return None
        turn = self._turns[owner] = _Turn(hold)
        return turn

    def _is_busy(self, inbox: int, owner: Owner) -> bool:
        """Return whether the agent is working on a user's items."""
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
        """Write the waiting commands, some at a time, until none is left."""
        try:
            while self._waiting:
                try:
                    await self._write_some(self._take())
                except Exception as error:  # noqa: BLE001 - the boundary of a step: what waits is given back, not left
                    self._is_stopped = True
                    self._failed(error)
        finally:
            self._is_writing = False

    def _take(self) -> list[_Asked]:
        """Take the commands of the next transaction off the queue."""
        some: list[_Asked] = []
        size = 0
        while self._waiting and len(some) < MOST_TOGETHER and size <= BYTES_TOGETHER:
            some.append(asked := self._waiting.take())
            size += len(asked.record.value)
        return some

    async def _write_some(self, asked: Sequence[_Asked]) -> None:
        """Decide commands, and append them with their decisions in one transaction."""
        made, first = await self._decide_some(asked)
        if not made:
            return
        inboxes = {one.asked.record.partition for one in made}
        records = [record for one in made for record in (one.asked.record, one.record)]
        try:
            appended = await self._log.append_settled(records, [first[inbox] for inbox in inboxes])
        except (LogMoved, RecordTooLarge):  # delivered, each meets its own fate
            for one in made:
                self._give_back(one.asked)
        except Exception as error:
            is_expected = isinstance(error, LogError)
            for one in made:  # perhaps the log has it
                one.asked.refuse(error if is_expected else LogUnavailable(UNKNOWN))
                self._start(self._come_to_end(one.asked))
            if not is_expected:
                raise
        else:
            self._note(list(map(_Written, made, appended[::2], appended[1::2])))

    async def _decide_some(self, some: Sequence[_Asked]) -> tuple[list[_Made], dict[int, Appended]]:
        """Return decisions on commands, and the place of the first in each inbox. Others have their turn meanwhile."""
        first: dict[int, Appended] = {}
        last: dict[Owner, _Made] = {}
        behind: Counter[int] = Counter()
        made: list[_Made] = []
        clock = asyncio.get_running_loop().time
        began = clock()
        for asked in some:
            if clock() - began > LONGEST_TURN_SECONDS:
                await asyncio.sleep(0)
                began = clock()
            inbox = asked.record.partition
            try:
                if inbox not in first:
                    place = self._log.next_place(INBOX.name, inbox)
                    at = next(iter(first.values()), place).recorded_at
                    first[inbox] = replace(place, recorded_at=at)
                one = self._decide(asked, first[inbox], behind[inbox], last.get(asked.held.owner))
            except Exception as error:  # noqa: BLE001 - the boundary of a step: its caller meets it, and no other
                self._release(asked)
                asked.refuse(error)
                continue
            if one is None:
                self._give_back(asked)
                continue
            made.append(one)
            behind[inbox] += 1
            last[asked.held.owner] = one
        return made, first

    def _decide(self, asked: _Asked, first: Appended, before: int, last: _Made | None) -> _Made | None:
        """Decide a command whose record will be `before` records after `first`; None if it must be delivered.

        `last` is the previous decision on the same user in the same transaction.
        """
        held, item, turn, inbox = asked.held, asked.item, asked.turn, first.position.partition
        if self._is_stopped or turn.hold.is_wanted or not self._remember.has_handled(inbox, first.position.offset):
            return None  # what comes before it may be of this user, or a tick that all users meet
        item_id = item.envelope.event_id
        place = ItemPosition(inbox, first.position.offset + before, first.recorded_at)
        try:
            if isinstance(item, CandidatesExtracted) and (last or turn.unfolded):
                return None  # it is compared with vectors, which are known of what is folded
            state = last.after if last else turn.state or held.state
            if is_decided(state, item_id) or item_id == state.last_item or not asked.holds():
                return None
            with telemetry.following("decide", {"mnemolog.item": type(item).__name__}, asked.record.headers) as span:
                decision = self._remember.decision(held, item, place, state, {})  # no command looks at them
                span.note({"mnemolog.outcome": outcome_of(decision)})
            if not decision.last_part:
                return None
            value = codec.encode_cached(decision)
            after = state_after(state, decision, value, {})
            record = decision_record(held, decision, value, span.traceparent)
        except (Undecidable, Unfit, NotHeld, ShardDamaged, ShardUnavailable):
            return None  # the agent meets it again, and does what is to be done then
        return _Made(asked, decision, record, span.traceparent, after)

    def _note(self, written: Sequence[_Written]) -> None:
        """Note the commands and decisions that the log has, and fold them."""
        by_place: defaultdict[tuple[str, int], list[_Written]] = defaultdict(list)
        for one in written:
            place, turn = one.command.position, one.made.asked.turn
            if self._remember.has_handled(place.partition, place.offset):  # else deliveries have begun anew meanwhile
                self._remember.handled(place.partition, place.offset)
            turn.unfolded += 1
            turn.state = one.made.after
            by_place[one.decision.position.topic, one.decision.position.partition].append(one)
        for (topic, partition), some in by_place.items():
            if not self._fold_known(some):
                # Each by itself, for a shard that cannot be written holds up no other; and while the next commands are
                # on their way to the disk.
                self._start(self._fold(topic, partition, some))
        for one in written:
            self._counted("remember", outcome_of(one.made.decision))
            telemetry.made(memories_made(one.made.decision), one.made.traceparent)

    def _fold_known(self, written: Sequence[_Written]) -> bool:
        """Fold decisions of one partition as they are known here, and answer the callers; return whether it was done.

        Nearly always it can be: they are what comes next, and nobody else is folding. So nothing is read again.
        """
        decisions = [as_read(one.made.record, one.decision) for one in written]
        inbox = [as_read(one.made.asked.record, one.command) for one in _with_answers(written)]
        is_folded = True
        try:
            with _span_of_fold(written):
                for records in filter(None, (inbox, decisions)):
                    if not self._shards.fold_known(records):
                        return False
        except (NotHeld, ShardDamaged, ShardUnavailable):
            return False  # whoever folds them otherwise meets it again
        except Exception as error:  # noqa: BLE001 - the callers of other partitions are still to be answered
            self._is_stopped, is_folded = True, False  # as in `_fold`
            self._failed(error)
        if is_folded and self._index_sync.is_behind:
            return False
        self._end(written, is_folded=is_folded)
        return True

    async def _fold(self, topic: str, partition: int, written: Sequence[_Written]) -> None:
        """Fold decisions that a partition of the log has, and answer the callers."""
        is_folded = False
        timer = asyncio.get_running_loop().call_later(
            self._fold_seconds, partial(self._answer, written, is_folded=False)
        )
        try:
            with _span_of_fold(written):
                if answers := _with_answers(written):
                    place = answers[-1].command.position
                    await catch_up(self._shards, INBOX.name, place.partition, place.offset + 1)
                await catch_up(self._shards, topic, partition, written[-1].decision.position.offset + 1)
                await self._index_sync.try_flush()
            is_folded = True
        except (NotHeld, ShardDamaged):
            pass  # whoever has the partition next folds it
        except Exception:
            self._is_stopped = True  # before the turn is given back: the next decision would not know of this one
            raise
        finally:
            timer.cancel()
            self._end(written, is_folded=is_folded)

    @staticmethod
    def _answer(written: Sequence[_Written], *, is_folded: bool) -> None:
        for one in written:
            one.made.asked.say(Decided(one.command, one.made.decision, is_folded))

    def _end(self, written: Sequence[_Written], *, is_folded: bool) -> None:
        """Answer the callers who have no answer yet, give their turns back, and tell who waits for the decisions."""
        self._answer(written, is_folded=is_folded)
        for one in written:
            asked = one.made.asked
            self._folded(asked.turn)
            self._release(asked)
            if is_folded or not isinstance(asked.item, EXTRACTIONS):
                with suppress(NotHeld, ShardDamaged, ShardUnavailable):  # it looks at the state after an answer
                    self._remember.ended(asked.held, asked.item)

    @staticmethod
    def _folded(turn: _Turn) -> None:
        turn.unfolded -= 1
        if not turn.unfolded:
            turn.state = None

    def _give_back(self, asked: _Asked) -> None:
        """Leave a command to be delivered."""
        self._release(asked)
        asked.say(None)

    def _release(self, asked: _Asked) -> None:
        """Give a user's turn back when this was the last command of it."""
        asked.turn.commands -= 1
        if not asked.turn.commands:
            del self._turns[asked.held.owner]
            asked.turn.hold.release()

    async def _come_to_end(self, asked: _Asked) -> None:
        """Fold what the log has of a user of whom it is not known whether something was appended.

        Until then nothing is decided about the user: the next decision would not know of this one.
        """
        with suppress(LogError, NotHeld, ShardDamaged):
            come_to_end = partial(self._shards.come_to_end, asked.held.owner)
            await fold_with_retry(lambda: retry(come_to_end, LogUnavailable))
        self._release(asked)


def _with_answers(written: Sequence[_Written]) -> Sequence[_Written]:
    """Return those up to the last that decided on a model's answer: the inbox is folded as far before the decisions.

    Who is told of such a decision looks first for the answer that it is about.
    """
    is_answer = [isinstance(one.made.asked.item, EXTRACTIONS) for one in written]
    return written[: len(written) - is_answer[::-1].index(True)] if any(is_answer) else ()


def _span_of_fold(written: Sequence[_Written]) -> AbstractContextManager[telemetry.Span]:
    """Return the span of folding decisions, in the trace of the last one."""
    return telemetry.following("fold", {"mnemolog.decisions": len(written)}, written[-1].made.record.headers)
