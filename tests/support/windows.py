"""Windows as extractors get them, made of turns that a test writes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final

from streams.extraction.protocol import Piece, Window

MORNING: Final = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)


def piece(number: int, text: str = "text", **fields: Any) -> Piece:
    """Return the only piece of the user's turn `t-NUMBER`, said NUMBER minutes after eight."""
    at = MORNING + timedelta(minutes=number)
    given: dict[str, Any] = {"speaker": "user", "occurred_at": at, "recorded_at": MORNING} | fields
    return Piece(piece_id=f"t-{number}#0", event_id=f"t-{number}", text=text, **given)


def window(*pieces: Piece, **fields: Any) -> Window:
    """Return a window of session s1 of the user u1."""
    given: dict[str, Any] = {"tenant": "default", "user_id": "u1", "agent_id": None, "session_id": "s1"}
    given |= {"source_type": "chat", "source_ref": "s1"}
    return Window(**given | fields, pieces=pieces)


def talk(*texts: str, **fields: Any) -> Window:
    """Return a window of the user's texts, one turn a minute."""
    return window(*(piece(number, text) for number, text in enumerate(texts)), **fields)
