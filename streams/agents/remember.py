"""remember: decides on each inbox item with the user's state, appends the decision, and folds it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, assert_never

from projections.shard.errors import ShardDamaged, ShardUnavailable
from projections.state.evolve import ERASE, events_of, is_cut_off, is_decided, is_passed
from schemas import codec
from schemas.disclosure import describe
from schemas.identity import GLOBAL_USER, InvalidOwner, Owner, partition_owner
from schemas.log import LogUnavailable, NewRecord, RecordTooLarge
from schemas.messages.dead_letters import TOO_LARGE
from schemas.messages.erasure import EraseMemory, EraseUser, UserErased
from schemas.messages.inbox import CandidatesExtracted, DecayDue, ExtractionRejected, RetentionDue, Tick
from schemas.messages.wakes import WakeDue
from schemas.topics import INBOX
from streams.agents.inbox import item_of_record
from streams.decisions.decay import touched_by
from streams.decisions.decay_policies.registry import POLICIES
from streams.decisions.decide import close_tick, decide, decide_tick, policy_of
from streams.decisions.draft import ItemPosition
from streams.decisions.erasure import is_erased
from streams.decisions.wakes import shows_memories
from streams.delivery.dead_letter import put_aside
from streams.delivery.retry import append_with_retry, catch_up, retry

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from datetime import datetime

    from projections.index.sync import IndexSync
    from projections.partitions.shards import Shards
    from projections.state.memory import UserState
    from schemas.log import Log, Record
    from schemas.messages.decision import Decision
    from schemas.messages.inbox import UserItem
    from streams.decisions.parameters import Parameters
    from streams.delivery.delivery import Delivery
    from streams.delivery.keyed_pool import KeyedPool


USERS_AT_ONCE: Final = 64
"""Users on whom a tick is decided concurrently; their appends share an fsync."""
MANY_MEMORIES: Final = 1_000
"""Choosing from so many memories runs in a thread, so that it does not block the event loop."""


async def keep_all(_partition: int, _before: datetime) -> int:
    """Remove no observations."""
    return 0


async def keep_keys(_key_ids: Sequence[bytes]) -> None:
    """Destroy no keys: there are none."""


class Remember:
    """Decides on the inbox: one item at a time for each user, users concurrently, a tick alone."""

    def __init__(
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
    ) -> None:
        """Take `remove`, which removes a partition's observations logged before an instant and returns how many.

        `destroy` destroys the data keys of a user who was erased; again, where the item is delivered again. `resume`
        is told of a user of whom something may have outlived an erasure, and is not extracted.
        """
        self._log = log
        self._shards = shards
        self._index_sync = index_sync
        self._pool = pool
        self._parameters = parameters
        self._counted = counted
        self._ticked = ticked
        self._remove = remove
        self._destroy = destroy
        self._resume = resume
        self._waiters: dict[tuple[Owner, str], list[asyncio.Future[None]]] = {}

    async def handle(self, delivery: Delivery) -> None:
        """Handle one record; return when the next may be delivered."""
        record, partition = delivery.record, delivery.record.position.partition
        try:
            owner, item = item_of_record(record, self._shards.partitions)
        except codec.UnknownSchema:
            raise
        except (codec.Undecodable, InvalidOwner) as error:
            await put_aside(self._log, record, "decode", str(error))
            self._counted("remember", "dead")
            delivery.ack()
            return
        owners_partition = self._shards.partition(owner)
        if owners_partition != partition:
            copy = NewRecord(topic=record.position.topic, partition=owners_partition, key=owner.key, value=record.value)
            try:
                await append_with_retry(self._log, [copy])
                self._counted("remember", "moved")
            except RecordTooLarge as error:  # it came compressed, and is larger now
                await put_aside(self._log, record, TOO_LARGE, str(error))
                self._counted("remember", "dead")
            delivery.ack()
            return
        lease = self._shards.assignment.lease(partition)
        await self._shards.assignment.wait_until_ready(partition)
        if isinstance(item, Tick):
            await self._pool.settle(partition)
        if not lease.is_current(delivery):
            return  # the items before it were dropped with the lease, and it must not be decided before them
        if isinstance(item, Tick):
            await self._pool.submit(partition, owner, lambda: self._apply_tick(delivery, item))
            await self._pool.settle(partition)
        else:
            await self._pool.submit(partition, owner, lambda: self._remember(delivery, owner, item))

    def revoke(self, partition: int) -> None:
        """Drop the jobs of a revoked partition."""
        self._pool.drop(partition)

    async def decided(self, owner: Owner, item_id: str) -> None:
        """Wait until an item is decided and folded here."""
        while not is_decided(self._shards.state(owner), item_id):
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            waiting = self._waiters.setdefault((owner, item_id), [])
            waiting.append(waiter)
            try:
                await waiter
            finally:
                waiting.remove(waiter)
                if not waiting:
                    self._waiters.pop((owner, item_id), None)

    async def _remember(self, delivery: Delivery, owner: Owner, item: UserItem) -> None:
        """Decide until the fold has counted a decision: another worker's may have come first."""
        place = _place(delivery.record)
        if is_decided(self._shards.state(owner), item.envelope.event_id):
            self._counted("remember", "repeated")
        while not is_decided(state := self._shards.state(owner), item.envelope.event_id):
            if is_cut_off(state, INBOX.name, place.offset):
                self._counted("remember", "erased")
                break
            if is_passed(state, item.envelope.event_id, place.offset):
                detail = f"the inbox item at {place.offset} came after {state.last_offset} was decided"
                await self._give_up(delivery.record, detail)
                break
            try:
                vectors = self._shards.of(owner).ledger.vectors(owner)
                decision = decide(state, item, place, vectors, self._parameters)
            except (ShardDamaged, ShardUnavailable):
                raise  # the item is decided once the shard is whole
            except Exception as error:  # noqa: BLE001 - the boundary of a step: a rule with a bug stops no other item
                await self._give_up(delivery.record, describe(error))
                break
            try:
                await self._append(owner, decision)
            except RecordTooLarge as error:
                await self._give_up(delivery.record, str(error))
                break
            self._counted("remember", _outcome(decision))
        if isinstance(item, EraseUser):
            await self._destroy_keys(owner, item.envelope.event_id)
        delivery.ack()
        self._notify(owner, item.envelope.event_id)
        if isinstance(item, (EraseUser, EraseMemory)) or (
            isinstance(item, (CandidatesExtracted, ExtractionRejected)) and is_erased(self._shards.state(owner), item)
        ):
            self._resume(owner)

    async def _destroy_keys(self, owner: Owner, item_id: str) -> None:
        """Destroy the keys that an erasure names: only now, for its decision is durable.

        An item that was appended twice is decided once. The keys of the other one may be those of what was accepted
        since.
        """
        decisions = self._shards.of(owner).ledger.decided(owner, item_id)
        events = (event for decision in decisions for event in events_of(decision))
        for event in events:
            if isinstance(event, UserErased):
                await retry(partial(self._destroy, event.key_ids), LogUnavailable)

    async def _apply_tick(self, delivery: Delivery, tick: Tick) -> None:
        """Apply the tick to every user of the partition, then close it by a decision of the partition itself."""
        partition = delivery.record.position.partition
        closer, tick_id = partition_owner(partition), tick.envelope.event_id
        place = _place(delivery.record)
        while not is_decided(self._shards.state(closer), tick_id):
            decayed, expired = await self._apply(delivery.record, tick)
            state = self._shards.state(closer)
            if is_decided(state, tick_id):
                break  # another worker has closed it meanwhile
            if is_passed(state, tick_id, place.offset):
                self._ticked(policy_of(tick), "passed")
                await self._give_up(delivery.record, "a later tick was closed before it")
                break
            await self._append(
                closer, close_tick(state, tick, place, decayed, expired, raised=self._raised(partition, tick_id))
            )
            self._counted("remember", "tick")
            if isinstance(tick, DecayDue) and tick.policy not in POLICIES:
                self._ticked("unknown", "nothing")
            else:
                self._ticked(policy_of(tick), "applied")
        delivery.ack()
        self._notify(closer, tick_id)

    async def _apply(self, record: Record, tick: Tick) -> tuple[int, int]:
        """Apply a tick to all that it concerns; return `decayed` and `expired` as TickApplied has them."""
        match tick:
            case DecayDue():
                return await self._decay(record, tick)
            case RetentionDue():
                await self._keep_intimacies(record, tick)
                # Before the closing decision: if this is interrupted, the tick is applied again and finds them gone.
                return 0, await self._remove(record.position.partition, tick.before) if tick.before else 0
            case WakeDue():
                await self._raise_wakes(record, tick)
                return 0, 0
            case _:
                assert_never(tick)

    async def _decay(self, record: Record, tick: DecayDue) -> tuple[int, int]:
        decayed = expired = 0
        for owner in self._owners(record.position.partition):
            state = await self._meet_tick(owner, tick, record)
            faded, over = touched_by(state, tick.envelope.event_id)
            decayed += faded
            expired += over
        return decayed, expired

    async def _raise_wakes(self, record: Record, tick: WakeDue) -> None:
        due = self._shards.at(record.position.partition).ledger.wakes.due(tick.as_of)
        for begin in range(0, len(due), USERS_AT_ONCE):
            owners = due[begin : begin + USERS_AT_ONCE]
            await asyncio.gather(*(self._meet_tick(owner, tick, record) for owner in owners))

    async def _keep_intimacies(self, record: Record, tick: RetentionDue) -> None:
        after = None
        while tick.before:
            # Looked up each time: a rebuild may have switched to another shard meanwhile.
            statistics = self._shards.at(record.position.partition).turn_statistics
            if not (owners := statistics.owners_with_intimacy(after, USERS_AT_ONCE)):
                return
            await asyncio.gather(*(self._meet_tick(owner, tick, record) for owner in owners))
            await asyncio.sleep(0)
            after = owners[-1]

    def _raised(self, partition: int, tick_id: str) -> int:
        return self._shards.at(partition).ledger.wakes.raised_by(tick_id)

    async def _meet_tick(self, owner: Owner, tick: Tick, record: Record) -> UserState:
        """Decide a tick for one user, part by part; return the user's state after it."""
        tick_id, place = tick.envelope.event_id, _place(record)
        while True:
            state = self._shards.state(owner)
            if is_decided(state, tick_id) or is_passed(state, tick_id, place.offset):
                return state
            decision = await self._decide_tick(state, tick, place)
            if decision is None:
                return state
            try:
                await self._append(owner, decision)
            except RecordTooLarge as error:  # the partition's other users still meet the tick
                await self._give_up(record, f"{owner.key.decode()!r} does not meet the tick: {error}")
                return state

    async def _decide_tick(self, state: UserState, tick: Tick, place: ItemPosition) -> Decision | None:
        match tick:
            case DecayDue():
                return decide_tick(state, tick, place, self._parameters)
            case RetentionDue():
                last_intimacies = self._shards.of(state.owner).turn_statistics.last_intimacies(state.owner)
                return decide_tick(state, tick, place, self._parameters, last_intimacies=last_intimacies)
            case WakeDue():
                return await self._decide_wakes(state, tick, place)
            case _:
                assert_never(tick)

    async def _decide_wakes(self, state: UserState, tick: WakeDue, place: ItemPosition) -> Decision | None:
        """Decide on a user's wakes, in a thread where they choose from many memories."""
        everyone = self._shards.state(Owner(state.owner.tenant, GLOBAL_USER))
        deciding = partial(decide_tick, state, tick, place, self._parameters, everyone=everyone)
        if not shows_memories(state, self._parameters.wake_memory_limit):
            return deciding()
        both = (state.owner, everyone.owner)
        vectors = {i: v for owner in both for i, v in self._shards.of(owner).ledger.vectors(owner).all().items()}
        if len(vectors) < MANY_MEMORIES:
            return deciding(vectors=lambda: vectors)
        return await asyncio.to_thread(deciding, vectors=lambda: vectors)

    def _owners(self, partition: int) -> list[Owner]:
        """Return the users whose items come through the partition's inbox."""
        users = self._shards.at(partition).ledger.owners()
        global_owners = [o for o in self._shards.globals.ledger.owners() if self._shards.partition(o) == partition]
        return [*users, *global_owners]

    async def _append(self, owner: Owner, decision: Decision) -> None:
        """Append a decision, then fold and index it. State is never updated before the log has acknowledged."""
        topic, partition = self._shards.ledger_of(owner)
        record = NewRecord(topic=topic, partition=partition, key=owner.key, value=codec.encode_cached(decision))
        if decision.item_type == ERASE:
            record = replace(record, outlives_user=True)
        [appended] = await append_with_retry(self._log, [record])
        await catch_up(self._shards, topic, partition, appended.position.offset + 1)
        await self._index_sync.try_flush()

    async def _give_up(self, record: Record, detail: str) -> None:
        await put_aside(self._log, record, "failed", detail)
        self._counted("remember", "dead")

    def _notify(self, owner: Owner, item_id: str) -> None:
        for waiter in self._waiters.get((owner, item_id), ()):
            if not waiter.done():
                waiter.set_result(None)


def _place(record: Record) -> ItemPosition:
    return ItemPosition(record.position.partition, record.position.offset, record.recorded_at)


def _outcome(decision: Decision) -> str:
    return decision.outcomes[0].action if decision.outcomes else "nothing"
