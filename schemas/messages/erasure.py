"""Erasures of a user and of a single memory: the commands, and the events that they lead to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from schemas.messages.envelope import Envelope


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """Where an erasure divides one topic of the user's partition."""

    topic: str
    before: int
    """The offset before which nothing of the user counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EraseUser:
    """Erase a user: everything before the cut, wherever it is on its way.

    Its sender has ensured that everything appended after the cut is sealed with a key other than those named.
    """

    envelope: Envelope
    cut: list[Cut]
    """For the input topics and the dead letters. In the inbox, this item itself is the cut."""
    key_ids: list[bytes]
    """The data keys that are destroyed by it."""
    observations: int
    """How many of the user's observations there were."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserErased:
    """A user is unknown from here on; who returns begins anew."""

    envelope: Envelope
    cut: list[Cut]
    key_ids: list[bytes]
    erased_at: datetime
    """Log time. Nothing logged up to then is remembered any more, whenever its extraction comes."""
    observations: int
    """How many there were."""
    memories: int
    """How many there were, in any status."""
    active: int
    """How many of them were in the index."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EraseMemory:
    """Erase one memory with its history, and the observations that it came from."""

    envelope: Envelope
    memory_id: str
    event_ids: list[str]
    """The observations: they are no longer known, and not accepted again."""
    letters: list[str]
    """The dead letters that contain words of these observations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryErased:
    """A memory and its observations are unknown from here on, and what the log has of their words is overwritten."""

    envelope: Envelope
    memory_id: str
    event_ids: list[str]
    letters: list[str]
    kept: list[str]
    """Other memories that came from the same observations; they stay, in their own words."""
    erased_at: datetime
    """Log time."""
    was_active: bool
    """Whether it was in the index."""
