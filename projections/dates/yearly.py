"""Days that recur every year, as birthdays and values of the profile spell them."""

from __future__ import annotations

import re
from calendar import isleap
from dataclasses import dataclass
from datetime import MAXYEAR, date
from typing import TYPE_CHECKING, Final

from projections.dates.chinese import CHINESE_DATES, lunar_from
from projections.dates.english import ENGLISH_DATES
from projections.dates.phrases import day_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from projections.dates.phrases import Reader

_LEAP_DAY: Final = date(2000, 2, 1)
"""A reference date from which every day of the year, 29 February included, can be found."""
_MONTH_AND_DAY: Final = re.compile(r"(?<!\d)(?P<m>\d{1,2})-(?P<d>\d{1,2})(?!\d)")
_SPELLINGS: Final = (*CHINESE_DATES, *ENGLISH_DATES, (_MONTH_AND_DAY, day_of))


@dataclass(frozen=True, slots=True)
class YearlyDay:
    """A day that recurs every year; `year` is the first one, if it was given."""

    year: int | None
    month: int
    day: int

    def __str__(self) -> str:
        """Return `1990-03-05`, or `03-05` without a year."""
        day = f"{self.month:02}-{self.day:02}"
        return f"{self.year}-{day}" if self.year else day

    def next_from(self, today: date) -> date | None:
        """Return the next occurrence from a day on; None past the end of the calendar.

        29 February falls on the 28th in years that are not leap years.
        """
        first = max(today.year, self.year or 0)
        for year in range(first, min(first + 2, MAXYEAR + 1)):
            is_short = (self.month, self.day) == (2, 29) and not isleap(year)
            if (found := date(year, self.month, 28 if is_short else self.day)) >= today:
                return found
        return None

    def may_be(self, other: YearlyDay) -> bool:
        """Return whether both name the same day, as far as their years were given."""
        return (self.month, self.day) == (other.month, other.day) and (
            self.year == other.year or None in (self.year, other.year)
        )


def yearly_day(text: str) -> YearlyDay | None:
    """Return the first day that a value of the profile names; None if it names none. An ambiguous 3/4 is not read."""
    return next(iter(days_named(text)), None)


def days_named(text: str) -> list[YearlyDay]:
    """Return every day that a text names, in order."""
    return [day for day in _spelt(text) if day]


def names_day(text: str) -> bool:
    """Return whether a text spells a day, even one that does not exist in any year."""
    return any(True for _ in _spelt(text))


def birth_date(text: str) -> str | None:
    """Return the first date in a text of either language as `YYYY-MM-DD`, or as `MM-DD` if it has no year."""
    day = None if _MONTH_AND_DAY.fullmatch(text) else yearly_day(text)
    return str(day) if day else None


def _spelt(text: str) -> Iterator[YearlyDay | None]:
    """Yield the day of each solar date in order; None for a date that does not exist."""
    found = [(m.start(), -m.end(), m, read) for pattern, read in _SPELLINGS for m in pattern.finditer(text)]
    taken, lunar = 0, lunar_from(text)
    for begin, end, m, read in sorted(found, key=lambda one: one[:2]):
        if taken <= begin < lunar:
            taken = -end
            yield _day(m, read)


def _day(m: re.Match[str], read: Reader) -> YearlyDay | None:
    try:
        meaning = read(m, _LEAP_DAY)
    except (ValueError, OverflowError):
        return None
    if meaning is None or meaning.coming is None:
        return None
    day = meaning.coming.first
    return YearlyDay(None if meaning.relative else day.year, day.month, day.day)
