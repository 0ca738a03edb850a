"""The span of time that a query names: "last month", "in May 2023", 上周, 去年, 2023年5月."""

from __future__ import annotations

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, Final, TypeAlias

from schemas.inputs.zone import at_midnight, begin_of, local

if TYPE_CHECKING:
    from collections.abc import Callable

_Reader: TypeAlias = "Callable[[re.Match[str], date], tuple[date, date]]"
_MONTHS: Final = {
    name: number
    for number, name in enumerate(
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), start=1
    )
}
_MONTH_NAME: Final = (
    r"(?P<month>january|february|march|april|may|june|july|august|september|october|november|december|"
    r"jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)"
)
_MONTH: Final = rf"{_MONTH_NAME}\.?"
_YEAR: Final = r"(?P<year>(?:19|20)\d\d)"
_NUMBERS: Final = (
    {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "couple of": 2}
    | {c: n for n, c in enumerate("一二三四五六七八九十", start=1)}
    | {"两": 2, "几": 3, "半": 1}
)
_UNITS: Final = (
    {"day": "day", "week": "week", "month": "month", "year": "year", "天": "day", "日": "day", "周": "week"}
    | {"个星期": "week", "星期": "week", "个月": "month", "年": "year"}
)  # fmt: skip
_COUNT: Final = r"(?P<count>\d{1,3}|a couple of|couple of|an?|one|two|three|four|five|six)"
_EARLIEST: Final = datetime(1, 1, 2, tzinfo=UTC)
_LATEST: Final = datetime(9999, 12, 30, tzinfo=UTC)
_LEAD: Final = re.compile(r"(?:before|after|until|till|since|in|during|of|on|last)\s+(?:the\s+)?", re.IGNORECASE)
_BEFORE: Final = re.compile(r"\b(?:before|until|till|prior to)\s+(?:the\s+)?$", re.IGNORECASE)
_AFTER: Final = re.compile(r"\bafter\s+(?:the\s+)?$", re.IGNORECASE)
_SINCE: Final = re.compile(r"\bsince\s+(?:the\s+)?$|从$|自$", re.IGNORECASE)
_ZH_BEFORE: Final = re.compile("(?:之前|以前|前)")
_ZH_AFTER: Final = re.compile("(?:之后|以后)")
_IS_DATE: Final = re.compile("[年月日号天季]$|份$")
_SEASONS: Final = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12, "春": 3, "夏": 6, "秋": 9, "冬": 12}
"""The months in which they begin, in the north."""
_SEASON: Final = r"(?P<season>spring|summer|autumn|fall|winter)"
_ZH_SEASON: Final = r"(?P<season>[春夏秋冬])[天季]"
_ZH_COUNT: Final = r"(?P<count>\d{1,3}|[一二两三四五六七八九十几半])"


@dataclass(frozen=True, slots=True)
class Span:
    """From an instant to before another, UTC: days by the clock of a zone."""

    since: datetime
    until: datetime
    zone: tzinfo = UTC

    def holds(self, moment: datetime) -> bool:
        """Return whether an instant lies within, or a day, which midnight in UTC stands for."""
        if at_midnight(moment):
            moment = begin_of(moment.date(), self.zone)
        return self.since <= moment < self.until

    def overlaps(self, other: Span) -> bool:
        """Return whether an instant lies within both."""
        return self.since < other.until and other.since < self.until


def may_name_time(query: str) -> bool:
    """Return whether a query has a word of those that name a time."""
    return _SIGNS.search(query) is not None


def named_span(query: str, at: datetime, zone: tzinfo = UTC) -> Span | None:
    """Return the span that a query names, seen from an instant and by the clock of a zone.

    None where it names none, or one of no calendar.
    """
    if not may_name_time(query):
        return None
    today = local(at, zone).date()
    for pattern, read in _READERS:
        if found := pattern.search(query):
            try:
                first, end = read(found, today)
            except (ValueError, OverflowError):
                return None
            return _open(query, found, Span(begin_of(first, zone), begin_of(end, zone), zone))
    return None


def _open(query: str, found: re.Match[str], span: Span) -> Span:
    """Return all that is before a span, or from it on, where the words beside it say so."""
    if _BEFORE.search(query, 0, _begin(found)) or (_IS_DATE.search(found[0]) and _ZH_BEFORE.match(query, found.end())):
        return Span(_EARLIEST, span.since, span.zone)
    if _AFTER.search(query, 0, _begin(found)) or (_IS_DATE.search(found[0]) and _ZH_AFTER.match(query, found.end())):
        return Span(span.until, _LATEST, span.zone)
    if _SINCE.search(query, 0, _begin(found)):
        return Span(span.since, _LATEST, span.zone)
    return span


def _begin(found: re.Match[str]) -> int:
    """Return where a date begins, after the preposition that is read with it."""
    lead = _LEAD.match(found[0])
    return found.start() + (lead.end() if lead else 0)


def _month_of(year: int, month: int) -> tuple[date, date]:
    first = date(year, month, 1)
    return first, first + timedelta(days=monthrange(year, month)[1])


def _moved(unit: str, today: date, count: int) -> tuple[date, date]:
    """Return the day, week (from Monday), month or year so many units after the present one."""
    if unit == "day":
        day = today + timedelta(days=count)
        return day, day + timedelta(days=1)
    if unit == "week":
        monday = today - timedelta(days=today.weekday()) + timedelta(weeks=count)
        return monday, monday + timedelta(weeks=1)
    if unit == "month":
        years, month = divmod(today.month - 1 + count, 12)
        return _month_of(today.year + years, month + 1)
    return date(today.year + count, 1, 1), date(today.year + count + 1, 1, 1)


def _number(text: str) -> int:
    return int(text) if text.isdigit() else _NUMBERS[text.lower().removeprefix("a ") if " " in text else text.lower()]


def _full(found: re.Match[str], today: date) -> tuple[date, date]:
    day = date(_year(found, today), _month_number(found), int(found["day"]))
    return day, day + timedelta(days=1)


def _month(found: re.Match[str], today: date) -> tuple[date, date]:
    return _month_of(_year(found, today), _month_number(found))


def _month_number(found: re.Match[str]) -> int:
    text = found["month"].lower()
    if text.isdigit():
        return int(text)
    return _MONTHS[text[:3]] if text[:3] in _MONTHS else _chinese_month(text)


def _chinese_month(text: str) -> int:
    tens, _, ones = text.rpartition("十")
    return _NUMBERS[text] if len(text) == 1 else 10 * (_NUMBERS[tens] if tens else 1) + (_NUMBERS[ones] if ones else 0)


def _year(found: re.Match[str], today: date) -> int:
    """Return the year that is named; of a month without one the last that has begun."""
    groups = found.groupdict()
    if groups.get("year"):
        return int(found["year"])
    if relative := groups.get("relative"):
        return today.year + {"今年": 0, "去年": -1, "前年": -2, "this year": 0, "last year": -1}[relative.lower()]
    return today.year if _month_number(found) <= today.month else today.year - 1


def _ago(found: re.Match[str], today: date) -> tuple[date, date]:
    return _moved(_UNITS[found["unit"].lower()], today, -_number(found["count"]))


def _past(found: re.Match[str], today: date) -> tuple[date, date]:
    """Return from so many units ago to the end of today."""
    first, _ = _moved("day", today, 0)
    days = {"day": 1, "week": 7, "month": 30, "year": 365}[_UNITS[found["unit"].lower()]]
    return first - timedelta(days=days * _number(found["count"] or "1")), first + timedelta(days=1)


def _whole_year(found: re.Match[str], _: date) -> tuple[date, date]:
    year = int(found["year"])
    return date(year, 1, 1), date(year + 1, 1, 1)


def _season(found: re.Match[str], today: date) -> tuple[date, date]:
    """Return a season of the year that is named; "last" is the last that is over, else the last that has begun."""
    month = _SEASONS[found["season"].lower()]
    groups = found.groupdict()
    if groups.get("year") or groups.get("relative"):
        return _months_from(_year(found, today), month)
    year = today.year
    is_last = (groups.get("which") or "").lower() in ("last", "上个", "上一个")
    while True:
        first, end = _months_from(year, month)
        if (end if is_last else first) <= today:
            return first, end
        year -= 1


def _months_from(year: int, month: int) -> tuple[date, date]:
    """Return the three months that begin with one."""
    later = month + 3
    return date(year, month, 1), date(year + (later > 12), (later - 1) % 12 + 1, 1)  # noqa: PLR2004 - months of a year


def _fixed(unit: str, count: int) -> _Reader:
    return lambda _, today: _moved(unit, today, count)


def _weekend(_: re.Match[str], today: date) -> tuple[date, date]:
    monday, end = _moved("week", today, -1)
    return monday + timedelta(days=5), end


_ZH_MONTH: Final = r"(?P<month>\d{1,2}|[一二三四五六七八九十]{1,2})月"
_ZH_YEAR: Final = r"(?:(?P<year>(?:19|20)\d\d)年|(?P<relative>今年|去年|前年))"
_ZH_ONE_MONTH: Final = r"(?P<month>1[0-2]|[1-9]|十[一二]?|[一二三四五六七八九])"
_NO_NUMBER: Final = r"[\d一二三四五六七八九十个]"
_DAY: Final = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_UNIT: Final = r"(?P<unit>day|week|month|year)"
_FEW: Final = r"(?P<count>\d{1,3}|two|three|four|five|six)"
_ENGLISH: Final = (
    (rf"{_DAY} (?:of )?{_MONTH},? {_YEAR}", _full),
    (rf"{_MONTH} {_DAY},? {_YEAR}", _full),
    (rf"on (?:the )?{_DAY} (?:of )?{_MONTH}", _full),
    (rf"on {_MONTH} {_DAY}", _full),
    (rf"{_MONTH},? (?:of )?{_YEAR}", _month),
    (rf"{_SEASON},? (?:of |in )?{_YEAR}", _season),
    (rf"{_SEASON} (?:of )?(?P<relative>last year|this year)", _season),
    (rf"(?:(?P<which>last|this|past)|(?:in|during|since|before|after|until) the) {_SEASON}(?! \d)", _season),
    (rf"(?:in|during) {_SEASON}", _season),
    (rf"(?:in|during|last|since|before|after|until|till) {_MONTH}(?! \d)", _month),
    ("the day before yesterday", _fixed("day", -2)),
    ("(?:yesterday|last night)", _fixed("day", -1)),
    ("(?:today|tonight)", _fixed("day", 0)),
    ("last weekend", _weekend),
    (rf"{_COUNT} {_UNIT}s? ago", _ago),
    (rf"(?:last|past) {_FEW} {_UNIT}s", _past),
    ("last week", _fixed("week", -1)),
    ("this week", _fixed("week", 0)),
    ("last month", _fixed("month", -1)),
    ("this month", _fixed("month", 0)),
    ("last year", _fixed("year", -1)),
    ("this year", _fixed("year", 0)),
    (rf"(?:in|during|of|since|before|after|until|till) {_YEAR}", _whole_year),
)
_CHINESE: Final = (
    (rf"{_ZH_YEAR}?{_ZH_MONTH}(?P<day>\d{{1,2}})[日号]", _full),
    (rf"{_ZH_YEAR}{_ZH_MONTH}", _month),
    (rf"{_ZH_YEAR}的?{_ZH_SEASON}", _season),
    (rf"(?P<which>上个|上一个|这个|今年)的?{_ZH_SEASON}", _season),
    (rf"(?<!{_NO_NUMBER}){_ZH_ONE_MONTH}月份?(?!{_NO_NUMBER})", _month),
    (r"(?P<year>(?:19|20)\d\d)年", _whole_year),
    (rf"{_ZH_COUNT}(?P<unit>天|日|个?星期|周|个月|年)(?:之|以)?前", _ago),
    (rf"(?:最近|过去|近)的?{_ZH_COUNT}?(?P<unit>天|个?星期|周|个月|年)", _past),
    ("前[天日]", _fixed("day", -2)),
    ("昨[天日晚]", _fixed("day", -1)),
    ("今[天日晚早]", _fixed("day", 0)),
    ("上个?周末", _weekend),
    ("上上个?(?:周|星期|礼拜)", _fixed("week", -2)),
    ("上个?(?:周|星期|礼拜)", _fixed("week", -1)),
    ("(?:本|这个?)(?:周|星期|礼拜)", _fixed("week", 0)),
    ("上上个?月", _fixed("month", -2)),
    ("上个?月", _fixed("month", -1)),
    ("(?:本|这个?)月", _fixed("month", 0)),
    ("前年", _fixed("year", -2)),
    ("去年", _fixed("year", -1)),
    ("今年", _fixed("year", 0)),
)
_READERS: Final[tuple[tuple[re.Pattern[str], _Reader], ...]] = (
    (re.compile(r"(?<!\d)(?P<year>(?:19|20)\d\d)[-/.](?P<month>\d{1,2})[-/.](?P<day>\d{1,2})(?!\d)"), _full),
    *((re.compile(rf"\b{pattern}\b", re.IGNORECASE), read) for pattern, read in _ENGLISH),
    *((re.compile(pattern), read) for pattern, read in _CHINESE),
)
"""In order: what names more comes first."""
_SIGNS: Final = re.compile(
    rf"{_YEAR}|\b{_MONTH_NAME}\b|\b{_SEASON}\b|day|week|month|year|night|\bago\b|[年月日号天季周期拜晚早]",
    re.IGNORECASE,
)
"""A text without any of them names no time."""
