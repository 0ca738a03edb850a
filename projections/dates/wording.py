"""A text with its days in brackets after its words, and the day and hour of the event that it describes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from projections.dates.cues import moved_to
from projections.dates.reader import expressions

if TYPE_CHECKING:
    from datetime import datetime

    from projections.dates.reader import Expression
    from projections.dates.spans import Days

_HAN: Final = re.compile(r"[一-鿿]")
_SAID: Final = re.compile(r"\s?[(（][^()（）]{0,20}\d{4}")
"""Brackets that already name the day."""
_BRACKETS: Final = re.compile(r"\s?[(（]\d{4}[^()（）]{0,30}[)）]")
_ONGOING: Final = re.compile(r"\b(?:since|until|till)\s+(?:the\s+)?$|[自从]$", re.IGNORECASE)
_GAP: Final = re.compile(r"[\s,，、(（的]{0,3}")
_BEFORE: Final = 12
"""How many characters before an expression are searched for "since"."""


def annotated(text: str, at: datetime) -> str:
    """Return a text unchanged except that the day or days follow each relative time expression in brackets.

    `at` is the time of speaking by the speaker's clock. "I saw the dentist yesterday (2026-11-27)",
    大前天（2026-11-25）. A date with a year, a weekly recurrence and an expression whose day is uncertain get no
    brackets. Neither does an expression that already has brackets with a year, so that a second call changes nothing.
    """
    parts, end = [], 0
    found = _said(text, at)
    for n, one in enumerate(found):
        if not one.relative or not one.is_sure or _SAID.match(text, one.end) or _is_named_beside(text, found, n):
            continue
        parts += [text[end : one.end], brackets(text[: one.end], one.days)]
        end = one.end
    return "".join((*parts, text[end:]))


def without_days(text: str) -> str:
    """Return a text without the days in brackets that `annotated` added."""
    return _BRACKETS.sub("", text)


def brackets(text: str, days: Days) -> str:
    """Return days in brackets as they follow a text: in full-width brackets after Chinese."""
    written = days.written
    return f"（{written.replace(' to ', '至')}）" if _HAN.match(text[-1:]) else f" ({written})"


def with_brackets(text: str, one: Expression) -> str:
    """Return a text with the days of one of its expressions in brackets after that expression."""
    return f"{text[: one.end]}{brackets(text[: one.end], one.days)}{text[one.end :]}"


def first_day(text: str, at: datetime) -> Expression | None:
    """Return the expression for the day and hour of the event that a text describes; None without one.

    The first single day wins, else the first expression for several days. An expression after "since" or "until" is
    chosen only if there is no other.
    """
    found = [one for one in _said(text, at) if one.is_sure and one.unit != "range"]
    ongoing = {one.start for one in found if _ONGOING.search(text, max(0, one.start - _BEFORE), one.start)}
    return min(found, key=lambda one: (one.start in ongoing, one.hour is None and not one.is_day), default=None)


def _said(text: str, at: datetime) -> list[Expression]:
    """Return the expressions of a text. A day to which something was moved lies ahead, whatever the tense."""
    return expressions(text, at, "coming" if moved_to(text, at.date()) else None)


def _is_named_beside(text: str, found: list[Expression], n: int) -> bool:
    """Return whether the expression right after this one names its day, as in "tomorrow, March 3rd"."""
    if n + 1 == len(found) or not _GAP.fullmatch(text, found[n].end, found[n + 1].start):
        return False
    one, other = found[n], found[n + 1]
    return one.first <= other.first and other.last <= one.last
