"""One reader of days: all time expressions of a text of either language, reckoned from the moment it was said.

`next Wednesday` and 下周三 are of the week after the present one, from Monday on; a weekday, a month or a day without
its year goes by the tense of the clause that names it, or of the sentence. What comes back ("every Monday", 每周一,
"on Fridays") is no day. The rows of `english` and `chinese` say what is read; of phrases that overlap the one that
begins first counts, and of those the longest.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Final

from projections.dates.chinese import CHINESE, LUNAR
from projections.dates.english import ENGLISH
from projections.dates.hours import hours_in
from projections.dates.spans import Days, day_from

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date, time

    from projections.dates.phrases import Meaning, Tense

MOST: Final = 32
"""Expressions of one text; what is said after them is not read."""
_YEARS: Final = (1000, 8000)
"""Outside of these, adding years could leave the calendar."""
_SIGNS: Final = re.compile(
    r"(?:19|20)\d\d|day|week|month|year|night|\bago\b|quarter|weekend|spring|summer|autumn|fall|winter"
    r"|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun|morning|afternoon|evening"
    r"|tomorrow|the \d|[年月日号天季周期拜晚早夜]",
    re.IGNORECASE,
)
"""A text without any of them names no time."""
_SENTENCE: Final = re.compile(r"[^.!?。！？\n;；]+(?:\.(?=\w)[^.!?。！？\n;；]*)*")
_CLAUSE: Final = re.compile(
    r"[,，、:：]|\s(?=(?:but|and|so|then|because|after|before|when) (?:i|we|he|she|they|it|my|our|the|then)\b)"
    r"|(?<=[一-鿿])(?=但是?|不过|然后|因为|所以)",
    re.IGNORECASE,
)
_PAST: Final = re.compile(
    r"\b(?:was|were|wasn['’]t|weren['’]t|had|did|didn['’]t|went|(?<!['’]ve )(?<!have )(?<!has )got|came|saw|met|left|lost|won|broke|bought|sold|took"
    r"|gave|made|found|ate|drank|fell|felt|told|said|slept|spent|ran|drove|flew|paid|sent|wrote|died|been|began|became"
    r"|heard|kept|knew|thought|taught|caught|brought|built|grew|held|hurt|quit|rode|sang|split|spoken|seen|done|gone|(?:have|has)n['’]t|spoke|stood|swam|threw|wore|woke"
    r"|(?!need|sched|plann|book|invit|suppos|exci|tire|bore|worri|interest|marri|scar|regist|hundred|bed)"
    r"\w{2,20}ed)\b"
    r"|(?<![除为约订定极])了(?!解|不)|(?<![不超通经难])过(?![去来年程敏几两段])|刚刚?(?!好)",
    re.IGNORECASE,
)
_WILL: Final = re.compile(
    r"\b(?:will|won['’]t|going to|gonna|shall|due|to be|wants?|plans?|would|need|must|hope|can|could|should|(?-i:may)|might"
    r"|let['’]s)\b|['’]ll\b|想要?|(?<!重)要(?!求)|(?<![不机社])会(?!议)|打算|准备|约了|[定订]了|计划|将|得去|记得",
    re.IGNORECASE,
)
_PRESENT: Final = re.compile(
    r"\b(?:is|are|am|have|has|i|we|you|he|she|they|my|our)\b|['’](?:m|re|s)\b|[去有见来到开考飞走面试是]", re.IGNORECASE
)
_EACH: Final = re.compile(
    r"(?:\b(?:every|each|most|any|some|alternate|another|other|one|once|twice|times|a|an|black|good|of a|usual(?:ly)?) (?:in )?"
    r"|\b(?:on|by|through|to|mon|tues|wednes|thurs|fri|satur|sun)days? (?:to|through|till|[-–]) |[每逢隔]个?到?)$",
    re.IGNORECASE,
)
"""Before what comes back, or is no day of its own: every Monday, Monday to Friday, Good Friday."""
_RANGE: Final = re.compile(
    r" ?(?:to|through|thru|till|[-–—]) ?(?:mon|tues|wednes|thurs|fri|satur|sun)day\b", re.IGNORECASE
)
_BEFORE: Final = 24
"""Characters before a phrase in which such a word stands."""
_NAME: Final = re.compile(r" (?!I\b)[A-Z][a-z]")
"""What makes a weekday a part of a name: Friday Harbor."""
_LEAD: Final = re.compile(
    r"(?:on|by|until|till|before|since|from|after|for|in|during|of|at|over)\s+(?:(?:the\s+)?(?=\d)|)", re.IGNORECASE
)
_USUAL: Final = re.compile(
    r"\b(?:every|each|usually|always|often|typically|normally)\b|每|逢|平时|通常|经常|总是|一般|都(?!没)", re.IGNORECASE
)
"""In a clause with one of them a weekday is no day of its own."""
_STARTING: Final = re.compile(
    r"\b(?:starting|beginning|starts|begins|due) (?:on )?$"
    r"|(?:moved|pushed|postponed|rescheduled|delayed|shifted)(?: back| forward)? (?:to|until|till|for) $"
    r"|(?:改|推迟|提前|挪|延期|延后|移|调)(?:到|至|成|在)$",
    re.IGNORECASE,
)
_SINCE: Final = re.compile(r"\bsince\s+(?:the\s+)?$|[自从]$", re.IGNORECASE)
_YEARLY: Final = re.compile(r"\b(?:birthday|bday|anniversary)|\bborn\b|生日|纪念日|出生", re.IGNORECASE)
"""What is on that day each year."""
_MONTHLY: Final = re.compile(
    r"\b(?:rent|bills?|salary|payday|paid|instal+ments?|mortgage)\b"
    r"|房租|工资|发薪|还款|还贷|扣款|账单",
    re.IGNORECASE,
)
"""What is on the same day each month."""
_TURN: Final = re.compile(r"\b(?:and|but|or|then|so|before|after)\b|然后|再|前|完", re.IGNORECASE)
"""Between two phrases: what begins anew."""


@dataclass(frozen=True, slots=True)
class Expression:
    """A phrase of a text for a day or several, and where it stands (half open), without its preposition."""

    start: int
    end: int
    first: date
    last: date
    unit: str
    """How it is said: day, week, month, weekday, date, number (of a month), range, part, …"""
    relative: bool
    """Whether it means other days when it is said at another time: its days belong beside it."""
    is_sure: bool = True
    """Whether the words tell which days are meant; else they are those that the caller leans to."""
    by_tense: bool = False
    """Whether only the tense tells which days are meant, as of "on Monday"."""
    hour: time | None = None

    @property
    def days(self) -> Days:
        """The days that are meant."""
        return Days(self.first, self.last)

    @property
    def is_day(self) -> bool:
        """Whether it is one day."""
        return self.first == self.last


def expressions(text: str, at: datetime | date, lean: Tense | None = None) -> list[Expression]:
    """Return the time expressions of a text in order, seen from a moment by the speaker's clock; at most MOST.

    Where no year or no week is said and the tense does not tell it, the days are those to come and not sure. `lean`
    gives the tense instead of the text.
    """
    today = at.date() if isinstance(at, datetime) else at
    if not _YEARS[0] <= today.year <= _YEARS[1] or not _SIGNS.search(text):
        return []
    reading = _Reading(text, today, lean)
    found = (one for m in reading.matches() if (one := reading.read(*m)))
    return reading.with_hours(reading.anchored(list(islice(found, MOST))))


def may_name_time(text: str) -> bool:
    """Return whether a text has a word of those that name a time."""
    return _SIGNS.search(text) is not None


class _Reading:
    """A text as it is read: its sentences and clauses are found once."""

    def __init__(self, text: str, today: date, lean: Tense | None) -> None:
        self._text, self._today, self._lean = text, today, lean
        self._parted: dict[tuple[int, int], list[tuple[int, int]]] = {}
        self._tenses: dict[tuple[int, int], Tense | None] = {}

    def matches(self) -> Iterator[tuple[re.Match[str], Meaning]]:
        """Yield what the rows find, in order and without overlap: what begins first, and of those the longest."""
        is_lunar = LUNAR.search(self._text) is not None
        found = [(m, read) for pattern, read in ENGLISH for m in pattern.finditer(self._text)]
        if not self._text.isascii():
            found += [(m, read) for pattern, read in CHINESE for m in pattern.finditer(self._text)]
        found.sort(key=lambda one: (self._begin(one[0]), -one[0].end()))
        end = 0
        for m, read in found:
            if self._begin(m) < end:
                continue
            end = m.end()
            try:
                meaning = read(m, self._today)
            except (ValueError, OverflowError):  # a day that is in no calendar
                continue
            if meaning and not (is_lunar and meaning.unit in ("date", "month", "number")):
                yield m, meaning

    def read(self, m: re.Match[str], meaning: Meaning) -> Expression | None:
        """Return the expression that a match is, None where it is none here."""
        begin = self._begin(m)
        if _EACH.search(self._text, max(0, begin - _BEFORE), begin) or self._is_name(m, begin):
            return None
        tense = self._lean
        if tense is None and (meaning.default is None or meaning.past != meaning.coming):
            tense = self._tense_at(begin, m.end())
        comes_back = meaning.default is None and self._comes_back(meaning.unit, begin, m.end())
        if meaning.unit == "season" and tense == "coming" and not self._lean and not self._will_be(begin):
            tense = None  # Rome is lovely in the spring
        said = tense or meaning.default
        days = meaning.past if said == "past" else meaning.coming
        if days is None:
            return None
        is_sure = said is not None and not comes_back
        return Expression(begin, m.end(), *days, meaning.unit, meaning.relative, is_sure, meaning.default is None)

    def anchored(self, found: list[Expression]) -> list[Expression]:
        """Return the expressions with a weekday in the week that is named beside it: next week I fly on Friday."""
        return [self._within(one, found[max(0, i - 1) : i] + found[i + 1 : i + 2]) for i, one in enumerate(found)]

    def with_hours(self, found: list[Expression]) -> list[Expression]:
        """Return the expressions each with the time of day that is said nearest to it in its sentence."""
        hours: dict[int, list[time]] = {}
        for hour in hours_in(self._text) if found else ():
            sentence = self._sentence_at(hour.start)
            near = [n for n, one in enumerate(found) if one.is_day and sentence[0] <= one.start < sentence[1]]
            if near:
                nearest = min(near, key=lambda n: max(found[n].start - hour.end, hour.start - found[n].end))
                hours.setdefault(nearest, []).append(hour.at)
        return [replace(one, hour=hours[n][0]) if n in hours else one for n, one in enumerate(found)]

    def _begin(self, m: re.Match[str]) -> int:
        """Return where a phrase begins, behind its preposition."""
        lead = _LEAD.match(self._text, m.start(), m.end())
        return lead.end() if lead else m.start()

    def _is_name(self, m: re.Match[str], begin: int) -> bool:
        """Return whether a phrase is a title in quotes, or a weekday that begins a name."""
        around = self._text[begin - 1 : begin] + self._text[m.end() : m.end() + 1]
        if around in ("“”", '""', "《》", "「」", "''", "‘’"):
            return True
        return m[0][-3:].lower() == "day" and (
            _NAME.match(self._text, m.end()) is not None or _RANGE.match(self._text, m.end()) is not None
        )

    def _within(self, one: Expression, beside: list[Expression]) -> Expression:
        of = {"weekday": "week", "number": "month"}.get(one.unit)
        for other in beside:
            between = self._text[min(one.end, other.end) : max(one.start, other.start)]
            if other.unit != of or (other.start > one.start and not between.isascii()):
                continue
            if self._sentence_at(one.start) != self._sentence_at(other.start):
                continue
            if not _TURN.search(between) and (day := _part_of(other.days, one)):
                return replace(one, first=day, last=day, is_sure=True)
        return one

    def _comes_back(self, unit: str, begin: int, end: int) -> bool:
        """Return whether the words around a day say that it is one of many."""
        if unit in ("weekday", "weekend"):
            return _USUAL.search(self._text, *self._clause_at(begin, end)) is not None
        said = _MONTHLY if unit == "number" else _YEARLY
        return unit in ("number", "date", "month") and said.search(self._text, *self._sentence_at(begin)) is not None

    @cached_property
    def _sentences(self) -> list[tuple[int, int]]:
        return [m.span() for m in _SENTENCE.finditer(self._text)]

    def _sentence_at(self, at: int) -> tuple[int, int]:
        index = bisect_right(self._sentences, (at, len(self._text))) - 1
        return self._sentences[index] if index >= 0 else (0, len(self._text))

    def _clause_at(self, begin: int, end: int) -> tuple[int, int]:
        breaks = self._breaks(self._sentence_at(begin))
        end = min(end, breaks[-1][0])  # a month's full stop may end its sentence
        return breaks[bisect_right(breaks, (begin, begin)) - 1][1], breaks[bisect_left(breaks, (end, end))][0]

    def _tense_at(self, begin: int, end: int) -> Tense | None:
        """Return the tense that the word before a phrase gives it, else its clause, else its sentence."""
        lead = max(0, begin - _BEFORE)
        if _SINCE.search(self._text, lead, begin):
            return "past"
        if _STARTING.search(self._text, lead, begin):
            return "coming"
        return self._tense(self._clause_at(begin, end)) or self._tense(self._sentence_at(begin))

    def _will_be(self, begin: int) -> bool:
        return _WILL.search(self._text, *self._sentence_at(begin)) is not None

    def _breaks(self, sentence: tuple[int, int]) -> list[tuple[int, int]]:
        """Return where the clauses of a sentence are parted, its begin and its end with them."""
        if sentence not in self._parted:
            begin, end = sentence
            parted = (m.span() for m in _CLAUSE.finditer(self._text, begin, end))
            self._parted[sentence] = [(begin, begin), *parted, (end, end)]
        return self._parted[sentence]

    def _tense(self, of: tuple[int, int]) -> Tense | None:
        if of not in self._tenses:
            is_past, will = _PAST.search(self._text, *of), _WILL.search(self._text, *of)
            is_coming = will or (not is_past and _PRESENT.search(self._text, *of))
            self._tenses[of] = None if is_past and will else "past" if is_past else "coming" if is_coming else None
        return self._tenses[of]


def _part_of(days: Days, one: Expression) -> date | None:
    """Return the day of a week or a month that a weekday, or a number, names."""
    for n in range((days.last - days.first).days + 1):
        day = day_from(days.first, n).first
        if day.weekday() == one.first.weekday() if one.unit == "weekday" else day.day == one.first.day:
            return day
    return None
