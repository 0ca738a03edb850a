"""English phrases for days, as rows: a pattern, and what its groups mean on a day."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from projections.dates import phrases
from projections.dates.numerals import COUNT, MANY, count
from projections.dates.phrases import WEEKDAYS, Meaning, Phrase, sure
from projections.dates.spans import SEASONS, counted, day_from, months, part, season, unit_from

if TYPE_CHECKING:
    from datetime import date

_NAMES: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
MONTHS: Final = {name: n for n, name in enumerate(_NAMES, start=1)}
MONTH: Final = (
    r"(?P<m>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)(?:\.(?= ?\d))?"
)
YEAR: Final = r"(?P<y>(?:19|20)\d\d)"
_ORDINAL: Final = r"(?P<d>\d{1,2})(?:st|nd|rd|th)"
_DAY: Final = rf"{_ORDINAL}?"
_WEEKDAY: Final = r"(?P<w>mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?"
_FULL_WEEKDAY: Final = r"(?P<w>mon|tues|wednes|thurs|fri|satur|sun)day"
_HOURS: Final = r"(?: (?:early |late )?(?:morning|afternoon|evening|night|noon|lunchtime))?"
_ON: Final = r"(?:(?:on|by|until|till|before|since|from|after|for) )"
_SEASON: Final = r"(?P<s>spring|summer|autumn|fall|winter)"
_UNIT: Final = r"(?P<unit>day|week|fortnight|month|year)s?"
_PERIOD: Final = r"(?P<unit>week|weekend|month|quarter|year)"
_TIMES: Final = {
    "last": -1,
    "past": -1,
    "this": 0,
    "the": 0,
    "next": 1,
    "coming": 1,
    "before last": -2,
    "after next": 2,
}
_PARTS: Final = {
    "beginning": "begin",
    "start": "begin",
    "early": "early",
    "mid": "mid",
    "middle": "mid",
    "late": "late",
}
_SAID: Final = {
    "day before yesterday": -2, "night before last": -2, "yesterday": -1, "last night": -1,
    "tomorrow": 1, "day after tomorrow": 2,
}  # fmt: skip


def _is(m: re.Match[str], name: str) -> str:
    """Return what a group says in lower case, nothing where it does not take part."""
    return (m.groupdict().get(name) or "").lower()


def _times(m: re.Match[str]) -> int:
    return _TIMES[_is(m, "rel").split("this ")[-1]]


def _said(m: re.Match[str], today: date) -> Meaning:
    return sure(day_from(today, _SAID.get(_is(m, "said").removeprefix("the "), 0)))


def _weekday(m: re.Match[str], today: date) -> Meaning | None:
    day, rel = WEEKDAYS[_is(m, "w")[:3]], _is(m, "rel")
    found = phrases.weekday(day, today)
    match rel.removeprefix("the "):
        case "last" | "this past" | "past":
            return sure(found.past) if found.past else None
        case "coming" | "this coming":
            return sure(found.coming) if found.coming else None
        case "this":
            return Meaning(phrases.weekday_of(0, day, today).past, found.coming, "coming")
        case "next":
            return phrases.weekday_of(1, day, today)
    return found


def _weekday_of_week(m: re.Match[str], today: date) -> Meaning:
    """Return a weekday of another week; "the Friday before last" is the one before the last."""
    day = WEEKDAYS[_is(m, "w")[:3]]
    if m["rel"].lower() == "before last" and "week" not in m[0].lower():
        last = phrases.weekday(day, today).past
        return sure(day_from(last.first if last else today, -7))
    return phrases.weekday_of(_times(m), day, today)


def _weeks_from_weekday(m: re.Match[str], today: date) -> Meaning:
    coming = phrases.weekday(WEEKDAYS[_is(m, "w")[:3]], today).coming
    return sure(day_from(coming.first if coming else today, 7 * count(_is(m, "n") or "a")))


def _weeks_from_day(m: re.Match[str], today: date) -> Meaning:
    begin = day_from(today, _SAID.get(_is(m, "said"), 0)).first
    return sure(counted(_is(m, "unit"), begin, count(_is(m, "n")), back=False), _is(m, "unit"))


def _period(m: re.Match[str], today: date) -> Meaning | None:
    return sure(unit_from(_is(m, "unit"), today, _times(m)), _is(m, "unit"))


def _weekend(_: re.Match[str], today: date) -> Meaning:
    this = unit_from("weekend", today, 0)
    return Meaning(this if this.first < today else unit_from("weekend", today, -1), this, unit="weekend")


def _counted(m: re.Match[str], today: date) -> Meaning:
    unit, way, half = _is(m, "unit"), _is(m, "way"), _is(m, "half")
    days = counted(unit, today, count(_is(m, "n") or "0"), back=way == "ago", half=bool(half))
    return sure(days, unit) if way else Meaning(None, days, "coming", unit)  # who did it in two weeks names no day


def _range(m: re.Match[str], today: date) -> Meaning:
    back = _is(m, "rel") in ("last", "past")
    return phrases.range_of(_is(m, "unit"), count(_is(m, "n") or "1") * (-1 if back else 1), today)


def dated(m: re.Match[str], today: date) -> Meaning | None:
    """Return the day of a month, with its year or without, as it is written in full."""
    month = _is(m, "m")
    number = int(month) if month.isdigit() else MONTHS[month[:3]]
    year = int(_is(m, "y")) if _is(m, "y") else None
    return phrases.day_of_year(number, int(m["d"]), year, today, relative=year is None)


def _month(m: re.Match[str], today: date) -> Meaning | None:
    month, rel = MONTHS[_is(m, "m")[:3]], _is(m, "rel")
    if year := _is(m, "y"):
        found = sure(months(int(year), month), "month", relative=False)
    elif rel.endswith(("last year", "this year", "next year")):
        found = sure(months(today.year + _TIMES[rel.split()[-2]], month), "month")
    else:
        found = phrases.month_of_year(month, today)
        if rel == "next":
            found = sure(months(today.year + (month <= today.month), month), "month")
        elif rel == "last":
            found = sure(months(today.year - (month >= today.month), month), "month")
        elif rel == "this":
            found = sure(months(today.year, month), "month")
    name = _PARTS.get(_is(m, "part"), "end") if _is(m, "part") else ""
    if not name or not found.past or not found.coming:
        return found
    return Meaning(part(found.past, name), part(found.coming, name), found.default, "part", found.relative)


def _part(m: re.Match[str], today: date) -> Meaning:
    days = unit_from(_is(m, "unit"), today, _times(m))
    return sure(part(days, _PARTS.get(_is(m, "part"), "end")), "part")


def _number_of_month(m: re.Match[str], today: date) -> Meaning | None:
    if rel := _is(m, "rel"):
        of = unit_from("month", today, _TIMES[rel]).first
        return phrases.day_of_year(of.month, int(m["d"]), of.year, today)
    return phrases.day_of_month(int(m["d"]), today)


def _season(m: re.Match[str], today: date) -> Meaning:
    month, rel = SEASONS[_is(m, "s")], _is(m, "rel")
    if year := _is(m, "y"):
        return sure(season(int(year), month), "season", relative=False)
    match rel:
        case "last" | "past":
            return phrases.season_before(month, today)
        case "next":
            return phrases.season_after(month, today)
        case "last year" | "this year" | "next year":
            return sure(season(today.year + _TIMES[rel.split()[0]], month), "season")
    found = phrases.season_of_year(month, today)
    return Meaning(found.past, found.coming, "coming" if rel == "this" else None, "season")


def _year(m: re.Match[str], _: date) -> Meaning:
    return sure(months(int(m["y"]), 1, 12), "year", relative=False)


_END: Final = (
    r"(?=\s*(?:[,.;:!?)(]|$)"
    r"|\s+(?:at|in|and|but|or|so|if|i|we|he|she|they|it|my|our|for|to|because|from|with|is|was)\b)"
)
"""What follows "on the 3rd" where it is no floor, birthday or attempt."""
_PART: Final = r"(?:the )?(?P<part>early|mid|late|(?:beginning|start|middle|end)(?= of))(?: of)?"
_NEAR: Final = "last|next|this"
_DATED: Final = rf"(?:{_FULL_WEEKDAY.replace('?P<w>', '?:')},? (?:the )?)?"
_ROWS: Final = (
    (rf"(?P<y>(?:19|20)\d\d)[-/.](?P<m>\d{{1,2}})[-/.]{_DAY}", dated),
    (rf"{_DATED}{_DAY} (?:of )?{MONTH}(?:,? {YEAR}\b)?", dated),
    (rf"{_DATED}{MONTH} (?:the )?{_DAY}(?!:|\s?[ap]\.?m\b|,? years?\b)(?:,? {YEAR}\b)?", dated),
    (rf"(?:{_PART}[ -])?{MONTH},? (?:of )?{YEAR}", _month),
    (rf"(?P<rel>{_NEAR}|in|during|since|until|till|before|after|by|from) (?:{_PART}[ -])?{MONTH}(?! ?\d)", _month),
    (rf"{_PART}[ -]{MONTH}(?! ?\d)", _month),
    (rf"{MONTH} (?:of )?(?P<rel>last year|this year|next year)", _month),
    (r"(?P<said>the day before yesterday|the day after tomorrow|day before yesterday|day after tomorrow)", _said),
    (r"(?P<said>the night before last|last night|tonight|this (?:morning|afternoon|evening))", _said),
    (rf"(?P<said>yesterday|today|tomorrow)(?! never\b){_HOURS}", _said),
    (
        rf"(?P<rel>(?:the )?coming|this past|this coming|past|last|this|next) {_WEEKDAY}{_HOURS}(?! of\b| in\b)",
        _weekday,
    ),
    (rf"{_ON}{_WEEKDAY}{_HOURS}", _weekday),
    (rf"{_FULL_WEEKDAY}{_HOURS}", _weekday),
    (rf"(?:(?:on )?the )?{_FULL_WEEKDAY}{_HOURS} (?P<rel>after next|before last)", _weekday_of_week),
    (rf"(?:on )?{_FULL_WEEKDAY}{_HOURS} (?:of )?(?:the week )?(?P<rel>after next|before last)", _weekday_of_week),
    (rf"(?:on )?{_FULL_WEEKDAY}{_HOURS} (?:of )?(?P<rel>last|this|next) week", _weekday_of_week),
    (rf"(?P<rel>last|this|next) week,? (?:on )?{_FULL_WEEKDAY}{_HOURS}", _weekday_of_week),
    (rf"(?P<n>{COUNT}) weeks? (?:from|on) (?:this )?{_FULL_WEEKDAY}", _weeks_from_weekday),
    (rf"{_FULL_WEEKDAY} week", _weeks_from_weekday),
    (rf"(?P<n>{COUNT}) {_UNIT} (?:from|after) (?P<said>today|tomorrow|yesterday)", _weeks_from_day),
    (rf"(?P<rel>this past|this coming|last|past|this|next) {_PERIOD}(?! of\b| in (?!the|my|our)\w)", _period),
    (r"the (?P<unit>week|weekend|month|year) (?P<rel>before last|after next)", _period),
    (r"the (?P<rel>coming) (?P<unit>week|weekend|month|year)", _period),
    (r"(?:at|over|on|during|for|by) the weekend", _weekend),
    (rf"(?P<n>{COUNT}) {_UNIT} (?P<way>ago|from now|from today)", _counted),
    (rf"(?P<n>{COUNT})(?P<half> and a half) {_UNIT} (?P<way>ago|from now)", _counted),
    (rf"(?P<n>an?) {_UNIT}(?P<half> and a half) (?P<way>ago|from now)", _counted),
    (rf"(?P<half>half a) {_UNIT} (?P<way>ago|from now)", _counted),
    (rf"in (?:about )?(?P<n>{COUNT}) {_UNIT}['’]?s?(?: time)?(?! of\b)", _counted),
    (rf"in (?P<half>half a) {_UNIT}(?:'s time)?", _counted),
    (rf"(?:the |these )?(?P<rel>last|past|next|coming) (?P<n>{MANY}) {_UNIT}", _range),
    (rf"(?:the|these) (?P<rel>last|past) {_UNIT}", _range),
    (
        r"(?:the )?(?P<part>beginning|start|middle|end) of (?P<rel>the|this|next|last) (?P<unit>week|month|year)",
        _part,
    ),
    (r"(?P<part>early|late) (?P<rel>this|next|last) (?P<unit>week|month|year)", _part),
    (rf"(?:the )?{_ORDINAL} of (?P<rel>last|this|next) month", _number_of_month),
    (rf"(?P<rel>last|this|next) month,? on the {_DAY}", _number_of_month),
    (rf"(?:on|by|until|since|before|after) the {_ORDINAL}{_END}", _number_of_month),
    (rf"{_SEASON},? (?:of |in )?{YEAR}", _season),
    (rf"{_SEASON} (?:of )?(?P<rel>last year|this year|next year)", _season),
    (rf"(?P<rel>last|past|this|next) {_SEASON}(?! \d)", _season),
    (rf"(?:in|during|since|before|after|until|by) (?:the )?{_SEASON}(?! \d)", _season),
    (rf"(?:in|during|of|since|before|after|until|till|by|from) {YEAR}", _year),
)
_BEGIN: Final = r"(?<![\w@#/_-])(?<!\w\.)"
ENGLISH: Final[tuple[Phrase, ...]] = tuple(
    (re.compile(rf"{_BEGIN}(?:{pattern})(?:['’]s\b)?(?![\w]|[-_/@]\w|\.\w)", re.IGNORECASE), read)
    for pattern, read in _ROWS
)
ENGLISH_DATES: Final = ENGLISH[:3]
"""Those for a day of a month, with its year or without."""
