"""Days named in texts, and what lies ahead: dated plans, and days that recur every year."""

from __future__ import annotations

import re
from calendar import isleap
from dataclasses import dataclass
from datetime import MAXYEAR, UTC, date, tzinfo
from typing import TYPE_CHECKING, Final

from projections.state.memory import ACTIVE
from schemas.inputs.zone import at_midnight, local, local_time
from schemas.vocabulary.attributes import name_and_date, plain_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from projections.state.memory import Memory

BIRTHDAY: Final = "birthday"
IMPORTANT: Final = "important_dates"
ANNIVERSARY: Final = "anniversary"
SCHEDULE: Final = "schedule"

_ONES: Final = {character: n for n, character in enumerate("一二三四五六七八九", 1)}
_NAMES: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTHS: Final = {name: number for number, name in enumerate(_NAMES, 1)}
_NUMERAL: Final = r"\d{1,2}|[一二三四五六七八九十]{1,3}"
_MONTH: Final = rf"(?P<name>{'|'.join(_NAMES)})[a-z]*\.?"
_SPELLINGS: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?<!\d)(?P<y>\d{4})[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})(?!\d)",
        rf"(?:(?P<y>\d{{4}})年)?(?P<m>{_NUMERAL})月(?P<d>{_NUMERAL})[日号]?",
        rf"\b{_MONTH}\s+(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?:,?\s+(?P<y>\d{{4}}))?\b",
        rf"\b(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH}(?:,?\s+(?P<y>\d{{4}}))?\b",
        r"(?<!\d)(?P<m>\d{1,2})-(?P<d>\d{1,2})(?!\d)",
    )
)


@dataclass(frozen=True, slots=True)
class YearlyDay:
    """A day that recurs every year; `year` is the first one, if it was given."""

    year: int | None
    month: int
    day: int

    def next_from(self, today: date) -> date | None:
        """Return the next such day from a day on; 29 February is the 28th in other years. None past the calendar."""
        first = max(today.year, self.year or 0)
        for year in range(first, min(first + 2, MAXYEAR + 1)):
            if (found := _day(year, self.month, self.day)) >= today:
                return found
        return None

    def may_be(self, other: YearlyDay) -> bool:
        """Return whether both name the same day, as far as their years were given."""
        return (self.month, self.day) == (other.month, other.day) and (
            self.year == other.year or None in (self.year, other.year)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ahead:
    """Something that lies ahead."""

    day: date
    at: datetime | None = None
    """Of a plan that was said with an hour."""
    kind: str
    """plan, or yearly."""
    name: str | None
    """Of a yearly day: `birthday`, its label, or `anniversary`."""
    years: int | None
    """How many years it will have been; None for plans, and where the first year was not said."""
    memory: Memory


def yearly_day(text: str) -> YearlyDay | None:
    """Return the day that a value of the profile names; None where a guess would be needed (3/4 is not read)."""
    return next((_day_of(m) for pattern in _SPELLINGS if (m := pattern.search(text))), None)


def days_named(text: str) -> list[YearlyDay]:
    """Return every day that a text names, each as it is spelt in full."""
    spelt: list[re.Match[str]] = []
    taken = bytearray(len(text))
    for pattern in _SPELLINGS:
        for m in pattern.finditer(text):
            if not any(taken[m.start() : m.end()]):
                spelt.append(m)
                taken[m.start() : m.end()] = b"\x01" * len(m[0])
    return [day for m in spelt if (day := _day_of(m)) is not None]


def _day_of(spelt: re.Match[str]) -> YearlyDay | None:
    found = spelt.groupdict()
    month = _MONTHS.get(found["name"].lower()) if found.get("name") else _number(found["m"])
    day = _number(found["d"])
    try:
        _day(2000, month or 0, day)  # a leap year: without a year, 29 February is a day
    except ValueError:
        return None
    return YearlyDay(int(found["y"]) if found.get("y") else None, month or 0, day)


def names_day(text: str) -> bool:
    """Return whether a text spells a day, be it one that no year has."""
    return any(pattern.search(text) for pattern in _SPELLINGS)


def upcoming(
    memories: Iterable[Memory], as_of: datetime, days: int, agent_id: str | None = None, zone: tzinfo = UTC
) -> list[Ahead]:
    """Return what lies at most so many days ahead of an instant, the nearest first; days are those of a zone.

    A plan is a memory whose day lies after it was formed, or is a day of its own (of category schedule). Yearly are the
    birthday, the important dates (of each name the newest) and the anniversaries that have been.
    """
    today = local(as_of, zone).date()
    shown = [m for m in memories if m.status_at(as_of) == ACTIVE and m.visible_to(agent_id)]
    found = [
        one for one in (*_plans(shown, today, zone), *_yearly(shown, today, zone)) if (one.day - today).days <= days
    ]
    return sorted(found, key=lambda one: (one.day, one.kind, one.memory.memory_id))


def _plans(memories: Iterable[Memory], today: date, zone: tzinfo) -> Iterator[Ahead]:
    for memory in memories:
        at, is_day = local_time(memory.occurred_at, zone), at_midnight(memory.occurred_at)
        is_plan = at > memory.formed_at or (is_day and memory.category == SCHEDULE)
        if at.date() >= today and is_plan:
            hour = None if is_day else memory.occurred_at
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


def _day(year: int, month: int, day: int) -> date:
    """Return a day of a year. Raises ValueError for one that no year has."""
    return date(year, month, 28 if (month, day) == (2, 29) and not isleap(year) else day)


def _number(text: str) -> int:
    """Return a number in digits, or in Chinese up to 39."""
    if text.isdecimal():
        return int(text)
    tens, ten, ones = text.rpartition("十")
    return (10 * (_ONES.get(tens, 1) if tens else 1) if ten else 0) + _ONES.get(ones, 0)
