"""Erasures, of a user and of one memory: the commands, and the events that say what is unknown from there on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from schemas.messages.envelope import Envelope


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """Where an erasure divides a topic of the user's partition."""

    topic: str
    before: int
    """The offset before which nothing of the user counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EraseUser:
    """Erase a user: everything before the cut, wherever it is on its way.

    Its sender has seen to it that what is appended after the cut is sealed with another key than those named.
    """

    envelope: Envelope
    cut: list[Cut]
    """Of the input topics and the dead letters; that of the inbox is this item itself."""
    key_ids: list[bytes]
    """The data keys that are destroyed with it."""
    observations: int
    """How many of the user's were held."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserErased:
    """A user is unknown from here on; who returns begins anew."""

    envelope: Envelope
    cut: list[Cut]
    key_ids: list[bytes]
    erased_at: datetime
    """Log time: nothing that was logged until then is remembered any more, whenever its extraction comes."""
    observations: int
    """How many were held."""
    memories: int
    """How many there were, of every status."""
    active: int
    """How many of them the index had."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EraseMemory:
    """Erase one memory with its history, and the observations that it came from."""

    envelope: Envelope
    memory_id: str
    event_ids: list[str]
    """The observations: none of them is known any more, nor a repeat of one."""
    letters: list[str]
    """The dead letters that hold words of theirs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryErased:
    """A memory and its observations are unknown from here on, and what the log has of their words is overwritten."""

    envelope: Envelope
    memory_id: str
    event_ids: list[str]
    letters: list[str]
    kept: list[str]
    """The other memories that came from these observations too: they stay, in words of their own."""
    erased_at: datetime
    """Log time."""
    was_active: bool
    """The index had it."""
