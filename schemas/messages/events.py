"""The events that decisions carry, a closed union. Events contain results, which folds only assign."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, get_args

from schemas.messages.erasure import MemoryErased, UserErased
from schemas.messages.wakes import ReminderCancelled, ReminderScheduled, WakeConfigured, WakeRaised

if TYPE_CHECKING:
    from datetime import datetime

    from schemas.messages.envelope import Envelope, Sealed


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFormed:
    """A memory was formed; with `superseded_by`, it is superseded from the beginning."""

    envelope: Envelope
    memory_id: str
    scope: str
    kind: str
    memory_type: str
    category: str
    content: Sealed
    content_hash: str
    vector: Sealed
    embedding_model: str
    attribute: str | None = None
    value: Sealed | None = None
    event_type: str | None = None
    emotion: str | None = None
    emotion_intensity: float | None = None
    key_dialogue: Sealed | None = None
    importance: float
    source_type: str
    source_ids: list[str]
    source_ref: str | None = None
    session_id: str | None = None
    pieces: list[str]
    happened_at: datetime
    """The memory's `occurred_at`: the date in the answer, else the effective time of the first cited piece."""
    formed_at: datetime
    """The latest effective time of the cited pieces."""
    expires_at: datetime | None = None
    superseded_by: str | None = None
    metadata: Sealed | None = None
    about: Sealed | None = None
    """The person or thing that it is about; None: the user."""
    speaker: Sealed | None = None
    """The speaker who stated it about themselves, if that was not the user."""
    confirmed: bool = True
    """Whether it certainly stems from what was said."""
    becomes: str | None = None
    """For a plan, the attribute that gets its value on the planned day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryImported:
    """A memory of another system was formed here, as it was there; its effective time is `formed_at`."""

    envelope: Envelope
    memory_id: str
    source_system: str
    source_user: str
    source_memory: str
    source_type: str | None = None
    """Its source type in the other system; here it is `import`."""
    scope: str
    kind: str
    memory_type: str
    category: str
    content: Sealed
    content_hash: str
    vector: Sealed
    embedding_model: str
    attribute: str | None = None
    value: Sealed | None = None
    event_type: str | None = None
    emotion: str | None = None
    emotion_intensity: float | None = None
    key_dialogue: Sealed | None = None
    importance: float
    initial_strength: float
    access_count: int
    recall_count: int
    source_ids: list[str]
    source_ref: str | None = None
    session_id: str | None = None
    happened_at: datetime
    formed_at: datetime
    said_at: datetime
    last_accessed_at: datetime
    restored_at: datetime | None = None
    expires_at: datetime | None = None
    status: str
    superseded_by: str | None = None
    """The memory that superseded it, which may not have been imported, or not yet."""
    forgotten_at: datetime | None = None
    metadata: Sealed | None = None
    about: Sealed | None = None
    speaker: Sealed | None = None
    confirmed: bool = True
    becomes: str | None = None
    met_in: Sealed | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryReinforced:
    """A known memory was stated again, restored or recalled; the counts are those after it."""

    envelope: Envelope
    memory_id: str
    reason: str
    """said_again, remembered_again, restored or recalled."""
    access_count: int
    recall_count: int
    last_accessed_at: datetime
    source_ids: list[str]
    """Observations that are added to the memory's sources."""
    pieces: list[str]
    met_in: Sealed | None = None
    """The places where it was stated after its forming: a JSON list of objects, with the `session_id` and the
    `metadata` that differ from those of the memory. None leaves the list as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRevised:
    """A memory's contents changed; None leaves a field as it is. A `memory_type` also sets `expires_at`."""

    envelope: Envelope
    memory_id: str
    reason: str
    """edited, merged, begun (a plan whose day has come), left (a session), or shared (with the envelope's agent)."""
    content: Sealed | None = None
    content_hash: str | None = None
    vector: Sealed | None = None
    embedding_model: str | None = None
    category: str | None = None
    importance: float | None = None
    memory_type: str | None = None
    expires_at: datetime | None = None
    value: Sealed | None = None
    emotion_intensity: float | None = None
    key_dialogue: Sealed | None = None
    access_count: int | None = None
    last_accessed_at: datetime | None = None
    source_ids: list[str]
    pieces: list[str]
    event_type: str | None = None
    emotion: str | None = None
    """An empty `emotion` or `event_type` is removed from the memory."""
    metadata: Sealed | None = None
    """All metadata after the change, as a JSON object."""
    sets_expiry: bool = False
    """Whether `expires_at` applies even without a memory type; None then means that the memory does not expire."""
    attribute: str | None = None
    """For a plan that has begun, the attribute that has its value from now on."""
    about: Sealed | None = None
    """The person or thing that it is about; empty: the user."""
    met_in: Sealed | None = None
    """As in MemoryReinforced."""
    session_id: str | None = None
    """The session of the place that is now the first one, if the memory has left the place where it was formed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySuperseded:
    """A newer value took the memory's place."""

    envelope: Envelope
    memory_id: str
    superseded_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryDecayed:
    """A tick made a memory fade: its stored importance or strength changed from `before` to `after`."""

    envelope: Envelope
    memory_id: str
    policy: str
    tick_id: str
    measure: str
    """importance or strength."""
    before: float
    after: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryExpired:
    """A memory's time was over."""

    envelope: Envelope
    memory_id: str
    policy: str
    tick_id: str
    reason: str
    """short_term, weak or too_many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryForgotten:
    """The user wanted the memory forgotten."""

    envelope: Envelope
    memory_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRestored:
    """A forgotten or expired memory is back; with `superseded_by`, a newer value has its place."""

    envelope: Envelope
    memory_id: str
    expires_at: datetime | None = None
    superseded_by: str | None = None
    last_accessed_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class IntimacyKept:
    """The intimacy of the user and the envelope's agent, as the last turn with one gave it; it outlives that turn."""

    envelope: Envelope
    intimacy: float
    """0 to 100."""
    said_at: datetime
    """The turn's effective time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TickApplied:
    """The tick was applied to every user of the partition; later decisions about it are void."""

    envelope: Envelope
    tick_id: str
    policy: str
    """A policy of decay, `retention` or `wake`."""
    as_of: datetime
    decayed: int
    """The number of memories whose importance or strength the tick lowered."""
    expired: int
    """The number of memories that the tick made expire; for `retention`, of the observations that it removed."""


MemoryEvent: TypeAlias = (
    MemoryFormed
    | MemoryImported
    | MemoryReinforced
    | MemoryRevised
    | MemorySuperseded
    | MemoryDecayed
    | MemoryExpired
    | MemoryForgotten
    | MemoryRestored
)
WakeEvent: TypeAlias = ReminderScheduled | ReminderCancelled | WakeConfigured | WakeRaised
LedgerEvent: TypeAlias = MemoryEvent | WakeEvent | IntimacyKept | TickApplied | UserErased | MemoryErased

MEMORY_EVENTS: tuple[type[MemoryEvent], ...] = get_args(MemoryEvent)
WAKE_EVENTS: tuple[type[WakeEvent], ...] = get_args(WakeEvent)
LEDGER_EVENTS: tuple[type[LedgerEvent], ...] = get_args(LedgerEvent)
"""In the order of the unions, which the reference follows."""
