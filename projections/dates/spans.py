"""Spans of days of the calendar: days, weeks from Monday, months, quarters and years, and parts of them."""

from __future__ import annotations

from calendar import monthrange
from datetime import date, timedelta
from typing import Final, NamedTuple

_MOST: Final = 999
"""The greatest distance in days, weeks, months or years."""
_DECEMBER: Final = 12
_WEEK: Final = 7
_LONGEST_MONTH: Final = 31
_ONE_DAY: Final = timedelta(days=1)
_OF_YEAR: Final = {
    "begin": (1, 2), "early": (1, 4), "mid": (5, 4), "late": (9, 4), "end": (11, 2), "half": (1, 6), "other": (7, 6)
}  # fmt: skip
_OF_MONTH: Final = {"begin": (0, 5), "early": (0, 10), "mid": (10, 20), "late": (20, 31), "end": (24, 31)}
_OF_WEEK: Final = {"begin": (0, 2), "early": (0, 2), "mid": (2, 4), "late": (4, 7), "end": (4, 7)}


class Days(NamedTuple):
    """A span of days, both ends included."""

    first: date
    last: date

    @property
    def written(self) -> str:
        """The span in its shortest form: `2026-11-09`, `2026-11`, `2026`, `2026-06 to 2026-08`."""
        first, last = self.first.isoformat(), self.last.isoformat()
        if self.first.day == 1 and (self.last + _ONE_DAY).day == 1:
            length = 4 if (self.first.month, self.last.month) == (1, _DECEMBER) else 7
            first, last = first[:length], last[:length]
        return first if first == last else f"{first} to {last}"


def day_from(today: date, count: int) -> Days:
    """Return the day `count` days after today, or before it if `count` is negative."""
    day = today + timedelta(days=count)
    return Days(day, day)


def months(year: int, month: int, number: int = 1) -> Days:
    """Return `number` months from the given one on. A month may lie outside its year: month 13 is the next January."""
    (years, first), (more, last) = (divmod(n, _DECEMBER) for n in (month - 1, month + number - 2))
    end = monthrange(year + more, last + 1)[1]
    return Days(date(year + years, first + 1, 1), date(year + more, last + 1, end))


def unit_from(unit: str, today: date, count: int) -> Days:
    """Return the whole day, week, weekend, month, quarter or year that is `count` units ahead, or back if negative."""
    if abs(count) > _MOST:
        raise ValueError(count)
    monday = today + timedelta(weeks=count, days=-today.weekday())
    match unit:
        case "day":
            return day_from(today, count)
        case "week":
            return Days(monday, monday + timedelta(days=6))
        case "weekend":
            return Days(monday + timedelta(days=5), monday + timedelta(days=6))
        case "month":
            return months(today.year, today.month + count)
        case "quarter":
            return months(today.year, (today.month - 1) // 3 * 3 + 1 + 3 * count, 3)
        case _:
            return months(today.year + count, 1, _DECEMBER)


def counted(unit: str, today: date, count: int, *, back: bool, half: bool = False) -> Days:
    """Return the day (for days and weeks) or the whole period (for months and years) `count` units from today.

    `half` adds half a unit: half a year is six months, half a month is fifteen days.
    """
    sign = -1 if back else 1
    if half and unit == "year":
        return unit_from("month", today, sign * (12 * count + 6))
    if half or unit in ("week", "fortnight"):
        length = {"week": 7, "fortnight": 14, "month": 30}.get(unit, 1)
        return unit_from("day", today, sign * (length * count + length // 2 * half))
    return unit_from(unit, today, sign * count)


def part(of: Days, name: str) -> Days:
    """Return a part of a week, a month or a year: its beginning, its early, middle or late third, its end, or a half.

    As in jionlp, a month begins with its first five days and ends with the days from the 25th on. A year begins and
    ends with two months.
    """
    length = (of.last - of.first).days + 1
    if length > _LONGEST_MONTH:
        return months(of.first.year, *_OF_YEAR[name])
    begin, end = (_OF_WEEK if length <= _WEEK else _OF_MONTH)[name]
    return Days(of.first + timedelta(days=begin), min(of.last, of.first + timedelta(days=end - 1)))
