"""Windows: where a session is cut depends on the log alone, so that every worker cuts it in the same places."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, Final

from schemas.identity import piece_id
from schemas.inputs.decoding import effective_time
from schemas.inputs.pieces import MAX_PIECE_CHARACTERS, image_of, piece_texts
from schemas.inputs.zone import zone_of
from schemas.messages.observations import ArticleInferred, ScreenshotAnalysed, SessionEnded, TurnRecorded
from streams.extraction.protocol import Piece, Window
from streams.extraction.recalled_text import without_recalled

if TYPE_CHECKING:
    from schemas.log import Position
    from schemas.messages.observations import Observation
    from streams.extraction.protocol import SourceType, Speaker

MAX_PIECES: Final = 500
"""The most pieces of a window. Its answer names each by an id of up to 160 characters, and must fit into a record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowLimits:
    """When a window closes."""

    rounds: int = 5
    """A round is a user turn and what follows until the next user turn."""
    idle: timedelta = timedelta(seconds=30)
    characters: int = MAX_PIECE_CHARACTERS


@dataclass(slots=True)
class OpenWindow:
    """Pieces of one session that wait to be extracted together."""

    pieces: list[Piece] = field(default_factory=list)
    rounds: int = 0
    characters: int = 0

    def add(self, piece: Piece) -> None:
        """Add a piece."""
        self.pieces.append(piece)
        self.rounds += opens_round(piece)
        self.characters += len(piece.text)


def opens_round(piece: Piece) -> bool:
    """Return whether a piece is the first of a user turn."""
    return piece.speaker == "user" and piece.piece_id.endswith("#0")


def closes_before(window: OpenWindow, piece: Piece, limits: WindowLimits) -> bool:
    """Return whether a window closes before this piece, which would exceed its rounds, idle time or size."""
    if not window.pieces:
        return False
    last = window.pieces[-1]
    if opens_round(piece) and window.rounds >= limits.rounds:
        return True
    if window.characters + len(piece.text) > limits.characters or len(window.pieces) >= MAX_PIECES:
        return True
    if piece.event_id == last.event_id:
        return False
    gaps = (abs(piece.occurred_at - last.occurred_at), piece.recorded_at - last.recorded_at)
    return max(gaps) >= limits.idle


def pieces_of(
    message: Observation,
    recorded_at: datetime,
    position: Position | None = None,
    traceparent: str | None = None,
    zone: tzinfo = UTC,
) -> list[Piece]:
    """Return an observation's pieces, without the text that an agent had recalled into a turn.

    Their time zone is `zone` where the observation names none.
    """
    metadata = "{}" if isinstance(message, SessionEnded) else message.metadata
    speaker, name = _speaker(message)
    context = message.context if isinstance(message, TurnRecorded) else None
    texts = piece_texts(message)
    if isinstance(message, TurnRecorded) and message.infer:  # a turn with infer=false is kept verbatim
        texts = without_recalled(texts)
    return [
        Piece(
            piece_id=piece_id(message.envelope.event_id, number),
            event_id=message.envelope.event_id,
            speaker=speaker,
            text=text,
            occurred_at=effective_time(message, recorded_at),
            recorded_at=recorded_at,
            name=name,
            context=context,
            image=None if number else image_of(message),
            by=message.envelope.by,
            position=position,
            traceparent=traceparent,
            metadata=metadata,
            zone=zone_of(metadata, zone),
            is_relevant=isinstance(message, ScreenshotAnalysed) and message.relevance == "high",
            instructions=message.instructions if isinstance(message, TurnRecorded) else None,
        )
        for number, text in enumerate(texts)
    ]


def _speaker(message: Observation) -> tuple[Speaker, str | None]:
    match message:
        case TurnRecorded():
            return ("assistant" if message.role == "assistant" else "user"), message.name
        case ScreenshotAnalysed():
            return "screenshot", message.app
        case ArticleInferred():
            return "article", message.title
        case SessionEnded():
            return "user", None


def window_of(message: Observation, pieces: tuple[Piece, ...]) -> Window:
    """Return a window of these pieces, with the owner and the source of their observation."""
    source_type, source_ref, session_id = _source(message)
    envelope = message.envelope
    return Window(
        tenant=envelope.tenant,
        user_id=envelope.user_id,
        agent_id=envelope.agent_id,
        session_id=session_id,
        source_type=source_type,
        source_ref=source_ref,
        pieces=pieces,
    )


def _source(message: Observation) -> tuple[SourceType, str, str | None]:
    match message:
        case TurnRecorded() | SessionEnded():
            return "chat", message.session_id, message.session_id
        case ScreenshotAnalysed():
            return "photo", message.screenshot_id, None
        case ArticleInferred():
            return "inferred", message.article_id, None
