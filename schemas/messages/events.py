"""Events that decisions carry, a closed union. Events carry the answer; folds assign."""

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
    """A memory came to be; born superseded when `superseded_by` is set."""

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
    """The memory's `occurred_at`: the answer's date, else the first cited effective time."""
    formed_at: datetime
    """The latest effective time cited."""
    expires_at: datetime | None = None
    superseded_by: str | None = None
    metadata: Sealed | None = None
    about: Sealed | None = None
    """Whom or what it is about; None: the user."""
    speaker: Sealed | None = None
    """Who said it of themselves, where that is not the user."""
    confirmed: bool = True
    """Whether it surely stems from what was said."""
    becomes: str | None = None
    """Of a plan: the attribute that it gives its value from its day on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryImported:
    """A memory that was kept elsewhere came to be here, as it was there; its effective time is `formed_at`."""

    envelope: Envelope
    memory_id: str
    source_system: str
    source_user: str
    source_memory: str
    source_type: str | None = None
    """What it came from there; here it came from an import."""
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
    """Of a superseded one; it may name a memory that was not imported, or not yet."""
    forgotten_at: datetime | None = None
    metadata: Sealed | None = None
    about: Sealed | None = None
    speaker: Sealed | None = None
    confirmed: bool = True
    becomes: str | None = None
    met_in: Sealed | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryReinforced:
    """A known memory was met again; the numbers are those after it."""

    envelope: Envelope
    memory_id: str
    reason: str
    """said_again, remembered_again, restored or recalled."""
    access_count: int
    recall_count: int
    last_accessed_at: datetime
    source_ids: list[str]
    """Observations that join the memory's sources."""
    pieces: list[str]
    met_in: Sealed | None = None
    """Where it was met by now besides where it was formed: a JSON list of objects, with the `session_id` and `metadata`
    that differ. None leaves it as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRevised:
    """A memory's contents changed; None leaves a field as it is. With `memory_type` comes `expires_at`."""

    envelope: Envelope
    memory_id: str
    reason: str
    """edited, merged, begun (what was planned is so now), left (a session), or shared: then the envelope's agent is
    whom it was shared with."""
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
    """Empty, as `event_type`: the memory is left without."""
    metadata: Sealed | None = None
    """All of it, as a JSON object."""
    sets_expiry: bool = False
    """Whether `expires_at` is meant without a memory type: None then says that the memory does not expire."""
    attribute: str | None = None
    """That of a plan which has begun."""
    about: Sealed | None = None
    """Whom or what it is about; empty: the user."""
    met_in: Sealed | None = None
    """As in a MemoryReinforced."""
    session_id: str | None = None
    """Of the place that is the first one now, where it left the one in which it was formed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySuperseded:
    """A newer value took the memory's place."""

    envelope: Envelope
    memory_id: str
    superseded_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryDecayed:
    """A tick made a memory fade: the importance or strength that is stored went from before to after."""

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
    """The user wanted it forgotten."""

    envelope: Envelope
    memory_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRestored:
    """A forgotten or expired memory is back; superseded when a newer value holds its place."""

    envelope: Envelope
    memory_id: str
    expires_at: datetime | None = None
    superseded_by: str | None = None
    last_accessed_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class IntimacyKept:
    """How close the user and the envelope's agent were when a turn last said so: it outlives that turn."""

    envelope: Envelope
    intimacy: float
    """0 to 100."""
    said_at: datetime
    """The turn's effective time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TickApplied:
    """Every user of the partition has met the tick; later decisions of it are void."""

    envelope: Envelope
    tick_id: str
    policy: str
    """A policy of decay, `retention` or `wake`."""
    as_of: datetime
    decayed: int
    """Memories whose importance or strength the tick lowered."""
    expired: int
    """Memories that it made expire; for `retention` the observations that it removed."""


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
