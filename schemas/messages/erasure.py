"""Erasures of a user and of a single memory: the commands, and the events that they lead to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from schemas.messages.envelope import Envelope


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """The offset at which an erasure divides one topic in the user's partition."""

    topic: str
    before: int
    """The offset before which no record of the user counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EraseUser:
    """Erase a user: everything before the cut, however far it has been processed.

    Its sender has ensured that everything appended after the cut is sealed with other keys than those named here.
    """

    envelope: Envelope
    cut: list[Cut]
    """The cuts in the input topics and the dead letters. In the inbox, this item itself is the cut."""
    key_ids: list[bytes]
    """The ids of the data keys that the erasure destroys."""
    observations: int
    """The number of the user's observations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserErased:
    """A user is unknown from here on; a user who returns begins anew."""

    envelope: Envelope
    cut: list[Cut]
    key_ids: list[bytes]
    erased_at: datetime
    """Log time. Nothing logged up to then is remembered any more, however late its extraction comes."""
    observations: int
    """The number of erased observations."""
    memories: int
    """The number of erased memories, in any status."""
    active: int
    """The number of erased memories that were in the index."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EraseMemory:
    """Erase one memory with its history, and the observations that it came from."""

    envelope: Envelope
    memory_id: str
    event_ids: list[str]
    """The ids of these observations, which are no longer known, and are not accepted again."""
    letters: list[str]
    """The ids of the dead letters that contain words of these observations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryErased:
    """A memory and its observations are unknown from here on, and their words in the log are overwritten."""

    envelope: Envelope
    memory_id: str
    event_ids: list[str]
    letters: list[str]
    kept: list[str]
    """The ids of other memories that came from the same observations; they stay, with their own texts."""
    erased_at: datetime
    """Log time."""
    was_active: bool
    """Whether the memory was in the index."""
