"""A tick's application: it is decided on for every user whom it concerns, and closed by its partition's decision."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Final, assert_never

from projections.state.evolve import is_decided, is_passed
from projections.turns import aside
from schemas.identity import GLOBAL_USER, Owner, partition_owner
from schemas.log import RecordTooLarge
from schemas.messages.inbox import DecayDue, RetentionDue
from schemas.messages.wakes import WakeDue
from schemas.vocabulary.words import CLOCK
from streams.decisions.decay import touched_by
from streams.decisions.decay_policies.registry import POLICIES
from streams.decisions.decide import close_tick, decide_tick, policy_of
from streams.decisions.draft import ItemPosition
from streams.decisions.wakes import shows_memories

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence
    from datetime import datetime

    from projections.partitions.held import Held
    from projections.partitions.shards import Shards
    from projections.state.memory import UserState
    from schemas.log import Record
    from schemas.messages.decision import Decision
    from schemas.messages.inbox import Tick
    from streams.decisions.parameters import Parameters

USERS_AT_ONCE: Final = 64
"""The number of users for whom a tick is decided concurrently; their appends share an fsync."""


class TickApplication:
    """Applies ticks, each alone: nothing else of its partition is decided meanwhile."""

    def __init__(
        self,
        *,
        shards: Shards,
        parameters: Parameters,
        append: Callable[[Held, Sequence[Decision]], Awaitable[None]],
        give_up: Callable[[Record, str], Awaitable[None]],
        counted: Callable[[str, str], None],
        ticked: Callable[[str, str], None],
        remove: Callable[[int, datetime], Awaitable[int]],
    ) -> None:
        """Take `append`, which returns when decisions are folded, and `give_up`, which makes an item a dead letter."""
        self._shards = shards
        self._parameters = parameters
        self._append = append
        self._give_up = give_up
        self._counted = counted
        self._ticked = ticked
        self._remove = remove

    async def apply(self, record: Record, tick: Tick) -> None:
        """Apply the tick to every user of the partition, then close it by a decision of the partition itself."""
        partition = record.position.partition
        closer = self._shards.resolve(partition_owner(partition))
        tick_id, place = tick.envelope.event_id, place_of(record)
        while not is_decided(closer.state, tick_id):
            decayed, expired = await self._apply_to_users(record, tick)
            state = closer.state
            if is_decided(state, tick_id):
                break  # another worker has closed it meanwhile
            if is_passed(state, tick_id, place.offset):
                self._ticked(policy_of(tick), "passed")
                await self._give_up(record, "a later tick was closed before it")
                break
            await self._append(
                closer, [close_tick(state, tick, place, decayed, expired, raised=self._raised(partition, tick_id))]
            )
            self._counted("remember", "tick")
            if isinstance(tick, DecayDue) and tick.policy not in (*POLICIES, CLOCK):
                self._ticked("unknown", "nothing")
            else:
                self._ticked(policy_of(tick), "applied")

    async def _apply_to_users(self, record: Record, tick: Tick) -> tuple[int, int]:
        """Apply a tick to all users whom it concerns; return `decayed` and `expired` as in TickApplied."""
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
        users = self._users(record.position.partition)
        for begin in range(0, len(users), USERS_AT_ONCE):
            some = users[begin : begin + USERS_AT_ONCE]
            for state in await asyncio.gather(*(self._meet(held, tick, record) for held in some)):
                faded, over = touched_by(state, tick.envelope.event_id)
                decayed += faded
                expired += over
        return decayed, expired

    async def _raise_wakes(self, record: Record, tick: WakeDue) -> None:
        due = self._whole(self._shards.at(record.position.partition).ledger.wakes.due(tick.as_of))
        for begin in range(0, len(due), USERS_AT_ONCE):
            some = due[begin : begin + USERS_AT_ONCE]
            await asyncio.gather(*(self._meet(held, tick, record) for held in some))

    async def _keep_intimacies(self, record: Record, tick: RetentionDue) -> None:
        after = None
        while tick.before:
            # Looked up each time: a rebuild may have switched to another shard meanwhile.
            statistics = self._shards.at(record.position.partition).turn_statistics
            if not (owners := statistics.owners_with_intimacy(after, USERS_AT_ONCE)):
                return
            await asyncio.gather(*(self._meet(held, tick, record) for held in self._whole(owners)))
            await asyncio.sleep(0)
            after = owners[-1]

    def _raised(self, partition: int, tick_id: str) -> int:
        return self._shards.at(partition).ledger.wakes.raised_by(tick_id)

    async def _meet(self, held: Held, tick: Tick, record: Record) -> UserState:
        """Decide a tick for one user, part by part; return the user's state after it."""
        tick_id, place = tick.envelope.event_id, place_of(record)
        await held.load()
        while True:
            state = held.state
            if is_decided(state, tick_id) or is_passed(state, tick_id, place.offset):
                return state
            decision = await self._decide(held, state, tick, place)
            if decision is None:
                return state
            try:
                await self._append(held, [decision])
            except RecordTooLarge as error:  # the partition's other users still meet the tick
                await self._give_up(record, f"{held.owner.key.decode()!r} does not meet the tick: {error}")
                return state

    async def _decide(self, held: Held, state: UserState, tick: Tick, place: ItemPosition) -> Decision | None:
        match tick:
            case DecayDue():
                return await aside(len(state.memories), decide_tick, state, tick, place, self._parameters)
            case RetentionDue():
                last_intimacies = held.shard.turn_statistics.last_intimacies(held.owner)
                return decide_tick(state, tick, place, self._parameters, last_intimacies=last_intimacies)
            case WakeDue():
                return await self._decide_wakes(state, tick, place)
            case _:
                assert_never(tick)

    async def _decide_wakes(self, state: UserState, tick: WakeDue, place: ItemPosition) -> Decision | None:
        """Decide on a user's wakes, in a thread where they choose from many memories."""
        shared = self._shards.resolve(Owner(state.owner.tenant, GLOBAL_USER))
        if shared.damage is not None:
            return None
        everyone = shared.state
        deciding = partial(decide_tick, state, tick, place, self._parameters, everyone=everyone)
        if not shows_memories(state, self._parameters.wake_memory_limit):
            return deciding()
        both = (state.owner, everyone.owner)
        vectors = {i: v for owner in both for i, v in self._shards.of(owner).ledger.vectors(owner).all().items()}
        return await aside(len(vectors), deciding, vectors=lambda: vectors)

    def _users(self, partition: int) -> list[Held]:
        """Return the users whose items come through the partition's inbox."""
        users = self._shards.at(partition).ledger.owners()
        global_owners = [o for o in self._shards.globals.ledger.owners() if self._shards.partition(o) == partition]
        return self._whole([*users, *global_owners])

    def _whole(self, owners: Iterable[Owner]) -> list[Held]:
        """Return those whose history is whole: nothing is decided on the others."""
        return [held for held in map(self._shards.resolve, owners) if held.damage is None]


def place_of(record: Record) -> ItemPosition:
    """Return the position of an item in the inbox."""
    return ItemPosition(record.position.partition, record.position.offset, record.recorded_at)
