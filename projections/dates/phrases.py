"""What a phrase of the tables says: the days meant where it tells of the past, and where it tells of what comes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from projections.dates.spans import Days, counted, day_from, months, season, unit_from, week_from

if TYPE_CHECKING:
    import re
    from collections.abc import Callable

Tense: TypeAlias = Literal["past", "coming"]


@dataclass(frozen=True, slots=True)
class Meaning:
    """The days of a phrase by the tense around it; None: in that tense it names none."""

    past: Days | None
    coming: Days | None
    default: Tense | None = None
    """Which of the two is meant where nothing tells the tense; None: neither is sure."""
    unit: str = "day"
    relative: bool = True
    """Whether it means other days when it is said at another time."""


Reader: TypeAlias = "Callable[[re.Match[str], date], Meaning | None]"
Phrase: TypeAlias = "tuple[re.Pattern[str], Reader]"


def sure(days: Days, unit: str = "day", *, relative: bool = True) -> Meaning:
    """Return the meaning of a phrase that is the same in each tense."""
    return Meaning(days, days, "past", unit, relative)


def weekday(day: int, today: date) -> Meaning:
    """Return the weekday (Monday: 0) before today, and the one from today on."""
    ahead = (day - today.weekday()) % 7
    return Meaning(day_from(today, ahead - 7), day_from(today, ahead), unit="weekday")


def weekday_of(weeks: int, day: int, today: date) -> Meaning:
    """Return a weekday of the week so many weeks ahead, or back."""
    return sure(day_from(week_from(today, weeks).first, day))


def day_of_year(month: int, day: int, year: int | None, today: date, *, relative: bool = True) -> Meaning | None:
    """Return a day of a year, else the last such day and the next; None of a day that is in no calendar."""
    if year is not None:
        return sure(Days(date(year, month, day), date(year, month, day)), relative=relative)
    near = [found for n in (-1, 0, 1) if (found := _day(today.year + n, month, day))]
    if not near:
        return None
    past = max((found for found in near if found <= today), default=None)
    coming = min((found for found in near if found >= today), default=None)
    return Meaning(Days(past, past) if past else None, Days(coming, coming) if coming else None, unit="date")


def month_of_year(month: int, today: date) -> Meaning:
    """Return the last such month that has begun, and the first that is not over."""
    past = months(today.year if month <= today.month else today.year - 1, month)
    coming = months(today.year if month >= today.month else today.year + 1, month)
    return Meaning(past, coming, unit="month")


def season_of_year(month: int, today: date) -> Meaning:
    """Return the last such season that has begun, and the first that is not over."""
    near = [season(today.year + n, month) for n in (-1, 0, 1)]
    past = max(found for found in near if found.first <= today)
    return Meaning(past, min(found for found in near if found.last >= today), unit="season")


def season_before(month: int, today: date) -> Meaning:
    """Return the last such season that is over."""
    return sure(max(s for n in (-2, -1, 0) if (s := season(today.year + n, month)).last < today), "season")


def season_after(month: int, today: date) -> Meaning:
    """Return the next such season that has not begun."""
    return sure(min(s for n in (0, 1) if (s := season(today.year + n, month)).first > today), "season")


def day_of_month(day: int, today: date) -> Meaning | None:
    """Return the last day of that number, today at the latest, and the next."""
    near = [found for n in (-2, -1, 0, 1, 2) if (found := _of(months(today.year, today.month + n).first, day))]
    if not near:
        return None
    past, coming = max(found for found in near if found <= today), min(found for found in near if found >= today)
    return Meaning(Days(past, past), Days(coming, coming), unit="number")


def range_of(unit: str, count: int, today: date) -> Meaning:
    """Return so many days, weeks, months or years up to today, or from it on."""
    if unit in ("month", "year"):
        of = unit_from(unit, today, count).first
        month = months(of.year, of.month if unit == "month" else today.month)
        end = min(month.first + timedelta(days=today.day - 1), month.last)
    else:
        end = counted(unit, today, abs(count), back=count < 0).first
    return sure(Days(min(today, end), max(today, end)), "range")


def _of(first: date, day: int) -> date | None:
    return _day(first.year, first.month, day)


def _day(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


WEEKDAYS: Final = {name: n for n, name in enumerate(("mon", "tue", "wed", "thu", "fri", "sat", "sun"))} | {
    name: n for n, name in enumerate("一二三四五六日")
}
