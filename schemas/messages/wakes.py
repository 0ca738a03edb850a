"""Commands and events about wakes and reminders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from schemas.messages.envelope import Envelope, Sealed


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleReminder:
    """Wake the user's agent once, at `due_at` or as soon after it as somebody looks."""

    envelope: Envelope
    due_at: datetime
    content: Sealed
    """What to remind of, in the user's words."""
    channel: str
    text: Sealed
    """What the agent will receive: REMINDER_TEMPLATE, filled in."""
    vector: Sealed | None = None
    """Of the text; None: its memories are chosen by importance."""
    embedding_model: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelReminder:
    """Do not remind of this."""

    envelope: Envelope
    reminder_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigureWake:
    """Wake the user's agent at every multiple of a period since the epoch; without one no more."""

    envelope: Envelope
    every_seconds: float | None = None
    text: Sealed | None = None
    query: Sealed | None = None
    """What memories are looked for with, instead of the text."""
    vector: Sealed | None = None
    """Of the query, else of the text."""
    embedding_model: str | None = None
    memory_limit: int = 0
    settings_id: str | None = None
    """Which settings say so; None: a request does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WakeDue:
    """It is now `as_of`: raise what is due in the partition."""

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
    """A reminder is not wanted any more."""

    envelope: Envelope
    reminder_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WakeConfigured:
    """From the envelope's `occurred_at` on the user's agent is woken like this; without a period not at all."""

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
    """An agent is to wake up; the envelope's `agent_id` says which, None any."""

    envelope: Envelope
    wake_id: str
    number: int
    """How many wakes the user has had, this one included."""
    kind: str
    """periodic or reminder."""
    reminder_id: str | None = None
    text: Sealed
    channel: str | None = None
    content: Sealed | None = None
    due_at: datetime
    """Of a periodic wake the newest slot: those missed before it have no wake of their own."""
    raised_at: datetime
    """The tick's `as_of`."""
    round: int = 0
    """Of a periodic wake: in one round no memory is shown twice."""
    memory_ids: list[str]
    """The memories shown, best first."""
    tick_id: str
