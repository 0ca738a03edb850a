"""Items of the inbox, which the remember agent decides: candidates, commands and ticks, a closed union."""

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
    """A piece of the window that was extracted from, with the times of its observation."""

    piece_id: str
    by_user: bool
    """Said by the user. Not the assistant's words; nor what a screen or an article shows, except in older logs."""
    occurred_at: datetime
    """Effective time."""
    recorded_at: datetime
    """Log time."""
    position: str | None = None
    """Where the observation stands; None in older logs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """Something proposed to be remembered."""

    content: Sealed
    vector: Sealed
    """Of unit length, as `projections/embedding/stored_vector.py` says: little-endian float32, or int8."""
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
    """ISO date; of a plan that was said with an hour, the instant in UTC."""
    pieces: list[str]
    """The pieces that it cites, of those covered; never empty."""
    shape: str | None = None
    """`single` or `map`: the shape that a policy gives the attribute. None: that of the vocabulary, or a list."""
    metadata: Sealed | None = None
    """A JSON object, from the metadata of what it cites."""
    about: Sealed | None = None
    """Whom or what it is about, as the user would name it; None: the user."""
    speaker: Sealed | None = None
    """Who said it of themselves, where that is not the user."""
    replaces: list[str] = field(default_factory=list)
    """Ids of known memories whose present value this one takes over."""
    ends: list[str] = field(default_factory=list)
    """Ids of known memories that are no longer so because of it."""
    confirmed: bool = True
    """Whether it surely stems from what was said."""
    becomes: str | None = None
    """Of a plan: the attribute that it gives its value from the day `occurred_on` on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTokens:
    """What one model took for an answer."""

    model: str
    tokens_in: int
    tokens_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidatesExtracted:
    """An extractor's answer to one window: a fact that no replay asks for again."""

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
    """The rules answered in the model's place, whose budget was spent or who refused: it may be extracted again."""
    tokens_by_model: list[ModelTokens] = field(default_factory=list)
    """The tokens above by model, where another one than `model` took some of them; else []."""
    shown: list[str] = field(default_factory=list)
    """Ids of the memories that the prompt showed, in its order."""


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
    """The tokens above by model, where another one than `model` took some of them; else []."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RememberFact:
    """Remember this as it is."""

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
    """None: what the memory type says."""
    about: Sealed | None = None
    """Whom or what it is about; None: the user."""
    read: bool = False
    """Whether the attribute and the value were read in the content, and not given."""
    occurred_on: str | None = None
    """The ISO date that was read in the content; of a plan with an hour, the instant in UTC. None: when it was sent."""
    ends: list[str] = field(default_factory=list)
    """Ids of known memories that are no longer so because of what was read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviseMemory:
    """Change what is given; None leaves a field as it is.

    One that changes nothing shares the memory with its envelope's agent.
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
    """A JSON list of lines. Empty, as an empty word above, it leaves the memory without."""
    metadata: Sealed | None = None
    """A JSON object: its members are set, and those that are null are taken away."""
    expires_at: datetime | None = None
    sets_expiry: bool = False
    """Whether `expires_at` is meant: None then says that the memory does not expire."""
    about: Sealed | None = None
    """Empty: the user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetMemory:
    """Make a memory unfindable; what was said before is not remembered again."""

    envelope: Envelope
    memory_id: str
    session_id: str | None = None
    """Only there: where it was met in other sessions too, it stays in those."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreMemory:
    """Bring a forgotten or expired memory back."""

    envelope: Envelope
    memory_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordRecall:
    """An agent was shown these memories; `occurred_at` is the query's time."""

    envelope: Envelope
    memory_ids: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportMemory:
    """Remember a snapshot of a memory that was kept elsewhere: it names its source.

    The envelope's `occurred_at` is when it was imported, its `agent_id` that of the memory here.
    """

    envelope: Envelope
    source_system: str
    """Such as mnemolog, evatar, luna, powermem, chromadb."""
    source_user: str
    """Whose it was there."""
    source_memory: str
    """Its id there."""
    source_type: str | None = None
    """What it came from there: chat, photo, inferred or manual."""
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
    """When it was last said, which orders the values of a single slot; None: `formed_at`."""
    last_accessed_at: datetime
    restored_at: datetime | None = None
    expires_at: datetime | None = None
    """Of a short_term memory only; None: 48 hours after `formed_at`."""
    status: str = "active"
    """What it was there: active, expired, forgotten or superseded."""
    superseded_by: str | None = None
    """The memory here that holds a superseded one's place."""
    forgotten_at: datetime | None = None
    """When a forgotten one was forgotten; None: when the log took this."""
    metadata: Sealed | None = None
    """A JSON object."""
    about: Sealed | None = None
    """Whom or what it is about; None: the user."""
    speaker: Sealed | None = None
    """Who said it of themselves, where that is not the user."""
    confirmed: bool = True
    becomes: str | None = None
    met_in: Sealed | None = None
    """Where else it was met, as a MemoryReinforced has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecayDue:
    """It is now `as_of`: apply the policy to every user of the partition."""

    envelope: Envelope
    policy: str
    as_of: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionDue:
    """It is now `as_of`: observations of the partition that were logged before `before` are kept no more."""

    envelope: Envelope
    as_of: datetime
    before: datetime | None = None
    """Log time; None keeps all."""


Extraction: TypeAlias = CandidatesExtracted | ExtractionRejected
MemoryWish: TypeAlias = ForgetMemory | RestoreMemory
"""Commands that say which memory, and nothing else."""
MemoryCommand: TypeAlias = RememberFact | ReviseMemory | MemoryWish | RecordRecall
WakeCommand: TypeAlias = ScheduleReminder | CancelReminder | ConfigureWake
UserItem: TypeAlias = Extraction | MemoryCommand | ImportMemory | WakeCommand | EraseUser | EraseMemory
Tick: TypeAlias = DecayDue | RetentionDue | WakeDue
InboxItem: TypeAlias = UserItem | Tick
EXTRACTIONS: tuple[type[Extraction], ...] = get_args(Extraction)
TICKS: tuple[type[Tick], ...] = get_args(Tick)
INBOX_ITEMS: tuple[type[InboxItem], ...] = get_args(InboxItem)
"""In the order of the unions, which the topics and the reference follow."""
