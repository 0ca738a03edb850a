"""Upcoming days: dated plans, and days that recur every year."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, timedelta, tzinfo
from typing import TYPE_CHECKING, Final, Literal

from projections.dates.yearly import YearlyDay, yearly_day
from projections.state.memory import ACTIVE
from projections.text.analyser import fold
from schemas.inputs.zone import at_midnight, local, local_time
from schemas.vocabulary.attributes import name_and_date, plain_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from datetime import datetime

    from projections.state.memory import Memory

BIRTHDAY: Final = "birthday"
IMPORTANT: Final = "important_dates"
ANNIVERSARY: Final = "anniversary"
SCHEDULE: Final = "schedule"
_MOST: Final = 500
"""How many characters of a question are read."""
_AHEAD: Final = re.compile(
    r"\b(?:coming up|upcoming|schedule|agenda|itinerary|appointments?|(?:any|my|our|have|are the) plans?|planned"
    r"|(?:do|am|are) (?:i|we) (?:have |doing )?(?:on |to do )?(?:tomorrow|next|this (?:week|weekend|month)))\b"
    r"|接下来|即将|有什么安排|有啥安排|有哪些安排|什么计划|日程|行程|(?:明天|后天|下周|下星期|下个?月|这周末|周末).{0,8}(?:什么|哪些|啥|吗)"
)
_BEHIND: Final = re.compile(
    r"\b(?:was|were|did|had|last|ago|yesterday|previous|earlier|past)\b|昨天|前天|上周|上个?月|上星期|去年|以前|之前|过去|上次"
)
_DAY: Final = timedelta(days=1)
"""More than the difference between a day of any zone and the same day in UTC."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ahead:
    """An upcoming plan or yearly day."""

    day: date
    at: datetime | None = None
    """The instant of a plan with a time of day; None otherwise."""
    kind: str
    """`plan` or `yearly`."""
    name: str | None
    """The name of a yearly day: `birthday`, `anniversary`, or the label of an important date. None for plans."""
    years: int | None
    """The number of years since the first one; None for plans, and if the first year is unknown."""
    memory: Memory


def upcoming(
    memories: Iterable[Memory], as_of: datetime, days: int, agent_id: str | None = None, zone: tzinfo = UTC
) -> list[Ahead]:
    """Return the plans and yearly days at most `days` days ahead of an instant, the nearest first.

    Days are those of `zone`. A plan is a memory that is dated after its formation, or a whole day of category schedule.
    Yearly days are the birthday, the important dates (the newest for each name) and past anniversaries.
    """
    today = local(as_of, zone).date()
    shown = [m for m in memories if m.status_at(as_of) == ACTIVE and m.visible_to(agent_id)]
    found = [
        one for one in (*_plans(shown, today, zone), *_yearly(shown, today, zone)) if (one.day - today).days <= days
    ]
    return sorted(found, key=lambda one: (one.day, one.kind, one.memory.memory_id))


def asks_for_plans(question: str) -> bool:
    """Return whether a question asks for upcoming plans, as "What is on my schedule?" or 接下来有什么安排？ does."""
    folded = fold(question[:_MOST])
    return _AHEAD.search(folded) is not None and _BEHIND.search(folded) is None


def when(memory: Memory, as_of: datetime, zone_of: Callable[[], tzinfo]) -> Literal["upcoming", "past"] | None:
    """Return whether the day of a plan is upcoming or past at an instant; None if the memory is not a plan.

    `zone_of` returns the zone of the days. It is not called for most memories that cannot be plans.
    """
    if memory.category != SCHEDULE and memory.occurred_at + _DAY <= memory.formed_at:
        return None
    at = local_time(memory.occurred_at, zone := zone_of())
    if not _is_plan(memory, at):
        return None
    return "upcoming" if at.date() >= local(as_of, zone).date() else "past"


def _is_plan(memory: Memory, at: datetime) -> bool:
    return at > memory.formed_at or (at_midnight(memory.occurred_at) and memory.category == SCHEDULE)


def _plans(memories: Iterable[Memory], today: date, zone: tzinfo) -> Iterator[Ahead]:
    for memory in memories:
        at = local_time(memory.occurred_at, zone)
        if at.date() >= today and _is_plan(memory, at):
            hour = None if at_midnight(memory.occurred_at) else memory.occurred_at
            yield Ahead(day=at.date(), at=hour, kind="plan", name=None, years=None, memory=memory)


def _yearly(memories: list[Memory], today: date, zone: tzinfo) -> Iterator[Ahead]:
    newest: dict[tuple[str, str], tuple[str, YearlyDay | None, Memory]] = {}
    for memory in sorted(memories, key=lambda m: (m.formed_at, m.memory_id)):
        if memory.slot == BIRTHDAY and memory.value:
            newest[BIRTHDAY, ""] = (BIRTHDAY, yearly_day(memory.value), memory)
        elif memory.slot == IMPORTANT and memory.value:
            label, day = name_and_date(memory.value)
            newest[IMPORTANT, plain_value(label)] = (label, yearly_day(day), memory)
        elif memory.kind == "episodic" and memory.event_type == ANNIVERSARY:
            was = local_time(memory.occurred_at, zone).date()
            if was < today:
                newest[ANNIVERSARY, memory.memory_id] = (
                    ANNIVERSARY,
                    YearlyDay(was.year, was.month, was.day),
                    memory,
                )
    for name, yearly, memory in newest.values():
        coming = yearly.next_from(today) if yearly else None
        if yearly and coming:
            years = coming.year - yearly.year if yearly.year else None
            yield Ahead(day=coming, kind="yearly", name=name, years=years, memory=memory)
