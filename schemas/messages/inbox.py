"""Items of the inbox, on which the remember agent decides: candidates, commands and ticks, a closed union."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias, get_args

from schemas.messages.erasure import EraseMemory, EraseUser
from schemas.messages.wakes import CancelReminder, ConfigureWake, ScheduleReminder, WakeDue

if TYPE_CHECKING:
    from datetime import datetime

    from schemas.messages.envelope import Envelope, Sealed


@dataclass(frozen=True, slots=True, kw_only=True)
class CoveredPiece:
    """A piece of the extracted window, with the times of its observation."""

    piece_id: str
    by_user: bool
    """Whether the user said it, and not the assistant or, except in older logs, a screen or an article."""
    occurred_at: datetime
    """Effective time."""
    recorded_at: datetime
    """Log time."""
    position: str | None = None
    """The position of the observation; None in older logs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A proposal for a memory, with its vector."""

    content: Sealed
    vector: Sealed
    """Of unit length, encoded as `projections/embedding/stored_vector.py` says: little-endian float32, or int8."""
    kind: str
    category: str
    memory_type: str
    importance: float
    attribute: str | None = None
    value: Sealed | None = None
    event_type: str | None = None
    emotion: str | None = None
    emotion_intensity: float | None = None
    key_dialogue: Sealed | None = None
    """A JSON list of strings."""
    occurred_on: str | None = None
    """An ISO date; for a plan with an hour, the instant in UTC."""
    pieces: list[str]
    """The covered pieces that it cites; never empty."""
    shape: str | None = None
    """`single` or `map`: the shape that a policy gives the attribute. None: that of the vocabulary, or a list."""
    metadata: Sealed | None = None
    """A JSON object, from the metadata of the observations that it cites."""
    about: Sealed | None = None
    """The person or thing that it is about, as the user would name it; None: the user."""
    speaker: Sealed | None = None
    """The speaker who stated it about themselves, if that was not the user."""
    replaces: list[str] = field(default_factory=list)
    """The ids of known memories whose present value this candidate replaces."""
    ends: list[str] = field(default_factory=list)
    """The ids of known memories that are no longer true because of this candidate."""
    confirmed: bool = True
    """Whether it certainly stems from what was said."""
    becomes: str | None = None
    """For a plan, the attribute that gets its value on the day `occurred_on`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTokens:
    """The tokens that one model used for an answer."""

    model: str
    tokens_in: int
    tokens_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidatesExtracted:
    """An extractor's answer to one window, recorded so that no replay asks for it again."""

    envelope: Envelope
    session_id: str | None = None
    source_type: str
    """chat, photo or inferred."""
    source_ref: str
    model: str
    prompt_hash: str
    embedding_model: str
    answer: Sealed | None = None
    tokens_in: int = 0
    tokens_out: int = 0
    dropped: list[str]
    covered: list[CoveredPiece]
    candidates: list[Candidate]
    provisional: bool = False
    """Whether the rules answered because the model refused or had no budget: the window may be extracted again."""
    tokens_by_model: list[ModelTokens] = field(default_factory=list)
    """The tokens above by model, if a model other than `model` used some of them; else []."""
    shown: list[str] = field(default_factory=list)
    """The ids of the memories that the prompt showed, in its order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionRejected:
    """An answer that could not be used, with its raw text."""

    envelope: Envelope
    model: str
    prompt_hash: str
    reason: str
    answer: Sealed | None = None
    tokens_in: int = 0
    tokens_out: int = 0
    covered: list[CoveredPiece]
    tokens_by_model: list[ModelTokens] = field(default_factory=list)
    """The tokens above by model, if a model other than `model` used some of them; else []."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RememberFact:
    """Remember a text as it is."""

    envelope: Envelope
    content: Sealed
    vector: Sealed
    embedding_model: str
    scope: str = "personal"
    kind: str = "semantic"
    memory_type: str = "long_term"
    category: str = "fact"
    importance: float = 0.5
    attribute: str | None = None
    value: Sealed | None = None
    session_id: str | None = None
    metadata: Sealed | None = None
    """A JSON object."""
    expires_at: datetime | None = None
    """None: the expiry of its memory type."""
    about: Sealed | None = None
    """The person or thing that it is about; None: the user."""
    read: bool = False
    """Whether the attribute and the value were read from the content, not given."""
    occurred_on: str | None = None
    """The ISO date read from the content; for a plan with an hour, the instant in UTC. None: when it was sent."""
    ends: list[str] = field(default_factory=list)
    """The ids of known memories that are no longer true because of what was read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviseMemory:
    """Change the given fields of a memory; None leaves a field as it is.

    A command that changes nothing shares the memory with the envelope's agent.
    """

    envelope: Envelope
    memory_id: str
    expected_version: int | None = None
    content: Sealed | None = None
    vector: Sealed | None = None
    embedding_model: str | None = None
    category: str | None = None
    importance: float | None = None
    memory_type: str | None = None
    value: Sealed | None = None
    event_type: str | None = None
    emotion: str | None = None
    emotion_intensity: float | None = None
    key_dialogue: Sealed | None = None
    """A JSON list of lines. An empty list is removed from the memory, as is an empty `event_type` or `emotion`."""
    metadata: Sealed | None = None
    """A JSON object: its members are set, and those that are null are removed."""
    expires_at: datetime | None = None
    sets_expiry: bool = False
    """Whether `expires_at` applies; None then means that the memory does not expire."""
    about: Sealed | None = None
    """Empty: the user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetMemory:
    """Make a memory unfindable; what was said before is not remembered again."""

    envelope: Envelope
    memory_id: str
    session_id: str | None = None
    """If the memory was stated in other sessions too, it is forgotten only in this one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreMemory:
    """Bring a forgotten or expired memory back."""

    envelope: Envelope
    memory_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordRecall:
    """Record that an agent was shown these memories; `occurred_at` is the query's time."""

    envelope: Envelope
    memory_ids: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportMemory:
    """Remember a memory snapshot of another system, which names its source.

    The envelope's `occurred_at` is the time of the import, and its `agent_id` is the memory's agent here.
    """

    envelope: Envelope
    source_system: str
    """The other system, such as mnemolog, evatar, luna, powermem or chromadb."""
    source_user: str
    """The memory's user in the other system."""
    source_memory: str
    """The memory's id in the other system."""
    source_type: str | None = None
    """The memory's source type in the other system: chat, photo, inferred or manual."""
    content: Sealed
    vector: Sealed
    embedding_model: str
    scope: str = "personal"
    kind: str = "semantic"
    memory_type: str = "long_term"
    category: str = "fact"
    attribute: str | None = None
    value: Sealed | None = None
    event_type: str | None = None
    emotion: str | None = None
    emotion_intensity: float | None = None
    key_dialogue: Sealed | None = None
    """A JSON list of strings."""
    importance: float = 0.5
    initial_strength: float = 1.0
    access_count: int = 0
    recall_count: int = 0
    source_ids: list[str]
    source_ref: str | None = None
    session_id: str | None = None
    happened_at: datetime
    """The memory's `occurred_at`."""
    formed_at: datetime
    said_at: datetime | None = None
    """When it was last stated, which orders the values of a slot; None: `formed_at`."""
    last_accessed_at: datetime
    restored_at: datetime | None = None
    expires_at: datetime | None = None
    """Only for a short_term memory; None: 48 hours after `formed_at`."""
    status: str = "active"
    """The memory's status in the other system: active, expired, forgotten or superseded."""
    superseded_by: str | None = None
    """For a superseded memory, the memory here that has its place."""
    forgotten_at: datetime | None = None
    """When a forgotten memory was forgotten; None: the log time of this command."""
    metadata: Sealed | None = None
    """A JSON object."""
    about: Sealed | None = None
    """The person or thing that it is about; None: the user."""
    speaker: Sealed | None = None
    """The speaker who stated it about themselves, if that was not the user."""
    confirmed: bool = True
    becomes: str | None = None
    met_in: Sealed | None = None
    """The other places where it was stated, as in MemoryReinforced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecayDue:
    """It is now `as_of`: apply the policy to every user of the partition."""

    envelope: Envelope
    policy: str
    as_of: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionDue:
    """It is now `as_of`: remove the partition's observations that were logged before `before`."""

    envelope: Envelope
    as_of: datetime
    before: datetime | None = None
    """Log time; None keeps all."""


Extraction: TypeAlias = CandidatesExtracted | ExtractionRejected
MemoryWish: TypeAlias = ForgetMemory | RestoreMemory
"""Commands that name a memory to forget or to restore."""
MemoryCommand: TypeAlias = RememberFact | ReviseMemory | MemoryWish | RecordRecall
WakeCommand: TypeAlias = ScheduleReminder | CancelReminder | ConfigureWake
UserItem: TypeAlias = Extraction | MemoryCommand | ImportMemory | WakeCommand | EraseUser | EraseMemory
Tick: TypeAlias = DecayDue | RetentionDue | WakeDue
InboxItem: TypeAlias = UserItem | Tick
EXTRACTIONS: tuple[type[Extraction], ...] = get_args(Extraction)
TICKS: tuple[type[Tick], ...] = get_args(Tick)
INBOX_ITEMS: tuple[type[InboxItem], ...] = get_args(InboxItem)
"""In the order of the unions, which the topics and the reference follow."""
