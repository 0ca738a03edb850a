"""Observations: what upstream saw, the closed union of input events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from schemas.messages.envelope import Envelope

TIMEZONE: Final = "timezone"
"""The metadata of a turn that say where it was said: an IANA name, or an offset such as `+08:00`."""
EXPIRES_AT: Final = "expires_at"
"""The metadata of an observation that say when what is remembered of it expires: an instant, or a date."""
FORMER_INSTRUCTIONS: Final = "extraction_instructions"
"""The metadata in which a turn's instructions once were. They are not followed: metadata may be an end user's words."""
MAX_INSTRUCTIONS_CHARACTERS: Final = 4_000
"""Of a turn's instructions, and of those of a window together; a policy may have as many."""
APP_ID: Final = "app_id"
"""The metadata that say which application an observation, or a memory, is of."""
USER_NAME: Final = "user_name"
"""The metadata of a turn that say which `name` is the user's in this talk: who has another one is somebody else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnContext:
    """What the upstream knew when the turn was said (Luna); `intimacy` 0 to 100."""

    intimacy: float | None = None
    mood: str | None = None
    scene: str | None = None
    gift: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRecorded:
    """Somebody said something in a session."""

    envelope: Envelope
    session_id: str
    role: str
    name: str | None = None
    content: str
    infer: bool = True
    """False: remember the turn verbatim."""
    context: TurnContext | None = None
    metadata: str = "{}"
    """A JSON object."""
    body_digest: bytes | None = None
    """Digest of the fields that the publisher gave; distinguishes a repeat from a different event with the same id."""
    redacted: str | None = None
    """A JSON object: how often each kind was replaced at the door; None where none was looked for."""
    instructions: str | None = None
    """What a model is told about its extraction, behind the policy, by a caller who may: no input event has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEnded:
    """A boundary: the window of the session closes here. The session may go on after it."""

    envelope: Envelope
    session_id: str
    body_digest: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScreenshotAnalysed:
    """What upstream read off a screen, or the picture itself; `relevance` low, medium or high."""

    envelope: Envelope
    screenshot_id: str
    text: str
    summary: str | None = None
    app: str | None = None
    title: str | None = None
    relevance: str = "medium"
    metadata: str = "{}"
    body_digest: bytes | None = None
    image: bytes | None = None
    """PNG, JPEG, GIF or WebP, instead of a text, which is then empty."""
    image_url: str | None = None
    """Where the picture lies, instead of its bytes: https."""
    redacted: str | None = None
    """As of a turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArticleInferred:
    """An article that upstream inferred from what the user does."""

    envelope: Envelope
    article_id: str
    title: str | None = None
    content: str
    metadata: str = "{}"
    body_digest: bytes | None = None
    redacted: str | None = None
    """As of a turn."""


Observation: TypeAlias = TurnRecorded | SessionEnded | ScreenshotAnalysed | ArticleInferred
OBSERVATIONS: tuple[type[Observation], ...] = (TurnRecorded, SessionEnded, ScreenshotAnalysed, ArticleInferred)
