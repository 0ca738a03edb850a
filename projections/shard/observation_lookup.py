"""What a shard tells of an observation: its first record, how far it has come, and a turn as it was published."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from schemas.log import Position
    from schemas.messages.observations import TurnRecorded


@dataclass(frozen=True, slots=True)
class Seen:
    """The first record of an observation: later ones with the same id are repeats, or conflicts."""

    event_id: str
    position: Position
    digest: bytes
    kind: str
    pieces: int
    """0: nothing is extracted from it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far an observation has come; `waiting` is not known here."""

    state: str
    """accepted, extracted, remembered, nothing, rejected or dead."""
    reason: str | None
    memory_ids: tuple[str, ...]
    decisions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn as it was published."""

    message: TurnRecorded
    recorded_at: datetime
