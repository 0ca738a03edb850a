"""Workers with one mistake each, to show that the simulation finds it."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final, cast

from simulation.simulated_worker import Books, Parts
from simulation.uncommitted import NotedCommits

from mnemolog.clock.trusted_clock import TrustedClock
from projections.partitions.assignment import Assignment
from projections.partitions.generation import Generation
from projections.partitions.shards import Shards
from projections.partitions.takeover import Takeover
from projections.shard.ledger import Batch, LedgerFold, _gather_rows
from projections.shard.log_position import record_digest
from projections.shard.shard import Shard
from projections.state.evolve import events_of, evolve, link_of
from schemas import codec
from schemas.log import Appended, LogUnavailable
from schemas.messages.decision import Decision
from streams.agents.erasure_gate import ErasureGate
from streams.agents.immediate_decisions import ImmediateDecisions
from streams.agents.observe import Observe
from streams.agents.remember import Remember
from streams.agents.resumption import Resumption
from streams.sealing.replacements import Replacements
from streams.sealing.user_keys import LEASE_SECONDS, UserKeys

if TYPE_CHECKING:
    from collections.abc import Coroutine, Generator, Sequence
    from datetime import datetime
    from pathlib import Path
    from typing import Any

    from projections.partitions.assignment import Lease
    from projections.partitions.held import Held
    from projections.state.memory import UserState
    from schemas.identity import Owner
    from schemas.log import ExclusiveLog, Log, NewRecord, Record
    from schemas.messages.wakes import WakeDue
    from streams.agents.immediate_decisions import _Written
    from streams.agents.remember import _Decided
    from streams.decisions.draft import ItemPosition
    from streams.delivery.delivery import Delivery
    from streams.extraction.protocol import Piece


class _AcknowledgesAtOnce(Observe):
    async def handle(self, delivery: Delivery) -> None:
        delivery.ack()
        await super().handle(delivery)


class _ObservesOn(Observe):
    def revoke(self, partition: int) -> None:
        """Drop nothing."""


class _ResumesNothing(Resumption):
    async def run(self) -> None:
        """Extract nothing again."""


class _LeavesNothingOfAWindow(ErasureGate):
    def surviving(self, owner: Owner, pieces: Sequence[Piece]) -> list[Piece]:
        left = super().surviving(owner, pieces)
        return left if len(left) == len(pieces) else []


class _LeavesWhatOutlivesAnErasure(Observe):
    def __init__(self, **parts: Any) -> None:
        super().__init__(**parts)
        self.resumption.__class__ = _ResumesNothing
        self._extractions.gate.__class__ = _LeavesNothingOfAWindow


class _RemembersOn(Remember):
    def revoke(self, partition: int) -> None:
        """Drop nothing."""


class _LosesAReplacement(Replacements):
    async def put(self, owner: Owner, records: Sequence[Record]) -> None:
        await super().put(owner, records[:-1])


class _WaitsForTheLeaseAlone(UserKeys):
    @property
    def arrival_seconds(self) -> float:
        """Return how long a key may be used, and forget what was sealed with it and is on its way."""
        return LEASE_SECONDS


def _shards(**parts: type) -> type[Shards]:
    """Return shards of which some parts, by their names, have another class."""

    class Mutant(Shards):
        def __init__(self, folder: Path, log: Log, partitions: int) -> None:
            super().__init__(folder, log, partitions)
            for name, kind in parts.items():
                getattr(self, name).__class__ = kind

    return Mutant


class _KeepsWhatIsReleased(Assignment):
    def release(self, partition: int) -> None:
        """Go on answering and deciding."""


class _HoldsBeforeItFolds(Takeover):
    async def hold(self, partition: int, lease: Lease | None = None) -> None:  # noqa: ARG002 - it does not look
        shard = self._assignment.take(partition) or self._shards.generation.open(partition)
        self._assignment.hold(partition, shard)


class _AcknowledgesBeforeItAppends(Remember):
    async def handle(self, delivery: Delivery) -> None:
        delivery.ack()
        await super().handle(delivery)


class _UpdatesStateBeforeTheAcknowledgement(Remember):
    async def _append(self, held: Held, decisions: Sequence[_Decided]) -> None:
        owner, ledger = held.owner, held.shard.ledger
        for one in decisions:
            link = link_of(one.decision, one.value)
            ledger.states.keep(owner, evolve(ledger.state(owner), one.decision, events_of(one.decision), link))
        await super()._append(held, decisions)


class _BelievesAnyClock(TrustedClock):
    def now(self) -> datetime:
        return self.machine_now()

    @property
    def doubt(self) -> None:
        return None


class _WakesBeforeTheTime(Remember):
    def __init__(self, **parts: Any) -> None:
        super().__init__(**parts)
        ticks = self._tick_application
        decide_wakes = ticks._decide_wakes

        def decide(state: UserState, tick: WakeDue, place: ItemPosition) -> Coroutine[Any, Any, Decision | None]:
            return decide_wakes(state, replace(tick, as_of=tick.as_of + timedelta(days=36_500)), place)

        ticks._decide_wakes = decide  # type: ignore[method-assign]


class _CommitsPastGaps(Books):
    def reached(self) -> int:
        if self.done:
            last = max(self.done)
            while self.given and self.given[0] <= last:
                self.given.popleft()
            self.done.clear()
        return self.given[0] if self.given else self.following


class _MovesItsOffsetFirst(Shard):
    async def _fold_some(self, topic: str) -> int:
        records = await self.log.read(topic, self.partition, self.offset(topic), 500)
        if records:
            following = records[-1].position.offset + 1
            place = (topic, following, record_digest(records[-1]))
            self._connection.execute("insert or replace into offsets values(?,?,?)", place)
            await asyncio.sleep(0.05)
            self.fold(topic, records)
        return len(records)


class _CountsEverything(LedgerFold):
    def gather(self, records: Sequence[Record]) -> Generator[None, None, Batch]:
        batch = Batch()
        for record in records:
            decision = codec.decode_as(record.value, Decision)
            owner, events = decision.envelope.owner, events_of(decision)
            state = batch.states.get(owner) or self.state(owner)
            batch.states[owner] = evolve(state, decision, events, link_of(decision, record.value))
            _gather_rows(batch, owner, decision, events, record)
        yield from self._gather_memory_rows(batch)
        return batch


class _OpensShardsThatMoveTheirOffsetsFirst(Generation):
    def open(self, partition: int, path: Path | None = None) -> Shard:
        shard = super().open(partition, path)
        shard.__class__ = _MovesItsOffsetFirst
        return shard


class _OpensShardsThatCountVoidDecisions(Generation):
    def open(self, partition: int, path: Path | None = None) -> Shard:
        shard = super().open(partition, path)
        shard.ledger.__class__ = _CountsEverything
        return shard


class _LosesWhatWasTakenBack(NotedCommits):
    def _take_back(self) -> None:
        self._writes.clear()
        super()._take_back()


class _OpensShardsThatLoseWrites(Generation):
    def open(self, partition: int, path: Path | None = None) -> Shard:
        shard = super().open(partition, path)
        shard.writes.__class__ = _LosesWhatWasTakenBack
        return shard


class _SaysThatAllIsHandled(Remember):
    def has_handled(self, partition: int, end: int) -> bool:  # noqa: ARG002 - it does not look
        return True


class _ForgetsWhatIsNotFolded(ImmediateDecisions):
    def _note(self, written: Sequence[_Written]) -> None:
        super()._note(written)
        for one in written:
            one.made.asked.turn.state = None


class _HopefulLog:
    def __init__(self, log: ExclusiveLog) -> None:
        self._log = log
        self.next_place = log.next_place

    async def append_settled(self, records: Sequence[NewRecord], places: Sequence[Appended]) -> list[Appended]:
        try:
            return await self._log.append_settled(records, places)
        except LogUnavailable:
            return self._hoped(records)

    def _hoped(self, records: Sequence[NewRecord]) -> list[Appended]:
        before: Counter[tuple[str, int]] = Counter()
        hoped = []
        for record in records:
            place = self.next_place(record.topic, record.partition)
            offset = place.position.offset + before[record.topic, record.partition]
            before[record.topic, record.partition] += 1
            hoped.append(replace(place, position=replace(place.position, offset=offset)))
        return hoped


class _TakesForAppendedWhatWasRefused(ImmediateDecisions):
    def __init__(self, *, log: Any, **parts: Any) -> None:
        super().__init__(log=cast("ExclusiveLog", _HopefulLog(log)), **parts)


MUTANTS: Final = {
    "observe acknowledges what it has not extracted": Parts(observe=_AcknowledgesAtOnce),
    "work goes on after its partition was taken away": Parts(observe=_ObservesOn, remember=_RemembersOn),
    "a shard is kept after its partition was taken away": Parts(shards=_shards(assignment=_KeepsWhatIsReleased)),
    "a shard is decided upon before it is folded": Parts(shards=_shards(takeover=_HoldsBeforeItFolds)),
    "what outlives an erasure is left": Parts(observe=_LeavesWhatOutlivesAnErasure),
    "the erasure of a memory loses what stays": Parts(replacements=_LosesAReplacement),
    "an erasure does not wait for what is on its way": Parts(keys=_WaitsForTheLeaseAlone),
    "remember acknowledges what it has not decided": Parts(remember=_AcknowledgesBeforeItAppends),
    "remember updates state before the acknowledgement": Parts(remember=_UpdatesStateBeforeTheAcknowledgement),
    "a wake is raised before its time": Parts(remember=_WakesBeforeTheTime),
    "a worker believes any clock": Parts(clock=_BelievesAnyClock),
    "the transport commits past records in work": Parts(books=_CommitsPastGaps),
    "the transport commits for a former owner": Parts(guarded=False),
    "a shard moves its offset before it folds": Parts(shards=_shards(generation=_OpensShardsThatMoveTheirOffsetsFirst)),
    "the fold counts void decisions": Parts(shards=_shards(generation=_OpensShardsThatCountVoidDecisions)),
    "a shard loses what a failed commit took back": Parts(shards=_shards(generation=_OpensShardsThatLoseWrites)),
    "a command is decided before what came before it": Parts(remember=_SaysThatAllIsHandled),
    "a command is decided without what is not folded yet": Parts(immediate=_ForgetsWhatIsNotFolded),
    "a command that the log refused is answered as decided": Parts(immediate=_TakesForAppendedWhatWasRefused),
}
"""Each is the production worker but for what its name says."""
