"""remember: checks each inbox item, decides on it with the user's state, appends the decision, and folds it."""

from __future__ import annotations

import asyncio
from collections import ChainMap, deque
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, cast

from projections.embedding.stored_vector import NoVector, vector_of
from projections.partitions.assignment import HistoryDamaged, NotHeld
from projections.shard.errors import ShardDamaged, ShardUnavailable
from projections.shard.rows.damage import PARTITION
from projections.state.evolve import ERASE, Unfit, events_of, evolve, is_cut_off, is_decided, is_passed, link_of
from schemas import codec, telemetry
from schemas.disclosure import describe
from schemas.identity import InvalidOwner, Owner, partition_owner
from schemas.log import LogUnavailable, NewRecord, RecordTooLarge
from schemas.messages.dead_letters import TOO_LARGE
from schemas.messages.erasure import EraseMemory, EraseUser, UserErased
from schemas.messages.events import MemoryFormed, MemoryImported, MemoryRevised
from schemas.messages.inbox import (
    EXTRACTIONS,
    INBOX_ITEMS,
    CandidatesExtracted,
    ImportMemory,
    RememberFact,
    ReviseMemory,
    Tick,
)
from schemas.messages.wakes import ConfigureWake, ScheduleReminder
from schemas.topics import INBOX
from streams.agents.tick_application import TickApplication, place_of
from streams.decisions.decide import decide
from streams.decisions.duplicates import matching
from streams.decisions.erasure import is_erased
from streams.delivery.dead_letter import put_aside
from streams.delivery.priority import LONGEST_TURN_SECONDS
from streams.delivery.retry import append_with_retry, catch_up, retry

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from datetime import datetime

    from projections.index.sync import IndexSync
    from projections.partitions.held import Held
    from projections.partitions.shards import Shards
    from projections.state.memory import UserState
    from schemas.log import Log, Record
    from schemas.messages.decision import Decision
    from schemas.messages.inbox import InboxItem, UserItem
    from streams.decisions.draft import ItemPosition
    from streams.decisions.parameters import Parameters
    from streams.delivery.delivery import Delivery
    from streams.delivery.keyed_pool import KeyedPool


MOST_TOGETHER: Final = 64
BYTES_TOGETHER: Final = 256 * 1024
"""The limits of decisions of one user appended together: their number, and the bytes of events that end a batch."""
MADE: Final = frozenset({"formed", "revised", "superseded"})
"""Actions that create a memory or change its words, so that no search has found it yet."""
ERASURES: Final = (EraseMemory, EraseUser)
"""What is decided by itself: after an erasure nothing that stood in memory before it may be gone by."""


async def keep_all(_partition: int, _before: datetime) -> int:
    """Remove no observations."""
    return 0


async def keep_keys(_key_ids: Sequence[bytes]) -> None:
    """Destroy no keys: there are none."""


@dataclass(frozen=True, slots=True)
class _Queued:
    """An inbox item that waits for its decision."""

    delivery: Delivery
    held: Held
    item: UserItem


@dataclass(frozen=True, slots=True)
class _Decided:
    """A decision, and the span that made it."""

    decision: Decision
    value: bytes
    """The encoded decision, as it is appended."""
    traceparent: str | None


class Undecidable(Exception):
    """No decision about the item can be made; the message says why."""


class Remember:
    """Decides on the inbox: in order for each user, users concurrently, a tick alone."""

    def __init__(  # noqa: PLR0913 - built once, at the composition root, all by name
        self,
        *,
        log: Log,
        shards: Shards,
        index_sync: IndexSync,
        pool: KeyedPool,
        parameters: Parameters,
        counted: Callable[[str, str], None] = lambda _step, _outcome: None,
        ticked: Callable[[str, str], None] = lambda _policy, _outcome: None,
        remove: Callable[[int, datetime], Awaitable[int]] = keep_all,
        destroy: Callable[[Sequence[bytes]], Awaitable[None]] = keep_keys,
        resume: Callable[[Owner], None] = lambda _: None,
        erased: Callable[[Owner], None] = lambda _: None,
        is_only_writer: bool = False,
    ) -> None:
        """Take `remove`, which removes a partition's observations logged before an instant and returns how many.

        `destroy` destroys the data keys of a user who was erased; again, where the item is delivered again. `resume`
        is told of a user of whom something may have outlived an erasure, and is not extracted; `erased` of each user of
        whom an erasure is decided.
        `is_only_writer`: no other process decides for these users. Then decisions are appended together; else another
        worker's might take the place of the first, and those behind it would count on a state that they did not see.
        """
        self._most = MOST_TOGETHER if is_only_writer else 1
        self._log = log
        self._shards = shards
        self._index_sync = index_sync
        self._pool = pool
        self._parameters = parameters
        self._counted = counted
        self._destroy = destroy
        self._resume = resume
        self._erased = erased
        self._progress = asyncio.Event()
        self._handled_to: dict[int, int] = {}
        """For each inbox, the offset before which everything has been handled here, and nothing is delivered again."""
        self._waiters: dict[tuple[Owner, str], list[asyncio.Future[None]]] = {}
        self._listeners: dict[Owner, list[asyncio.Event]] = {}
        self._tick_application = TickApplication(
            shards=shards,
            parameters=parameters,
            append=self._append_ticks,
            give_up=self._give_up,
            counted=counted,
            ticked=ticked,
            remove=remove,
        )

    async def handle(self, delivery: Delivery) -> None:
        """Handle one record; return when the next may be delivered."""
        position = delivery.record.position
        if await self._handle(delivery) and delivery.is_current():
            self.handled(position.partition, position.offset)

    def handled(self, partition: int, offset: int) -> None:
        """Take in that the record at an offset of an inbox waits for its user's turn, or is done with."""
        self._handled_to[partition] = offset + 1
        self._progress.set()

    def has_handled(self, partition: int, end: int) -> bool:
        """Return whether every record of an inbox before an offset waits for its user's turn, or is done with."""
        return self._handled_to.get(partition) == end

    async def until_handled(self, partition: int, end: int) -> None:
        """Wait until `has_handled`; not where nothing of the inbox was delivered yet, for nothing may be."""
        while self._handled_to.get(partition, end) < end:
            self._progress.clear()
            await self._progress.wait()

    async def _handle(self, delivery: Delivery) -> bool:
        """Handle one record; return whether it was: else it is delivered again."""
        record, partition = delivery.record, delivery.record.position.partition
        try:
            owner, item = _item_of_record(record, self._shards.partitions)
        except codec.UnknownSchema:
            raise
        except (codec.Undecodable, InvalidOwner) as error:
            await put_aside(self._log, record, "decode", str(error))
            self._counted("remember", "dead")
            delivery.ack()
            return True
        held = self._shards.resolve(owner)
        if held.partition != partition:
            copy = NewRecord(topic=record.position.topic, partition=held.partition, key=owner.key, value=record.value)
            try:
                await append_with_retry(self._log, [copy])
                self._counted("remember", "moved")
            except RecordTooLarge as error:  # it came compressed, and is larger now
                await put_aside(self._log, record, TOO_LARGE, str(error))
                self._counted("remember", "dead")
            delivery.ack()
            return True
        await self._shards.assignment.wait_until_ready(partition)
        if isinstance(item, Tick):
            await self._pool.settle(partition)
        if not held.lease.is_current(delivery):
            return False  # the items before it were dropped with the lease, and it must not be decided before them
        if isinstance(item, Tick):
            await self._pool.submit(partition, owner, lambda: self._apply(delivery, item))
            await self._pool.settle(partition)
        else:
            await self._pool.share(partition, owner, self._remember, _Queued(delivery, held, item))
        return True

    def revoke(self, partition: int) -> None:
        """Drop the jobs of a revoked partition."""
        self._handled_to.pop(partition, None)
        self._pool.drop(partition)

    async def decided(self, owner: Owner, item_id: str) -> None:
        """Wait until an item is decided and folded here."""
        held = self._shards.resolve(owner)
        if held.damage is None:
            await held.load()
        while not is_decided(held.folded_state, item_id):
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            waiting = self._waiters.setdefault((owner, item_id), [])
            waiting.append(waiter)
            try:
                await waiter
            finally:
                waiting.remove(waiter)
                if not waiting:
                    self._waiters.pop((owner, item_id), None)

    @contextmanager
    def settled(self, owners: Collection[Owner]) -> Iterator[asyncio.Event]:
        """Set an event, while the block lasts, each time that an item of one of the users needs nothing more here."""
        event = asyncio.Event()
        for owner in owners:
            self._listeners.setdefault(owner, []).append(event)
        try:
            yield event
        finally:
            for owner in owners:
                self._listeners[owner].remove(event)
                if not self._listeners[owner]:
                    del self._listeners[owner]

    async def _remember(self, items: Sequence[_Queued]) -> None:
        """Decide on items of one user until the fold has counted a decision on each: another worker's may come first.

        Those of several items are appended and folded together, where nobody can come between.
        """
        held = items[0].held
        left = await self._decidable(held, items)
        state = held.folded_state
        repeated = sum(is_decided(state, one.item.envelope.event_id) for one in items)
        for _ in range(repeated):
            self._counted("remember", "repeated")
        most = self._most
        while left:
            first = left[0]
            if isinstance(first.item, CandidatesExtracted):
                await self.read_texts(held)
            state = held.folded_state
            if is_decided(state, first.item.envelope.event_id):
                await self._settle(left.popleft())
                continue
            if is_cut_off(state, INBOX.name, first.delivery.record.position.offset):
                self._counted("remember", "erased")
                await self._settle(left.popleft())
                continue
            try:
                made = await self._decide(held, left, most)
            except Undecidable as error:
                await self._give_up(first.delivery.record, str(error))
                await self._settle(left.popleft())
                continue
            try:
                await self._append(held, made)
            except RecordTooLarge as error:
                if len(made) > 1:
                    most = 1  # only the item whose record it is must fail
                else:
                    await self._give_up(first.delivery.record, str(error))
                    await self._settle(left.popleft())
                continue
            for one in made:
                self._counted("remember", outcome_of(one.decision))
                telemetry.made(memories_made(one.decision), one.traceparent)

    async def _decidable(self, held: Held, items: Iterable[_Queued]) -> deque[_Queued]:
        """Return the items that can be decided: all, or on a damaged history only erasures, and the rest is put aside.

        Raises HistoryDamaged where all users of the partition are concerned: everything waits for the log to be whole.
        """
        if (damage := held.damage) is None:
            await held.load()
            return deque(items)
        if damage.user == PARTITION:
            raise HistoryDamaged(damage)
        erasures = deque[_Queued]()
        for one in items:
            if isinstance(one.item, EraseUser):
                erasures.append(one)
            else:
                await self._give_up(one.delivery.record, str(damage))
                await self._settle(one)
        return erasures

    async def read_texts(self, held: Held) -> None:
        """Read the texts of a user's memories that a decision looks at: of a large user's it takes half a second."""
        while matching.read_on(held.folded_state):  # noqa: ASYNC110 - others have their turn, nothing is awaited
            await asyncio.sleep(0)

    async def _settle(self, one: _Queued) -> None:
        """Acknowledge an item that needs no further decision."""
        if isinstance(one.item, EraseUser):
            await self._destroy_keys(one.held, one.item.envelope.event_id)
        one.delivery.ack()
        self.ended(one.held, one.item)

    def ended(self, held: Held, item: UserItem) -> None:
        """Tell those who wait for it that an item needs nothing more here; an erasure may have made its answer void."""
        owner = held.owner
        self._notify(owner, item.envelope.event_id)
        if isinstance(item, ERASURES):
            self._erased(owner)
        if isinstance(item, ERASURES) or (isinstance(item, EXTRACTIONS) and is_erased(held.folded_state, item)):
            self._resume(owner)

    async def _decide(self, held: Held, items: Iterable[_Queued], most: int) -> list[_Decided]:
        """Return decisions to append together, at least one: each is made of the state that the one before leaves.

        Raises Undecidable where the first item is.
        """
        state = held.folded_state
        decisions: list[_Decided] = []
        vectors: dict[str, bytes] = {}
        size, clock = 0, asyncio.get_running_loop().time
        began = clock()
        for one in items:
            if decisions and (len(decisions) >= most or size > BYTES_TOGETHER or isinstance(one.item, ERASURES)):
                break
            if decisions and clock() - began > LONGEST_TURN_SECONDS:
                await asyncio.sleep(0)
                began = clock()
            if is_decided(state, one.item.envelope.event_id):
                continue
            try:
                with _span_of(one) as span:
                    last = self.decision(held, one.item, place_of(one.delivery.record), state, vectors)
                    span.note({"mnemolog.outcome": outcome_of(last)})
                value = codec.encode_cached(last)
                after = state_after(state, last, value, vectors)
            except (Undecidable, Unfit) as error:
                if decisions:
                    break  # its turn as the first comes
                raise Undecidable(str(error)) from error
            state = after
            decisions.append(_Decided(last, value, span.traceparent))
            size += sum(map(len, last.events))
            if isinstance(one.item, ERASURES) or not last.last_part:
                break
        return decisions

    def decision(
        self, held: Held, item: UserItem, place: ItemPosition, state: UserState, formed: dict[str, bytes]
    ) -> Decision:
        """Return the decision on an item. `formed` are vectors not folded yet. Raises Undecidable."""
        if is_passed(state, item.envelope.event_id, place.offset):
            raise Undecidable(f"the inbox item at {place.offset} came after {state.last_offset} was decided")
        try:
            folded = held.shard.ledger.vectors(held.owner)
            vectors = ChainMap(formed, cast("dict[str, bytes]", folded)) if formed else folded
            return decide(state, item, place, vectors, self._parameters)
        except (ShardDamaged, ShardUnavailable, NotHeld):
            raise  # the item is decided once the shard is whole
        except Exception as error:
            raise Undecidable(describe(error)) from error

    async def _destroy_keys(self, held: Held, item_id: str) -> None:
        """Destroy the keys that an erasure names: only now, for its decision is durable.

        An item that was appended twice is decided once. The keys of the other one may be those of what was accepted
        since.
        """
        decisions = held.shard.ledger.decided(held.owner, item_id)
        events = (event for decision in decisions for event in events_of(decision))
        for event in events:
            if isinstance(event, UserErased):
                await retry(partial(self._destroy, event.key_ids), LogUnavailable)

    async def _apply(self, delivery: Delivery, tick: Tick) -> None:
        await self._tick_application.apply(delivery.record, tick)
        delivery.ack()
        self._notify(partition_owner(delivery.record.position.partition), tick.envelope.event_id)

    async def _append_ticks(self, held: Held, decisions: Sequence[Decision]) -> None:
        await self._append(held, [_Decided(one, codec.encode_cached(one), None) for one in decisions])

    async def _append(self, held: Held, decisions: Sequence[_Decided]) -> None:
        """Append decisions, then fold and index them. State is never updated before the log has acknowledged.

        What is folded together is told of in the trace of the last one.
        """
        records = [decision_record(held, one.decision, one.value, one.traceparent) for one in decisions]
        appended = await append_with_retry(self._log, records)
        with telemetry.following("fold", {"mnemolog.decisions": len(records)}, records[-1].headers):
            await catch_up(self._shards, *held.ledger_place, appended[-1].position.offset + 1)
            await self._index_sync.try_flush()

    async def _give_up(self, record: Record, detail: str) -> None:
        await put_aside(self._log, record, "failed", detail)
        self._counted("remember", "dead")

    def _notify(self, owner: Owner, item_id: str) -> None:
        for listener in self._listeners.get(owner, ()):
            listener.set()
        for waiter in self._waiters.get((owner, item_id), ()):
            if not waiter.done():
                waiter.set_result(None)


def decision_record(held: Held, decision: Decision, value: bytes, traceparent: str | None) -> NewRecord:
    """Return the record of a decision and its encoding, in the trace of the span that made it."""
    topic, partition = held.ledger_place
    return NewRecord(
        topic=topic,
        partition=partition,
        key=held.owner.key,
        value=value,
        outlives_user=decision.item_type == ERASE,
        headers=telemetry.headers_of(traceparent),
    )


def state_after(state: UserState, decision: Decision, value: bytes, vectors: dict[str, bytes]) -> UserState:
    """Return the state that a decision, encoded as `value`, leaves; add the vectors that it brings. Raises Unfit."""
    events = events_of(decision)
    for event in events:
        if isinstance(event, (MemoryFormed, MemoryImported, MemoryRevised)) and event.vector is not None:
            vectors[event.memory_id] = event.vector.data
    return evolve(state, decision, events, link_of(decision, value))


def _span_of(one: _Queued) -> AbstractContextManager[telemetry.Span]:
    """Return the span of the decision on an item, in the trace that came with it."""
    return telemetry.following("decide", {"mnemolog.item": type(one.item).__name__}, one.delivery.record.headers)


def memories_made(decision: Decision) -> list[str]:
    """Return the memories that a decision created, or whose words it changed."""
    return [one.memory_id for one in decision.outcomes if one.memory_id is not None and one.action in MADE]


def outcome_of(decision: Decision) -> str:
    """Return the outcome under which a decision is counted."""
    return decision.outcomes[0].action if decision.outcomes else "nothing"


def _item_of_record(record: Record, partitions: int) -> tuple[Owner, InboxItem]:
    """Return a record's owner and item. Raises Undecodable (UnknownSchema among it) and InvalidOwner."""
    item = codec.decode_as(record.value, *INBOX_ITEMS)
    owner = Owner.of_key(record.key or b"")
    _check_owner(owner, item, partitions)
    _check_vectors(item)
    return owner, item


def _check_owner(owner: Owner, item: InboxItem, partitions: int) -> None:
    """Check that the key names the item's owner: a partition for a tick, a user otherwise. Raises InvalidOwner."""
    if owner != item.envelope.owner:
        raise InvalidOwner(f"the key is {owner.key.decode()!r}, the body says {item.envelope.owner}")
    if isinstance(item, Tick) != owner.is_partition:
        raise InvalidOwner(f"{owner.key.decode()!r} cannot have a {type(item).__name__}")
    if owner.is_partition and owner not in map(partition_owner, range(partitions)):
        raise InvalidOwner(f"there is no partition {owner.user_id!r}")


def _check_vectors(item: InboxItem) -> None:
    """Check that vectors are of finite numbers: the index could not hold others. Raises Undecodable."""
    match item:
        case CandidatesExtracted():
            vectors = [candidate.vector for candidate in item.candidates]
        case RememberFact() | ReviseMemory() | ImportMemory() | ScheduleReminder() | ConfigureWake():
            vectors = [item.vector] if item.vector else []
        case _:
            return
    for vector in vectors:
        try:
            vector_of(vector.data)
        except NoVector as error:
            raise codec.Undecodable(str(error)) from error
