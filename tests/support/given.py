"""The vocabulary of decisions: `given(history).when(item).then(actions)`. Every decision is folded twice."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

from support.examples import XIAOMING

from projections.state.evolve import counts, events_of, evolve, is_decided, link_of, unlike_appended
from projections.state.memory import UserState
from schemas import codec
from schemas.messages.decision import MAX_CHANGES, Decision
from schemas.messages.events import MemoryFormed, MemoryImported, MemoryRevised
from schemas.messages.inbox import Tick
from streams.decisions.decide import decide, decide_tick
from streams.decisions.draft import ItemPosition
from streams.decisions.parameters import Parameters

if TYPE_CHECKING:
    from datetime import datetime

    from projections.state.memory import Memory
    from schemas.messages.events import LedgerEvent
    from schemas.messages.inbox import UserItem

Item: TypeAlias = "UserItem | Tick"


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """A user's state after a history of items, decided in order."""

    state: UserState = field(default_factory=lambda: UserState(owner=XIAOMING))
    vectors: dict[str, bytes] = field(default_factory=dict)
    offset: int = 0
    decisions: tuple[Decision, ...] = ()
    parameters: Parameters = field(default_factory=Parameters)
    everyone: UserState | None = None
    """The tenant's global memories, which a wake may show."""

    def when(self, item: Item, *, logged: datetime | None = None) -> Given:
        """Decide an item, by default logged when it happened, and fold every part of the decision twice."""
        at, place_offset, after = logged or item.envelope.occurred_at, self.offset + 1, self
        place = ItemPosition(0, place_offset, at)
        while not is_decided(after.state, item.envelope.event_id):
            decision = (
                decide_tick(after.state, item, place, self.parameters, everyone=self.everyone, vectors=after.recall)
                if isinstance(item, Tick)
                else decide(after.state, item, place, after.vectors, self.parameters)
            )
            if decision is None:
                break
            after = after.folded(decision)
        return replace(after, offset=place_offset, decisions=after.decisions[len(self.decisions) :])

    def recall(self) -> dict[str, bytes]:
        """Return the vectors of all memories."""
        return self.vectors

    def folded(self, decision: Decision) -> Given:
        """Fold one decision from its encoded bytes, and check that it does not count a second time."""
        value = codec.encode(decision)
        decision = codec.decode_as(value, Decision)
        assert counts(self.state, decision)
        assert unlike_appended(self.state, decision) is None
        assert len(decision.events) <= MAX_CHANGES
        events = events_of(decision)
        state = evolve(self.state, decision, events, link_of(decision, value))
        assert not counts(state, decision), "twice is once"
        embedded = (MemoryFormed, MemoryImported, MemoryRevised)
        vectors = {e.memory_id: e.vector.data for e in events if isinstance(e, embedded) and e.vector}
        return replace(self, state=state, vectors=self.vectors | vectors, decisions=(*self.decisions, decision))

    @property
    def actions(self) -> list[str]:
        """The action of each outcome of the last item."""
        return [o.action for d in self.decisions for o in d.outcomes]

    @property
    def reasons(self) -> list[str]:
        """The reason of each outcome of the last item."""
        return [o.reason for d in self.decisions for o in d.outcomes]

    @property
    def events(self) -> list[LedgerEvent]:
        """The events that the last item led to."""
        return [e for d in self.decisions for e in events_of(d)]

    def then(self, *actions: str) -> Given:
        """Check the actions of the last item."""
        assert self.actions == list(actions), self.reasons
        return self

    @property
    def memories(self) -> list[Memory]:
        """All memories, in the order in which they were formed."""
        return sorted(self.state.memories.values(), key=lambda m: (m.formed_at, m.memory_id))

    def active(self, at: datetime) -> list[str]:
        """Return the contents of the memories that are active at an instant."""
        return [m.content for m in self.memories if m.status_at(at) == "active"]

    @property
    def only(self) -> Memory:
        """The only memory."""
        [memory] = self.memories
        return memory

    def of(self, content: str) -> Memory:
        """Return the one memory with this text."""
        [memory] = [m for m in self.memories if m.content == content]
        return memory


def given(*history: Item, parameters: Parameters | None = None) -> Given:
    """Return the state after a history of items."""
    known = Given(parameters=parameters or Parameters())
    for item in history:
        known = known.when(item)
    return known
