"""Observations: what upstream saw, the closed union of input events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from schemas.messages.envelope import Envelope

TIMEZONE: Final = "timezone"
"""The member of a turn's metadata with its time zone: an IANA name, or an offset such as `+08:00`."""
EXPIRES_AT: Final = "expires_at"
"""The member of an observation's metadata that says when memories from it expire: an instant, or a date."""
FORMER_INSTRUCTIONS: Final = "extraction_instructions"
"""The member of the metadata that once had a turn's instructions. It is ignored: an end user may write the metadata."""
MAX_INSTRUCTIONS_CHARACTERS: Final = 4_000
"""The most characters of a turn's instructions, of all those of a window together, and of a policy's."""
APP_ID: Final = "app_id"
"""The member of the metadata that names the application of an observation or a memory."""
USER_NAME: Final = "user_name"
"""The member of a turn's metadata with the user's `name` in this conversation: another name is another person's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnContext:
    """What the upstream knew when the turn was said (Luna); `intimacy` is 0 to 100."""

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
    """A JSON object: how often each kind was redacted before the turn was appended; None if redaction was off."""
    instructions: str | None = None
    """Instructions for the extracting model, in addition to the policy's. Only some callers may give them, and no input
    event has them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEnded:
    """A boundary: the window of the session closes here. The session may go on after it."""

    envelope: Envelope
    session_id: str
    body_digest: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScreenshotAnalysed:
    """What upstream read from a screen, or the picture itself; `relevance` is low, medium or high."""

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
    """The https URL of the picture, instead of its bytes."""
    redacted: str | None = None
    """As in TurnRecorded."""


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
    """As in TurnRecorded."""


Observation: TypeAlias = TurnRecorded | SessionEnded | ScreenshotAnalysed | ArticleInferred
OBSERVATIONS: tuple[type[Observation], ...] = (TurnRecorded, SessionEnded, ScreenshotAnalysed, ArticleInferred)
