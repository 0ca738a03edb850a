"""The filters of a list or a search that depend on a memory's own fields."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from projections.queries.conditions.condition import AllOf
from projections.queries.conditions.fields import Subject
from projections.queries.conditions.parser import condition_of
from projections.state.places import as_met
from projections.state.provenance import provenance_of
from schemas.vocabulary.words import DOCUMENT

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

    from projections.queries.conditions.condition import Condition
    from projections.state.memory import Memory
    from schemas.identity import Owner

CHAT: Final = "chat"
"""The provenance of turns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """The values that a memory must have to pass; None means any value."""

    agent_id: str | None = None
    session_id: str | None = None
    """This applies to turns too."""
    kind: str | None = None
    memory_type: str | None = None
    category: str | None = None
    source_type: str | None = None
    attribute: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    min_importance: float | None = None
    exclude_sources: Collection[str] = ()
    """The provenances that do not pass."""
    condition: Condition | None = None
    """A further condition in the filter language."""

    @property
    def unindexed(self) -> Condition | None:
        """The condition on fields that an index does not hold; None if there is no such condition."""
        if self.session_id is None:
            return self.condition
        of_session = condition_of({"session_id": self.session_id})
        return of_session if self.condition is None else AllOf((of_session, self.condition))

    def passes(self, memory: Memory, owner: Owner, at: datetime) -> bool:
        """Return whether a user's memory passes all filters at an instant, including session and condition."""
        return self.accept(memory) and self.fits(memory, owner, at)

    def fits(self, memory: Memory, owner: Owner, at: datetime) -> bool:
        """Return whether session and condition both hold for one of the places where a memory was met."""
        if self.session_id is None and self.condition is None:
            return True
        return any(
            self.session_id in (None, one.session_id)
            and (self.condition is None or self.condition.accepts(Subject(one, owner.user_id, at)))
            for one in as_met(memory)
        )

    def accept(self, memory: Memory) -> bool:
        """Return whether a memory passes every filter but session and condition."""
        return (
            (memory.kind != DOCUMENT or self.kind == DOCUMENT)  # documents must be asked for
            and self.kind in (None, memory.kind)
            and self.memory_type in (None, memory.memory_type)
            and self.category in (None, memory.category)
            and self.source_type in (None, memory.source_type)
            and (self.attribute is None or self.attribute == memory.stated)
            and (not self.exclude_sources or provenance_of(memory) not in self.exclude_sources)
            and (self.agent_id is None or memory.known_to(self.agent_id))
            and (self.since is None or memory.occurred_at >= self.since)
            and (self.until is None or memory.occurred_at <= self.until)
            and (self.min_importance is None or memory.importance >= self.min_importance)
        )

    @property
    def accept_turns(self) -> bool:
        """Whether turns may pass: they cannot if a filter names a field that only memories have."""
        of_memories = (
            self.kind,
            self.memory_type,
            self.category,
            self.attribute,
            self.min_importance,
            self.condition,
        )
        return all(wanted is None for wanted in of_memories)

    def accept_turn(self, session_id: str, at: datetime, source: str = CHAT) -> bool:
        """Return whether a turn of a session with an effective time passes.

        `source` is `chat`, or the provenance of a screenshot or an article.
        """
        return (
            self.accept_turns
            and self.session_id in (None, session_id)
            and self.source_type in (None, source)
            and source not in self.exclude_sources
            and (self.since is None or at >= self.since)
            and (self.until is None or at <= self.until)
        )
