"""The days of a model's memories, read by our own rules from the cited line, with the user's corrections."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from projections.dates.numerals import NUMERAL, number
from projections.dates.reader import expressions
from projections.dates.wording import with_brackets
from streams.extraction.model import wording

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date

    from projections.dates.reader import Expression
    from streams.extraction.protocol import Piece, Proposal, Window

_TIMELESS: Final = frozenset({"birthday", "important_dates"})
"""Slots whose value is itself a day, on which no event happens."""
_TODAY: Final = re.compile(
    r"\b(?:today|tonight|this (?:morning|afternoon|evening))\b|今[天早晚日]|刚[刚才]", re.IGNORECASE
)
_TIME_OR_SUBJECT: Final = (
    r"(?:I|we|he|she|they|it|my|our|the|his|her|last|yesterday|today|tomorrow|tonight|next|this|on|in|a|two|three)\b"
)
_CLAUSE: Final = re.compile(
    rf"[，；;]|,\s*(?=(?:(?:and|but|so|then) )?{_TIME_OR_SUBJECT})|\s(?=(?:and|but|then)\s+{_TIME_OR_SUBJECT})",
    re.IGNORECASE,
)
_LEADING: Final = 6
"""The most characters before a time phrase that opens its clause (such as "And ") and holds for the next ones too."""
_MONTHS: Final = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.?"
_AMOUNTS: Final = (
    re.compile(rf"\b{_MONTHS} (?:the )?\d{{1,2}}(?:st|nd|rd|th)?\b", re.IGNORECASE),
    re.compile(rf"{NUMERAL}月{NUMERAL}[日号]"),
    re.compile(r"\b(?:1[89]|20)\d\d\b"),
    re.compile(rf"{NUMERAL}岁"),
    re.compile(r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b", re.IGNORECASE),
    re.compile(r"(?:周|星期|礼拜)[一二三四五六日天]"),
    re.compile(r"\b(?:one|two|three|four|five|six|seven|eight|nine|ten|\d{1,3})(?= years? old)"),
    re.compile(r"\b\d{1,2}(?::\d\d)? ?(?:am|pm)\b", re.IGNORECASE),
    re.compile(rf"{NUMERAL}点"),
    re.compile(rf"{NUMERAL}[块元]"),
)
"""What people correct: a date, a year, an age, a weekday, an hour, a price. A value replaces another of its kind."""
_CORRECTS: Final = re.compile(
    r"\b(?:sorry|no wait|wait,? no|no, wait|I mean|I meant|actually|correction|my mistake|not quite|make that)\b"
    r"|不对|说错|记错|更正|纠正|应该是|其实是|搞错|弄错|哦不|我是说",
    re.IGNORECASE,
)

_OF_A_DAY: Final = frozenset({"day", "week", "fortnight", "month"})
"""Units from which a memory's day is derived: the same day of last week or last month."""


@dataclass(frozen=True, slots=True)
class Correction:
    """A line that corrects an earlier one: words of the same kind, before and after."""

    index: int
    before: str
    after: str

    def applied(self, proposal: Proposal) -> Proposal:
        """Return an entry with the old words replaced by the new ones, and the correcting line as its first source."""
        if self.before not in proposal.content or self.after in proposal.content:
            return proposal
        attribute, value = proposal.attribute, proposal.value and proposal.value.replace(self.before, self.after)
        if attribute in _TIMELESS and value == proposal.value:  # the wrong day in another spelling
            attribute = value = None
        return replace(
            proposal,
            content=proposal.content.replace(self.before, self.after),
            attribute=attribute,
            value=value,
            occurred_on=None,
            sources=(self.index, *(i for i in proposal.sources if i != self.index)),
        )


def corrections(window: Window) -> list[Correction]:
    """Return the user's corrections in a window, in order: "May 4" in one line, "sorry, I mean May 14" in a later."""
    found: list[Correction] = []
    said: list[Piece] = []
    for index, piece in enumerate(window.pieces):
        if piece.speaker != "user":
            continue
        corrects = _CORRECTS.search(piece.text)
        if corrects:
            own = piece.text[: corrects.start()]
            earlier = [*(other.text for other in said), own]
            found.extend(_corrected(index, earlier, piece.text[corrects.end() :]))
        said.append(piece)
    return found


def _corrected(index: int, earlier: list[str], now: str) -> Iterator[Correction]:
    for pattern in _AMOUNTS:
        new = pattern.search(now)
        old = next((m for text in reversed(earlier) for m in reversed(list(pattern.finditer(text)))), None)
        if new and old and old.group() != new.group():
            yield Correction(index, old.group(), new.group())


def numbers(text: str) -> frozenset[str]:
    """Return the numbers of a text, in digits without leading zeros; a month's name counts as its number."""
    found = {term for term in wording.terms(text) if term.isdigit()}
    names = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
    found.update(str(names.index(m[:3].lower()) + 1) for m in re.findall(rf"(?i)\b{_MONTHS}", text))
    found.update(str(value) for run in re.findall(NUMERAL, text) if (value := number(run)) is not None)
    return frozenset(found)


def with_day(proposal: Proposal, window: Window) -> Proposal:
    """Return an entry with the day that its words name, relative to the cited line, in brackets after those words.

    If its own words name no day, the day comes from the clause of the cited line that makes the statement. Our own
    reading takes precedence over the model's. The model's day is dropped if it belongs to another clause, or, for a
    trait, if it is only the day of the line and the line does not mention today. "Last month" means the same day of
    that month, and the words get the month in brackets.
    """
    if proposal.attribute in _TIMELESS:
        return replace(proposal, occurred_on=None)
    lines = [window.pieces[i] for i in proposal.sources if window.pieces[i].speaker == "user"]
    day, today = _day(proposal, lines)
    if day is None:
        given = proposal.occurred_on
        others = given is not None and given in _days_of_clauses(lines)
        idle = proposal.kind == "semantic" and any(given == p.today for p in lines)
        if others or (idle and not any(_TODAY.search(piece.text) for piece in lines)):
            return replace(proposal, occurred_on=None)
        return proposal
    proposal = replace(proposal, occurred_on=day)
    named = named_day(proposal.content, today) if today else None
    if named is None or not named.relative or named.days.written in proposal.content:
        return proposal
    return replace(proposal, content=with_brackets(proposal.content, named))


def _day(proposal: Proposal, lines: list[Piece]) -> tuple[date | None, date | None]:
    """Return the day of an entry, and the date of its line if the entry's own words name the day."""
    for piece in lines:
        today = piece.today
        if dated := named_day(proposal.content, today):
            return _day_of(dated, today), today
    terms = wording.terms(proposal.content)
    for piece in lines:
        clauses = _clauses(piece)
        shared = {clause: len(terms & wording.terms(clause.text)) for clause in clauses}
        best = max(clauses, key=lambda clause: (shared[clause], clause.day is not None), default=None)
        if best is None or not shared[best]:
            continue
        told = shared[best] if best.text == best.sentence else len(terms & wording.terms(best.sentence))
        if 2 * told < len(terms):
            continue
        if best.day is not None:
            return best.day, None
    return None, None


@dataclass(frozen=True, slots=True)
class _Clause:
    """A part of a sentence with its day."""

    text: str
    sentence: str
    day: date | None


def _clauses(piece: Piece) -> list[_Clause]:
    """Return the clauses of a line; a day at the beginning of a clause holds for the next ones, up to another day."""
    found: list[_Clause] = []
    for sentence in wording.SENTENCE.findall(piece.text):
        led: date | None = None
        parts = [part for part in _CLAUSE.split(sentence) if part.strip()]
        for index, part in enumerate(parts):
            dated = named_day(part, piece.today)
            if dated is not None:
                led = _day_of(dated, piece.today) if dated.start <= _LEADING else None
                alone = not wording.terms(part[: dated.start] + part[dated.end :])
                if alone and index and found[-1].day is None:  # "the rent is due, next Friday"
                    found[-1] = replace(found[-1], day=_day_of(dated, piece.today))
            found.append(_Clause(part, sentence, _day_of(dated, piece.today) if dated else led))
    return found


def _days_of_clauses(lines: list[Piece]) -> frozenset[date]:
    return frozenset(clause.day for piece in lines for clause in _clauses(piece) if clause.day is not None)


def named_day(text: str, today: date) -> Expression | None:
    """Return the phrase for the day that a text names, preferring past days; None if it names none.

    A weekday alone means the next one, or the last one if the text is in the past tense.
    """
    found = [one for one in expressions(text, today) if one.is_day or one.unit in _OF_A_DAY]
    return min(found, key=lambda one: one.first > today, default=None)


def _day_of(named: Expression, today: date) -> date:
    """Return the day of a phrase: for a past week or month, the day in the same position as today in its own."""
    if named.is_day or named.first > today:
        return named.first
    far = today.weekday() if named.unit == "week" else today.day - 1
    return min(named.first + timedelta(days=far), named.last)
