"""The reader of days: it finds the time expressions of a text of either language, relative to when it was said.

Weeks begin on Monday, and `next Wednesday` and 下周三 lie in the week after the present one. A weekday, a month or a
day without a year follows the tense around it. A recurring day ("every Monday", 每周一, "on Fridays") is skipped. The
rows of `english` and `chinese` define the phrases. Of overlapping phrases, the first to begin wins, then the longest.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeAlias

from projections.dates.chinese import CHINESE, lunar_from
from projections.dates.english import ENGLISH
from projections.dates.hours import hours_in
from projections.dates.spans import Days
from projections.dates.tense import Context

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import time

    from projections.dates.phrases import Meaning, Tense

_Phrase: TypeAlias = "tuple[int, int, Meaning]"
"""The begin, the end and the meaning of a phrase."""
MOST: Final = 32
"""The most expressions of one text; the rest of the text is not read."""
_YEARS: Final = (1000, 8000)
"""The first and last year of "today"; beyond them, adding years could leave the calendar."""
_SIGNS: Final = re.compile(
    r"(?:19|20)\d\d|day|week|month|year|night|\bago\b|quarter|weekend|spring|summer|autumn|fall|winter"
    r"|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun|morning|afternoon|evening"
    r"|tomorrow|the \d|[年月日号天季周期拜晚早夜]",
    re.IGNORECASE,
)
_EACH: Final = re.compile(
    r"(?:\b(?:every|each|most|any|some|alternate|another|other|one|once|twice|times|an?|black|good|of a|usual) (?:in )?"
    r"|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days? (?:to|through|till|[-–]) )$",
    re.IGNORECASE,
)
"""Precedes a recurring day or one that is part of a name or range: every Monday, Monday to Friday, Good Friday."""
_ONCE: Final = re.compile(
    r"\b(?:first|only|best|worst|most|least|never|(?:big|long|happi|hard|cold|hott|high|low|great|warm)g?est)\b"
    r"(?:(?!\b(?:is|are|will|starts?|begins?)\b)[^,.;!?]){0,40}\bin $",
    re.IGNORECASE,
)
"""Precedes a duration: the first in four years."""
_OF_A_YEAR: Final = frozenset({"date", "month", "number", "part", "season"})
"""Units for which the nearest occurrence is meant, unless their own clause tells the tense."""
_SOON: Final = 92
"""How many days ahead a settled plan may lie: moved from 1 October."""
_ZH_EACH: Final = re.compile(r"[每逢隔](?:年|月|个月?)?到?$")
_BEFORE: Final = 56
"""How many characters before a phrase are searched for such words."""
_NO_DAY: Final = re.compile(
    r" (?!I\b)[A-Z][a-z]| ?(?:to|through|thru|till|[-–—]) ?(?:[MmFf]|[Tt][uh]|[Ww]e|[Ss][au])[a-z]{1,6}day\b"
)
"""Follows a weekday that is part of a name or of a weekly range: Friday Harbor, Monday to Friday."""
_QUOTES: Final = frozenset(("“”", '""', "《》", "「」", "''", "‘’"))
_LEAD: Final = re.compile(
    r"(?:on|by|until|till|before|since|from|after|for|in|during|of|at|over)\s+(?:(?:the\s+)?(?=\d)|)", re.IGNORECASE
)
_TURN: Final = re.compile(r"\b(?:and|but|or|then|so|before|after)\b|然后|再|前|完", re.IGNORECASE)
"""A word between two phrases that begins a new statement."""


@dataclass(frozen=True, slots=True)
class Expression:
    """A phrase that means one or more days, and its position in the text (half open), without its preposition."""

    start: int
    end: int
    first: date
    last: date
    unit: str
    """The kind of phrase: day, week, month, weekday, date, number (of a month), range, part, …"""
    relative: bool
    """Whether the days depend on the time of speaking, so that a stored text must name them."""
    is_sure: bool = True
    """Whether the words tell which days are meant; otherwise the days are a guess."""
    hour: time | None = None

    @property
    def days(self) -> Days:
        """The days that the phrase means."""
        return Days(self.first, self.last)

    @property
    def is_day(self) -> bool:
        """Whether it is one day."""
        return self.first == self.last


def may_name_time(text: str) -> bool:
    """Return whether a text contains a word that may name a time."""
    return _SIGNS.search(text) is not None


def expressions(text: str, at: datetime | date, lean: Tense | None = None) -> list[Expression]:
    """Return the time expressions of a text in order, at most MOST, seen from a moment of the speaker's clock.

    A phrase without a year means its nearest occurrence unless its clause tells the tense. If nothing tells which days
    are meant, they are the coming ones and `is_sure` is False. `lean` overrides the tense of the text.
    """
    today = at.date() if isinstance(at, datetime) else at
    if not _YEARS[0] <= today.year <= _YEARS[1] or not may_name_time(text):
        return []
    context = Context(text)
    read = (_read(context, phrase, today, lean) for phrase in _meanings(text, today))
    found = list(islice((one for one in read if one), MOST))
    anchored = [_anchored(context, one, found[max(0, n - 1) : n + 2]) for n, one in enumerate(found)]
    return _with_hours(context, anchored)


def _meanings(text: str, today: date) -> Iterator[_Phrase]:
    """Yield the matches of the rows in order and without overlap: the first to begin wins, then the longest."""
    lunar, rows = lunar_from(text), ENGLISH if text.isascii() else (*ENGLISH, *CHINESE)
    found = ((m, _LEAD.match(m[0]), read) for pattern, read in rows for m in pattern.finditer(text))
    matches = [(m.start() + (lead.end() if lead else 0), -m.end(), m, read) for m, lead, read in found]
    taken = 0
    for begin, _, m, read in sorted(matches, key=lambda one: one[:2]):
        if begin < taken:
            continue
        taken = m.end()
        try:
            meaning = read(m, today)
        except (ValueError, OverflowError):  # a day that does not exist
            continue
        if meaning and not (begin >= lunar and meaning.default is None and meaning.unit in _OF_A_YEAR):
            yield begin, taken, meaning


def _read(context: Context, phrase: _Phrase, today: date, lean: Tense | None) -> Expression | None:
    """Return the expression for a phrase; None if its context shows that it does not mean particular days."""
    begin, end, meaning = phrase
    text = context.text
    is_name = text[end - 3 : end].lower() == "day" and _NO_DAY.match(text, end)
    is_title = text[begin - 1 : begin] + text[end : end + 1] in _QUOTES
    lead = max(0, begin - _BEFORE)
    is_each = _ZH_EACH.search(text, lead, begin) or (meaning.default != "past" and _EACH.search(text, lead, begin))
    is_past = meaning.past is None and _ONCE.search(text, lead, begin)
    by_tense = meaning.default is None
    of_year = by_tense and meaning.unit in _OF_A_YEAR
    if is_name or is_title or is_each or is_past or (of_year and context.is_told(begin)):
        return None
    tense = lean
    if tense is None and (by_tense or meaning.past != meaning.coming):
        tense = context.tense(begin, end, meaning.unit)
        if of_year and _is_ahead(context, phrase, tense, today):
            tense = "coming"
    said = tense or meaning.default
    days = meaning.past if said == "past" else meaning.coming
    is_sure = said is not None and not (by_tense and context.comes_back(begin, end, meaning.unit))
    return Expression(begin, end, *days, meaning.unit, meaning.relative, is_sure) if days else None


def _is_ahead(context: Context, phrase: _Phrase, tense: Tense | None, today: date) -> bool:
    """Return whether the nearest day of a phrase lies ahead and its own clause does not place it in the past."""
    begin, end, meaning = phrase
    if not meaning.past or not meaning.coming:
        return False
    ahead, back = (meaning.coming.first - today).days, (today - meaning.past.last).days
    if tense is None:
        return ahead <= _SOON and meaning.unit in ("date", "month")
    return ahead <= back and not context.is_past(begin, end, is_soon=ahead <= _SOON)


def _anchored(context: Context, one: Expression, beside: list[Expression]) -> Expression:
    """Return a weekday moved into the week named next to it, or a number into the month named next to it."""
    of = {"weekday": "week", "number": "month"}.get(one.unit)
    for other in beside:
        between = context.text[min(one.end, other.end) : max(one.start, other.start)]
        if other.unit != of or context.sentence(one.start) != context.sentence(other.start) or _TURN.search(between):
            continue
        if other.start > one.start and not between.isascii():  # 我周五要考试下周要出差
            continue
        far = one.first.weekday() if of == "week" else one.first.day - 1
        if (day := other.first + timedelta(days=far)) <= other.last:
            return replace(one, first=day, last=day, is_sure=True)
    return one


def _with_hours(context: Context, found: list[Expression]) -> list[Expression]:
    """Return the expressions, each with the first time of day of its sentence to which it is the nearest."""
    hours: dict[int, time] = {}
    for hour in hours_in(context.text) if found else ():
        begin, end = context.sentence(hour.start)
        near = [n for n, one in enumerate(found) if one.is_day and begin <= one.start < end]
        if near:
            nearest = min(near, key=lambda n: max(found[n].start - hour.end, hour.start - found[n].end))
            hours.setdefault(nearest, hour.at)
    return [replace(one, hour=hours.get(n)) for n, one in enumerate(found)]
