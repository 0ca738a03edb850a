"""Named example values of wakes: Xiaoming's reminders, her periodic wake, and the tick that names the time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from support.examples import LUNA, MONDAY, envelope, vector_of

from schemas.identity import derived_id, partition_owner
from schemas.messages.envelope import Sealed
from schemas.messages.wakes import CancelReminder, ConfigureWake, ScheduleReminder, WakeDue

if TYPE_CHECKING:
    from datetime import datetime

ROUTINE = "[Periodic Wake] You are waking up for a routine check."
HOUR = 3600.0


def reminder(
    content: str, command: str, due_at: datetime, at: datetime = MONDAY, *, agent_id: str | None = LUNA
) -> ScheduleReminder:
    """Return the command to schedule a reminder of a content."""
    text = f"remind of {content}"
    return ScheduleReminder(
        envelope=envelope(command, at, agent_id=agent_id),
        due_at=due_at,
        content=Sealed.clear(content),
        channel="telegram",
        text=Sealed.clear(text),
        vector=Sealed.clear(vector_of(text)),
        embedding_model="test",
    )


def cancelled(reminder_id: str, command: str, at: datetime = MONDAY) -> CancelReminder:
    """Return the command to cancel a reminder."""
    return CancelReminder(envelope=envelope(command, at), reminder_id=reminder_id)


def woken(
    command: str,
    at: datetime = MONDAY,
    *,
    every: float | None = HOUR,
    text: str = ROUTINE,
    query: str | None = None,
    agent_id: str | None = LUNA,
    **more: Any,
) -> ConfigureWake:
    """Return the command to wake the agent every `every` seconds; None means no longer."""
    asked = query or text
    return ConfigureWake(
        envelope=envelope(command, at, agent_id=agent_id),
        every_seconds=every,
        text=Sealed.clear(text) if every else None,
        query=Sealed.clear(query) if query else None,
        vector=Sealed.clear(vector_of(asked)) if more.get("memory_limit") else None,
        embedding_model="test" if more.get("memory_limit") else None,
        **more,
    )


def wake_tick(as_of: datetime) -> WakeDue:
    """Return the wake tick of partition 0."""
    owner = partition_owner(0)
    tick_id = derived_id("tick", "wake", as_of.isoformat())
    return WakeDue(envelope=envelope(tick_id, as_of, agent_id=None, owner=owner), as_of=as_of)
