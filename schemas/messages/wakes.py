"""Commands and events about wakes and reminders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from schemas.messages.envelope import Envelope, Sealed


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleReminder:
    """Wake the user's agent once, at `due_at` or at the first check after it."""

    envelope: Envelope
    due_at: datetime
    content: Sealed
    """What to remind of, in the user's words."""
    channel: str
    text: Sealed
    """What the agent will receive: REMINDER_TEMPLATE, filled in."""
    vector: Sealed | None = None
    """The vector of the text; None: the memories to show are chosen by importance."""
    embedding_model: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelReminder:
    """Cancel a reminder."""

    envelope: Envelope
    reminder_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigureWake:
    """Wake the user's agent at every multiple of a period since the epoch; without a period, no longer."""

    envelope: Envelope
    every_seconds: float | None = None
    text: Sealed | None = None
    query: Sealed | None = None
    """The query for memories, instead of the text."""
    vector: Sealed | None = None
    """The vector of the query, else of the text."""
    embedding_model: str | None = None
    memory_limit: int = 0
    settings_id: str | None = None
    """The id of the settings that ask for it; None: a request does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WakeDue:
    """It is now `as_of`: raise the wakes that are due in the partition."""

    envelope: Envelope
    as_of: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ReminderScheduled:
    """A reminder waits for its time."""

    envelope: Envelope
    reminder_id: str
    due_at: datetime
    content: Sealed
    channel: str
    text: Sealed
    vector: Sealed | None = None
    embedding_model: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReminderCancelled:
    """A reminder was cancelled."""

    envelope: Envelope
    reminder_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WakeConfigured:
    """From the envelope's `occurred_at` on, the user's agent is woken periodically; without a period, it is not."""

    envelope: Envelope
    every_seconds: float | None = None
    text: Sealed | None = None
    query: Sealed | None = None
    vector: Sealed | None = None
    embedding_model: str | None = None
    memory_limit: int = 0
    settings_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WakeRaised:
    """An agent is to wake up: the one in the envelope's `agent_id`, or any if that is None."""

    envelope: Envelope
    wake_id: str
    number: int
    """The number of the user's wakes so far, including this one."""
    kind: str
    """periodic or reminder."""
    reminder_id: str | None = None
    text: Sealed
    channel: str | None = None
    content: Sealed | None = None
    due_at: datetime
    """For a periodic wake, the newest due slot: missed ones before it have no wake of their own."""
    raised_at: datetime
    """The tick's `as_of`."""
    round: int = 0
    """The number of a periodic wake's round: no memory is shown twice in one round."""
    memory_ids: list[str]
    """The memories shown, best first."""
    tick_id: str
