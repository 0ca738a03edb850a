"""A decision in the making: events are applied as they are drafted, so that each entry sees the ones before it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
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
"""Of the events of one part of a decision: with one more, and what is said of them, a record stays within 1 MiB."""


@dataclass(frozen=True, slots=True)
class ItemPosition:
    """The position of an inbox item in the log, and when the log took it."""

    partition: int
    offset: int
    recorded_at: datetime


@dataclass(slots=True)
class Draft:
    """Collects outcomes and events for one item and one user; `state` is the user's state with them applied."""

    state: UserState
    item: InboxItem
    position: ItemPosition
    outcomes: list[Outcome] = field(default_factory=list)
    events: list[LedgerEvent] = field(default_factory=list)
    covered: list[str] = field(default_factory=list)
    rejected: bool = False
    _encoded: list[bytes] = field(init=False, default_factory=list)
    _bytes: int = field(init=False, default=0)

    def envelope(self, occurred_at: datetime | None = None) -> Envelope:
        """Return the next event's envelope; it follows the item and belongs to the state's user."""
        owner, cause = self.state.owner, self.item.envelope
        event_id = derived_id("event", owner.tenant, owner.user_id, cause.event_id, self.part, len(self.events))
        return cause.follow(event_id, occurred_at=occurred_at, owner=owner)

    @property
    def part(self) -> int:
        """The number of the decision's part."""
        return next_part(self.state, self.item.envelope.event_id)

    @property
    def is_full(self) -> bool:
        """Return whether what comes next belongs into another part."""
        return self._bytes > PART_BYTES

    def say(self, subject: str, action: str, reason: str, memory_id: str | None = None) -> None:
        """Record what became of a part of the item."""
        self.outcomes.append(Outcome(subject=subject, action=action, reason=reason, memory_id=memory_id))

    def add(self, event: LedgerEvent) -> None:
        """Add an event and apply it to the state at hand."""
        self.events.append(event)
        self._encoded.append(codec.encode_cached(event))
        self._bytes += len(self._encoded[-1])
        self.state = apply_all(self.state, (event,), self.position.recorded_at)

    def decision(self, *, last_part: bool = True) -> Decision:
        """Return the finished decision; it expects the version of the state that the draft began with."""
        owner, cause = self.state.owner, self.item.envelope
        event_id = derived_id("decision", owner.tenant, owner.user_id, cause.event_id, self.part)
        envelope = replace(cause.follow(event_id, owner=owner), recorded_at=self.position.recorded_at)
        return Decision(
            envelope=envelope,
            item_id=cause.event_id,
            item_type=type(self.item).__name__,
            item_partition=self.position.partition,
            item_offset=self.position.offset,
            version=self.state.version + 1,
            part=self.part,
            last_part=last_part,
            covered=self.covered,
            rejected=self.rejected,
            outcomes=self.outcomes,
            events=self._encoded,
        )
