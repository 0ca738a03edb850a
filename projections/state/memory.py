"""The state of one user, which is the fold of the user's decisions in the ledger."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from immutables import Map

from projections.state.lifetime import days_between, ebbinghaus, ends_at, fades_from, is_over
from projections.state.wakes import NO_WAKES, Wakes
from schemas.vocabulary.facts import key_of, subject_of

if TYPE_CHECKING:
    from datetime import datetime

    from projections.state.intimacy import ByAgent
    from projections.state.statement_index import StatementIndex
    from schemas.identity import Owner

ACTIVE: Final = "active"
EXPIRED: Final = "expired"
FORGOTTEN: Final = "forgotten"
SUPERSEDED: Final = "superseded"
STATUSES: Final = (ACTIVE, EXPIRED, FORGOTTEN, SUPERSEDED)
IMPORT: Final = "import"
"""The source type of imported memories."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One remembered statement, as of the last decision about it."""

    memory_id: str
    agent_id: str | None
    scope: str
    kind: str
    memory_type: str
    category: str
    content: str
    content_hash: str
    attribute: str | None
    value: str | None
    event_type: str | None
    emotion: str | None
    emotion_intensity: float | None
    key_dialogue: tuple[str, ...]
    importance: float
    initial_strength: float
    strength: float
    """The strength that the last tick stored; `strength_at` computes it for an instant."""
    access_count: int
    recall_count: int
    source_type: str
    source_ids: tuple[str, ...]
    source_ref: str | None
    session_id: str | None
    pieces: tuple[str, ...]
    occurred_at: datetime
    formed_at: datetime
    said_at: datetime
    """The effective time at which it was last stated, which orders the values of a slot; recalls do not change it."""
    last_accessed_at: datetime
    last_recalled_at: datetime | None
    restored_at: datetime | None
    """The effective time of its last restoration, from which it fades as if new; None if it was never restored."""
    expires_at: datetime | None
    status: str
    superseded_by: str | None
    forgotten_at: datetime | None
    """The log time of the forgetting: words logged before it are not remembered again."""
    last_tick_id: str | None
    """The id of the tick that made it decay or expire last, so that a tick in parts touches it once.

    None after an import; the id does not tell the time of the tick.
    """
    metadata: str
    embedding_model: str
    version: int
    """How many counted changes it has seen."""
    text_version: int
    """The version at which its index entry last changed: decay does not rewrite the index."""
    shared_with: tuple[str, ...] = ()
    """The agents that it was shared with, besides its own."""
    about: str | None = None
    """The person or thing that it is about, as the user would name it; None for the user."""
    speaker: str | None = None
    """The speaker who stated it about themselves, if that was not the user."""
    confirmed: bool = True
    """Whether it certainly stems from the user's words, or was stated again since."""
    becomes: str | None = None
    """For a plan, the attribute that gets its value on the planned day."""
    met_in: tuple[str, ...] = ()
    """The places where it was stated after its forming, as `places` spells them, the latest last."""

    @property
    def ends_at(self) -> datetime | None:
        """The last instant at which it is active if no event ends it; None if it does not end by itself."""
        return ends_at(self)

    @property
    def fades_from(self) -> datetime:
        """The effective time from which its strength fades: that of its forming, or of its last restoration."""
        return fades_from(self)

    def status_at(self, instant: datetime) -> str:
        """Return the status at an instant: after its end it is expired, whether or not a tick has recorded it."""
        return EXPIRED if self.status == ACTIVE and is_over(ends_at(self), instant) else self.status

    def strength_at(self, instant: datetime) -> float:
        """Return the strength at an instant, 0.1 to 1.0, independent of the one that the last tick stored."""
        days = days_between(self.fades_from, instant)
        return ebbinghaus(self.initial_strength, days, self.importance, self.recall_count)

    def known_to(self, agent_id: str | None) -> bool:
        """Return whether an agent knows the memory: its own, those shared with it, and those of no agent."""
        return self.agent_id in (None, agent_id) or agent_id in self.shared_with

    def visible_to(self, agent_id: str | None) -> bool:
        """Return whether an agent sees the memory, that is, knows it. Without an agent every memory is visible."""
        return agent_id is None or self.known_to(agent_id)

    @property
    def event_ids(self) -> tuple[str, ...]:
        """The observations in this log that it came from. The sources of an import are another system's names."""
        if self.source_type != IMPORT:
            return self.source_ids
        return tuple(dict.fromkeys(piece.rpartition("#")[0] for piece in self.pieces))

    @property
    def subject(self) -> str | None:
        """The person or thing that it is about, as `subject_of` spells it; None for the user."""
        return None if self.about is None else subject_of(self.about)

    @property
    def stated(self) -> str | None:
        """The attribute that it gives a value; None if its value was removed."""
        return None if self.value == "" else self.attribute

    @property
    def key(self) -> str | None:
        """The key of its fact, even if its value was removed: the state finds it by this key."""
        return self.attribute if self.about is None else key_of(self.subject, self.attribute)

    @property
    def slot(self) -> str | None:
        """The slot of the user's profile that it fills; None if it is about others."""
        return None if self.value == "" or self.subject is not None else self.attribute

    @property
    def indexed_agent_id(self) -> str | None:
        """The one agent that finds it in the index; None if several may, so that readers must call `visible_to`."""
        return None if self.shared_with else self.agent_id


@dataclass(frozen=True, slots=True, kw_only=True)
class UserState:
    """Everything on which decisions about one user depend: memories, covered pieces, and decided items."""

    owner: Owner
    version: int = 0
    last_item: str = ""
    last_offset: int = -1
    """The inbox offset of the last counted item."""
    last_part: int = 0
    last_part_closed: bool = True
    tip: bytes = b""
    """The hash of the last counted decision; empty if that is not linked, or there is none."""
    memories: Map[str, Memory] = Map()
    covered: Map[str, bool] = Map()
    """The pieces that need no further extraction; True if the answer was rejected."""
    items: Map[bytes, None] = Map()
    """16-byte hashes of the items decided, kept indefinitely."""
    by_digest: Map[bytes, tuple[str, ...]] = Map()
    """Memories by the digest of their text, in the order of their ids."""
    by_attribute: Map[str, tuple[str, ...]] = Map()
    """Memories by the key of their fact, which is the attribute for those about the user, in the order of forming."""
    forgotten: Map[str, tuple[str, ...]] = Map()
    """Forgotten memories by the pieces that they cite, in the order of their ids."""
    statements: StatementIndex | None = field(default=None, compare=False, repr=False)
    """The index of the memories by keys of their texts; None until an event needs it."""
    wakes: Wakes = NO_WAKES
    erased_at: datetime | None = None
    """The log time of the last erasure."""
    cut: Map[str, int] = Map()
    """The offset in each topic before which no record of the user counts since the last erasure."""
    intimacies: ByAgent = Map()
    """The user's last intimacy with each agent whose turns with it may no longer be kept."""
