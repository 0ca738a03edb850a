"""A decision in progress; its state includes the events drafted so far."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from projections.state.evolve import apply_all, next_part
from schemas import codec
from schemas.identity import derived_id
from schemas.messages.decision import Decision, Outcome

if TYPE_CHECKING:
    from datetime import datetime

    from projections.state.memory import UserState
    from schemas.messages.envelope import Envelope
    from schemas.messages.events import LedgerEvent
    from schemas.messages.inbox import InboxItem

PART_BYTES: Final = 512 * 1024
"""The size of events that ends a part of a decision. With one more event and the outcomes, a record fits in 1 MiB."""


@dataclass(frozen=True, slots=True)
class ItemPosition:
    """The position of an inbox item in the log, and its log time."""

    partition: int
    offset: int
    recorded_at: datetime


class Draft:
    """The outcomes and events for one item and one user, collected for a decision."""

    __slots__ = (
        "_applied", "_before", "_bytes", "_encoded", "_state",
        "covered", "events", "item", "outcomes", "position", "rejected",
    )  # fmt: skip

    def __init__(self, *, state: UserState, item: InboxItem, position: ItemPosition) -> None:
        self.item = item
        self.position = position
        self.outcomes: list[Outcome] = []
        self.events: list[LedgerEvent] = []
        self.covered: list[str] = []
        self.rejected = False
        self._before = self._state = state
        self._applied = 0
        self._encoded: list[bytes] = []
        self._bytes = 0

    @property
    def state(self) -> UserState:
        """The user's state with the events so far, which are applied on demand: most decisions have only one."""
        if self._applied < len(self.events):
            self._state = apply_all(self._state, self.events[self._applied :], self.position.recorded_at)
            self._applied = len(self.events)
        return self._state

    def envelope(self, occurred_at: datetime | None = None) -> Envelope:
        """Return the envelope of the next event, which follows the item and belongs to the state's user."""
        owner, cause = self._before.owner, self.item.envelope
        event_id = derived_id("event", owner.tenant, owner.user_id, cause.event_id, self.part, len(self.events))
        return cause.follow(event_id, occurred_at=occurred_at, owner=owner)

    @property
    def part(self) -> int:
        """The number of the decision's part."""
        return next_part(self._before, self.item.envelope.event_id)

    @property
    def is_full(self) -> bool:
        """Return whether further events belong in another part."""
        return self._bytes > PART_BYTES

    def say(self, subject: str, action: str, reason: str, memory_id: str | None = None) -> None:
        """Record the outcome of a part of the item."""
        self.outcomes.append(Outcome(subject=subject, action=action, reason=reason, memory_id=memory_id))

    def add(self, event: LedgerEvent) -> None:
        """Add an event."""
        self.events.append(event)
        self._encoded.append(codec.encode_cached(event))
        self._bytes += len(self._encoded[-1])

    def decision(self, *, last_part: bool = True) -> Decision:
        """Return the finished decision, which expects the version of the state that the draft began with."""
        owner, cause = self._before.owner, self.item.envelope
        event_id = derived_id("decision", owner.tenant, owner.user_id, cause.event_id, self.part)
        envelope = cause.follow(event_id, owner=owner, recorded_at=self.position.recorded_at)
        return Decision(
            envelope=envelope,
            item_id=cause.event_id,
            item_type=type(self.item).__name__,
            item_partition=self.position.partition,
            item_offset=self.position.offset,
            version=self._before.version + 1,
            part=self.part,
            last_part=last_part,
            covered=self.covered,
            rejected=self.rejected,
            outcomes=self.outcomes,
            events=self._encoded,
            previous=self._before.tip,
        )
