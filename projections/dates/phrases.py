"""The meanings of the phrases in both tables: the days of each, in the past tense and in the future tense.

A reader takes a match and today's date. The groups of a match are `y` (a year), `yr` (a relative year), `m` (a month),
`d` (a day), `w` (a weekday), `s` (a season), `n` (a count of `unit`), `half` (and half a unit), `rel` and `week` (the
distance), `part` (a part of the period), `way` (ago or ahead) and `said` (a day with a word of its own).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from projections.dates.numerals import number
from projections.dates.spans import Days, counted, day_from, months, part, unit_from

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterable

Tense: TypeAlias = Literal["past", "coming"]
_NAMES: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTHS: Final = {name: n for n, name in enumerate(_NAMES, start=1)}
_SEASONS: Final = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12, "春": 3, "夏": 6, "秋": 9, "冬": 12}
"""The month in which each season begins in the northern hemisphere."""
_EN_WEEKDAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_WEEKDAYS: Final = {n: i for names in (_EN_WEEKDAYS, "一二三四五六日") for i, n in enumerate(names)} | {"天": 6}
_FAR: Final = {
    "before last": -2, "last": -1, "past": -1, "next": 1, "coming": 1, "after next": 2, "大前年": -3, "前年": -2,
    "去年": -1, "上一年": -1, "明年": 1, "下一年": 1, "后年": 2, "大后年": 3,
}  # fmt: skip
_DAYS: Final = {
    "day before yesterday": -2, "night before last": -2, "yesterday": -1, "last night": -1, "tomorrow": 1,
    "day after tomorrow": 2, "大前": -3, "前": -2, "昨": -1, "明": 1, "后": 2, "大后": 3,
}  # fmt: skip
_UNITS: Final = dict(zip("天周月年", ("day", "week", "month", "year"), strict=True)) | {
    "星期": "week", "礼拜": "week", "周末": "weekend", "季度": "quarter",
}  # fmt: skip
_PARTS: Final = {
    "beginning": "begin", "start": "begin", "early": "early", "mid": "mid", "middle": "mid", "late": "late",
    "初": "begin", "上旬": "early", "中": "mid", "中旬": "mid", "下旬": "late", "上半年": "half", "下半年": "other",
}  # fmt: skip
_BACK: Final = frozenset({"ago", "前", "last", "past", "最近", "过去", "近", "这"})


@dataclass(frozen=True, slots=True)
class Meaning:
    """The days that a phrase means in each tense; None if it means none in that tense."""

    past: Days | None
    coming: Days | None
    default: Tense | None = None
    """The tense to assume if the words around the phrase do not tell it; None if neither is certain."""
    unit: str = "day"
    relative: bool = True
    """Whether the days depend on the time of speaking."""


Reader: TypeAlias = "Callable[[re.Match[str], date], Meaning | None]"
Phrase: TypeAlias = "tuple[re.Pattern[str], Reader]"


def day_of(m: re.Match[str], today: date) -> Meaning | None:
    """Return a day of a named month (with or without a year), of a relative month, or of any month."""
    month, day, year = _month(m), number(_said(m, "d")) or 0, _year(m, today)
    if _said(m, "rel"):
        of = unit_from("month", today, _far(_said(m, "rel"))).first
        month, year = of.month, of.year
    if month is not None and year is not None:
        return _sure(Days(date(year, month, day), date(year, month, day)), relative=not _said(m, "y"))
    if month is None:
        near = [months(today.year, today.month + n).first for n in (-2, -1, 0, 1, 2)]
    else:
        near = [date(today.year + n, month, 1) for n in (-1, 0, 1)]
    days = [first + timedelta(days=day - 1) for first in near if 0 < day <= (_next(first) - first).days]
    return _open((Days(one, one) for one in days), today, "number" if month is None else "date")


def months_of(m: re.Match[str], today: date) -> Meaning | None:
    """Return a month or a season, with or without a year, or a part of it."""
    month, season = _month(m), _SEASONS.get(_said(m, "s"))
    length, unit, begin = (3, "season", season) if season else (1, "month", month or 0)
    year, far = _year(m, today), _said(m, "rel")
    near = [months(today.year + n, begin, length) for n in (-2, -1, 0, 1)] if begin else []
    if not near:
        return None
    if year is not None:
        return _partly(_sure(months(year, begin, length), unit, relative=not _said(m, "y")), m)
    if (count := _far(far)) < 0:
        return _partly(_sure(max(days for days in near if days.last < today), unit), m)
    if count > 0:
        return _partly(_sure(min(days for days in near if days.first > today), unit), m)
    found = _open(near, today, unit)
    return found and _partly(replace(found, default="coming" if far in ("this", "这个") else None), m)


def year_of(m: re.Match[str], today: date) -> Meaning:
    """Return a year or a part of it; the current year if none is named."""
    year = _year(m, today)
    days = months(today.year if year is None else year, 1, 12)
    return _partly(_sure(days, "year", relative=not _said(m, "y")), m)


def period(m: re.Match[str], today: date) -> Meaning | None:
    """Return the day, week, weekend, month, quarter or year at the given distance, or a part of it."""
    unit, rel = _unit(m), _said(m, "rel")
    if unit == "weekend" and not rel:
        return _open((unit_from(unit, today, n) for n in (-1, 0)), today, unit)
    return _partly(_sure(unit_from(unit, today, _far(rel)), unit), m)


def said(m: re.Match[str], today: date) -> Meaning:
    """Return a day that has a word of its own: yesterday, 后天."""
    return _sure(_by_word(m, today))


def weekday(m: re.Match[str], today: date) -> Meaning | None:
    """Return a weekday, or a range of weekdays, of the named week if there is one."""
    day, rel, week = _WEEKDAYS[_said(m, "w")[:3]], _said(m, "rel"), _said(m, "week")
    if rel in ("next", "after next"):
        week = rel
    if week:
        last = _WEEKDAYS.get(_said(m, "w2"), day)
        monday = unit_from("week", today, _far(week)).first
        days = Days(monday + timedelta(days=day), monday + timedelta(days=max(day, last)))
        return _sure(days, "day" if day >= last else "range")
    if "w2" in m.groupdict():  # a range without a week recurs every week
        return None
    ahead = day_from(today, (day - today.weekday()) % 7)
    if (far := _far(rel)) < 0:
        return _sure(day_from(today, -((today.weekday() - day - 1) % 7) - 1 + 7 * (far + 1)))
    if far > 0:
        return _sure(ahead)
    past = unit_from("week", today, 0).first + timedelta(days=day) if rel else ahead.first - timedelta(days=7)
    if ahead.first == today:
        past = today
    return Meaning(Days(past, past), ahead, "coming" if rel else None, "weekday")


def counted_from(m: re.Match[str], today: date) -> Meaning | None:
    """Return the day or period that is `n` units before or after today, or after a named day."""
    unit, way, half = _unit(m) or "week", _said(m, "way"), bool(_said(m, "half") or _said(m, "more"))
    times = number(_said(m, "n")) if _said(m, "n") else 0 if half else 1
    if times is None or not (times or half):
        return None
    begin = _by_word(m, today).first
    if _said(m, "w"):
        begin = today + timedelta(days=(_WEEKDAYS[_said(m, "w")[:3]] - today.weekday()) % 7)
    days = counted(unit, begin, times, back=way in _BACK, half=half)
    if way in ("", "后"):  # "did it in two weeks" does not name a day
        return Meaning(None, days, "coming", unit)
    return _sure(days, unit)


def range_of(m: re.Match[str], today: date) -> Meaning | None:
    """Return the `n` days, weeks, months or years that end today or begin today."""
    unit, times, back = _unit(m), number(_said(m, "n") or "1"), _said(m, "way") in _BACK
    if not times:
        return None
    end = counted(unit, today, times, back=back)
    if unit in ("month", "year"):
        first = date(end.first.year, end.first.month if unit == "month" else today.month, 1)
        end = day_from(min(first + timedelta(days=today.day - 1), _next(first) - timedelta(days=1)), 0)
    return _sure(Days(min(today, end.first), max(today, end.first)), "range")


def _said(m: re.Match[str], name: str) -> str:
    """Return the text of a group in lower case; an empty string if it does not take part in the match."""
    return (m.groupdict().get(name) or "").lower()


def _far(rel: str) -> int:
    """Return how many units ahead a word points, negative for the past: 1 for next, -2 for 上上."""
    for word in ("this ", "the ", " week", " year", " month"):
        rel = rel.removeprefix(word) if word.endswith(" ") else rel.removesuffix(word)
    return _FAR.get(rel, rel.count("下") - rel.count("上"))


def _year(m: re.Match[str], today: date) -> int | None:
    if spelt := _said(m, "y"):
        return int(spelt)
    return today.year + _far(_said(m, "yr")) if _said(m, "yr") else None


def _month(m: re.Match[str]) -> int | None:
    named = _said(m, "m")
    return _MONTHS.get(named[:3]) or number(named) or 0 if named else None


def _unit(m: re.Match[str]) -> str:
    unit = _said(m, "unit").removeprefix("个")
    return _UNITS.get(unit, unit)


def _by_word(m: re.Match[str], today: date) -> Days:
    return day_from(today, _DAYS.get(_said(m, "said").removeprefix("the "), 0))


def _next(first: date) -> date:
    return months(first.year, first.month + 1).first


def _sure(days: Days, unit: str = "day", *, relative: bool = True) -> Meaning:
    """Return the meaning of a phrase that is the same in each tense."""
    return Meaning(days, days, "past", unit, relative)


def _open(near: Iterable[Days], today: date, unit: str) -> Meaning | None:
    """Return a meaning with the last candidate that has begun and the first that is not over; None without any."""
    days = sorted(near)
    past = next((one for one in reversed(days) if one.first <= today), None)
    coming = next((one for one in days if one.last >= today), None)
    return Meaning(past, coming, None, unit) if days else None


def _partly(found: Meaning, m: re.Match[str]) -> Meaning:
    name = _said(m, "part").removeprefix("年")
    if not name or not found.past or not found.coming:
        return found
    name = _PARTS.get(name, "end")
    return replace(found, past=part(found.past, name), coming=part(found.coming, name), unit="part")
