"""The extractor protocol: it takes a window of pieces and returns proposals of what to remember."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, tzinfo
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from schemas.inputs.zone import local

if TYPE_CHECKING:
    from datetime import date, datetime

    from schemas.log import Position
    from schemas.messages.inbox import ModelTokens
    from schemas.messages.observations import TurnContext
    from schemas.policy import Policy
    from schemas.vocabulary.words import Kind, MemoryType

Speaker: TypeAlias = Literal["user", "assistant", "screenshot", "article"]
SourceType: TypeAlias = Literal["chat", "photo", "inferred"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """At most 6,000 characters of one observation; `piece_id` is `event_id#k`, k from 0."""

    piece_id: str
    event_id: str
    speaker: Speaker
    text: str
    occurred_at: datetime
    """Effective time, UTC."""
    recorded_at: datetime
    """Log time, UTC."""
    name: str | None = None
    """The speaker's name; for a screenshot its app, for an article its title."""
    context: TurnContext | None = None
    image: bytes | str | None = None
    """The picture of a screenshot that has no text: its bytes, or its URL."""
    by: str | None = None
    """The id of the API key with which its observation was published."""
    position: Position | None = None
    """The position of its observation in the log."""
    traceparent: str | None = field(default=None, compare=False)
    """The trace that its observation came with, where traces are recorded."""
    metadata: str = "{}"
    """The metadata of its observation, a JSON object."""
    instructions: str | None = None
    """The turn's instructions to a model for its own extraction, which follow the policy's."""
    zone: tzinfo = UTC
    """The time zone in which it was said."""
    is_relevant: bool = False
    """Whether upstream found a screenshot highly relevant."""

    @property
    def said_at(self) -> datetime:
        """When it was said, by the clock of its zone."""
        return local(self.occurred_at, self.zone)

    @property
    def today(self) -> date:
        """The day on which it was said, by the clock of its zone."""
        return self.said_at.date()


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A known memory, which a model is shown with a window."""

    memory_id: str
    text: str
    day: date | None = None
    """The day on which it was said, or happened."""
    attribute: str | None = None
    value: str | None = None
    about: str | None = None
    """As in a Proposal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Pieces that are extracted together: turns of one session, one screenshot, or one article."""

    tenant: str
    user_id: str
    agent_id: str | None
    session_id: str | None
    source_type: SourceType
    source_ref: str
    """The session's, screenshot's or article's id."""
    pieces: tuple[Piece, ...]
    rejected_at: int = 0
    """The version of the decision that recorded the window's last rejection, where it is extracted again; else 0."""
    policy: Policy | None = None
    """What the tenant wants remembered, and how; None is the default."""
    known: tuple[Known, ...] = ()
    """The memories that a model is shown with it, the nearest first."""
    earlier: int = 0
    """How many of the first pieces were extracted before. They are here because the pieces after them take back
    something that they say, or answer them."""
    first_speakers: tuple[str, ...] = ()
    """The names of the user's role in the session's first window, "" for turns without a name; empty where this window
    is the first, or has no names."""
    introduced: tuple[str, ...] = ()
    """The names that the turns bore in which the user said what they are called."""
    before: str | None = None
    """The id of the user's turn before the window, where the window's first turn only asks not to keep that turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """One thing that the extractor proposes to remember; every default is filled in."""

    content: str
    kind: Kind = "semantic"
    category: str = "fact"
    """people finance schedule project preference interest habit fact"""
    memory_type: MemoryType = "short_term"
    importance: float = 0.5
    """0 to 1."""
    attribute: str | None = None
    value: str | None = None
    event_type: str | None = None
    emotion: str | None = None
    emotion_intensity: float | None = None
    key_dialogue: tuple[str, ...] = ()
    occurred_on: date | None = None
    sources: tuple[int, ...] = ()
    """Indexes into Window.pieces, from 0, valid and without repeats; never empty in an Extraction."""
    about: str | None = None
    """Whom or what it is about, as the user would name it (`my mother`, `Lena`, `the car`); None: the user."""
    speaker: str | None = None
    """Who said it about themselves, where that is not the user."""
    replaces: tuple[str, ...] = ()
    """Ids of the memories that were shown and whose present value this one replaces."""
    ends: tuple[str, ...] = ()
    """Ids of the memories that were shown and are no longer true because of this one."""
    confirmed: bool = True
    """Whether it surely stems from what was said; if not, it is kept with less importance until it is met again."""
    becomes: str | None = None
    """Of a plan: the attribute that has the value from the day `occurred_on` on; `attribute` is then None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """An extractor's answer: the proposals, and the raw text that they were read from."""

    proposals: tuple[Proposal, ...]
    answer: str | None = None
    """The raw answer of a model; None for rules."""
    by: str | None = None
    """The name of the model that answered, where it is not the extractor's."""
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_by_model: tuple[ModelTokens, ...] = ()
    """The tokens of each model, where more than the extractor's own model used some."""
    dropped: tuple[str, ...] = field(default=())
    """Why entries were left out of the proposals, or changed."""
    shown: tuple[str, ...] = ()
    """Ids of the known memories that the prompt showed, in its order."""


class ExtractorError(Exception):
    """There is no usable answer."""


class Outage(ExtractorError):
    """The model is down or busy: wait and ask again. `retry_after` is in seconds, None if the endpoint named no time.

    `answer` is the beginning of what came instead. It is never logged, because it may quote the question.
    """

    def __init__(self, reason: str, retry_after: float | None = None, answer: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.retry_after = retry_after
        self.answer = answer


class Rejected(ExtractorError):
    """The answer cannot be used, and asking again would not help: record it and go on."""

    def __init__(
        self,
        reason: str,
        answer: str | None = None,
        tokens_in: int = 0,
        tokens_out: int = 0,
        tokens_by_model: tuple[ModelTokens, ...] = (),
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.answer = answer
        self.tokens_in = tokens_in
        self.tokens_out = tokens_out
        self.tokens_by_model = tokens_by_model


class Extractor(Protocol):
    """Finds what is worth remembering. `model` and `prompt_hash` are recorded with every answer."""

    @property
    def model(self) -> str:
        """The model's name, or `rules` or `verbatim`."""
        ...

    @property
    def prompt_hash(self) -> str:
        """A hash of the prompt template, or of the rules' version: it distinguishes the answers of two versions."""
        ...

    async def extract(self, window: Window) -> Extraction:
        """Return the proposals for a window. Raises Outage or Rejected, nothing else."""
        ...
