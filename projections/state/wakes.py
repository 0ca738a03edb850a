"""The state of a user's wakes and its fold: configuration, waiting reminders, and the memories shown last."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final, assert_never

from immutables import Map

from schemas.instant import EPOCH, MICROSECOND, microseconds
from schemas.messages.wakes import ReminderCancelled, ReminderScheduled, WakeConfigured, WakeRaised

LEAST_EVERY_SECONDS: Final = 1
MOST_EVERY_SECONDS: Final = 366 * 86_400
_NEVER: Final = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wakes:
    """Everything on which decisions about a user's wakes depend. Raised wakes are in the ledger, and not kept here."""

    configured: WakeConfigured | None = None
    """The present configuration; None if there are no periodic wakes."""
    settings_id: str | None = None
    """The id of the last settings received, whether or not they are in effect."""
    last_slot: datetime | None = None
    """The newest slot raised under the present configuration."""
    reminders: Map[str, ReminderScheduled] = Map()
    """The waiting reminders, by their ids."""
    raised: int = 0
    """The number of wakes raised so far."""
    round: int = 0
    shown: Map[str, int] = Map()
    """The last round in which a periodic wake showed each memory."""


NO_WAKES: Final = Wakes()


def evolve_wakes(wakes: Wakes, event: ReminderScheduled | ReminderCancelled | WakeConfigured | WakeRaised) -> Wakes:
    """Return the wakes after an event. Raises KeyError for a reminder that does not wait."""
    match event:
        case ReminderScheduled():
            return replace(wakes, reminders=wakes.reminders.set(event.reminder_id, event))
        case ReminderCancelled():
            return replace(wakes, reminders=wakes.reminders.delete(event.reminder_id))
        case WakeConfigured():
            return replace(
                wakes,
                configured=event if is_periodic(event.every_seconds) and event.text is not None else None,
                settings_id=event.settings_id or wakes.settings_id,
                last_slot=None,
            )
        case WakeRaised() if event.reminder_id is not None:
            return replace(wakes, raised=event.number, reminders=wakes.reminders.delete(event.reminder_id))
        case WakeRaised():
            shown = wakes.shown.update(dict.fromkeys(event.memory_ids, event.round))
            return replace(wakes, raised=event.number, last_slot=event.due_at, round=event.round, shown=shown)
        case _:
            assert_never(event)


def is_periodic(every_seconds: float | None) -> bool:
    """Return whether this period is valid for slots; any other period in the log raises no wake."""
    return every_seconds is not None and LEAST_EVERY_SECONDS <= every_seconds <= MOST_EVERY_SECONDS


def next_due(wakes: Wakes) -> datetime | None:
    """Return the time at which the next wake is due, or None if there is none."""
    times = [reminder.due_at for reminder in wakes.reminders.values()]
    if (slot := next_due_slot(wakes)) is not None:
        times.append(slot)
    return min(times, default=None)


def next_due_slot(wakes: Wakes) -> datetime | None:
    """Return the time at which the next periodic wake is due, or None if there is none."""
    return None if wakes.configured is None else _slot(wakes.configured, since(wakes, wakes.configured), 1)


def due_slot(wakes: Wakes, as_of: datetime) -> datetime | None:
    """Return the newest slot that is due and not raised; earlier ones were missed, and get no wake of their own."""
    if wakes.configured is None:
        return None
    slot = _slot(wakes.configured, as_of, 0)
    return slot if slot > since(wakes, wakes.configured) else None


def due_reminders(wakes: Wakes, as_of: datetime) -> list[ReminderScheduled]:
    """Return the reminders that are due, the oldest first."""
    due = [reminder for reminder in wakes.reminders.values() if reminder.due_at <= as_of]
    return sorted(due, key=lambda reminder: (reminder.due_at, reminder.reminder_id))


def since(wakes: Wakes, configured: WakeConfigured) -> datetime:
    """Return the instant after which slots are due: that of the configuration, or of the newest slot raised."""
    return max(configured.envelope.occurred_at, wakes.last_slot or configured.envelope.occurred_at)


def _slot(configured: WakeConfigured, moment: datetime, ahead: int) -> datetime:
    """Return the newest multiple of the period that is not after the moment, moved `ahead` by that many periods.

    Beyond the end of the calendar, returns an instant that is never reached.
    """
    period = round((configured.every_seconds or 0) * 1_000_000)
    try:
        return EPOCH + (microseconds(moment) // period + ahead) * period * MICROSECOND
    except OverflowError:
        return _NEVER
