"""The span of time that a question names: "last month", "in May 2023", 上周, 去年, 明天, 2023年5月."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, Final

from projections.dates.reader import expressions
from projections.dates.spans import unit_from
from projections.dates.tense import SINCE
from schemas.inputs.zone import at_midnight, begin_of, local

if TYPE_CHECKING:
    from projections.dates.reader import Expression

_EARLIEST: Final = datetime(1, 1, 2, tzinfo=UTC)
_LATEST: Final = datetime(9999, 12, 30, tzinfo=UTC)
_BEFORE: Final = re.compile(r"\b(?:before|until|till|prior to)\s+(?:the\s+)?$", re.IGNORECASE)
_AFTER: Final = re.compile(r"\bafter\s+(?:the\s+)?$", re.IGNORECASE)
_LEAD: Final = 20
"""How many characters before a date are searched for such a word."""
_ZH_BEFORE: Final = re.compile("[之以]?前")
_ZH_AFTER: Final = re.compile("[之以]后")
_IS_DATE: Final = "年月日号天季份"
_WHOLE: Final = {"week": "week", "fortnight": "week", "part": "month"}
"""Phrases for which a question means the whole unit: two weeks ago, early in May."""
_ROUGH: Final = range(4, 28)
"""The lengths, in days, that a part of a month may have."""
_GUESSED: Final = frozenset({"weekday", "number"})
"""Units that a question leaves ambiguous: on Friday, on the 3rd."""


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open span between two instants in UTC; its days follow the clock of `zone`."""

    since: datetime
    until: datetime
    zone: tzinfo = UTC

    def holds(self, moment: datetime) -> bool:
        """Return whether an instant lies within the span. Midnight in UTC represents a whole day."""
        if at_midnight(moment):
            moment = begin_of(moment.date(), self.zone)
        return self.since <= moment < self.until

    def overlaps(self, other: Span) -> bool:
        """Return whether the two spans share an instant."""
        return self.since < other.until and other.since < self.until


def named_span(query: str, at: datetime, zone: tzinfo = UTC) -> Span | None:
    """Return the span that a query names, seen from an instant and by the clock of a zone.

    If it names several, an absolute one comes first. A month or a season without a year is the last one that has begun.
    Returns None if the query names no span, or one that does not exist in the calendar.
    """
    found = [one for one in expressions(query, local(at, zone), "past") if one.unit not in _GUESSED]
    if not found:
        return None
    one = min(found, key=lambda one: one.relative)
    whole = _WHOLE.get(one.unit) if (one.last - one.first).days in _ROUGH or one.is_day else None
    first, last = unit_from(whole, one.first, 0) if whole else one.days
    return _open(query, one, Span(begin_of(first, zone), begin_of(last + timedelta(days=1), zone), zone))


def _open(query: str, one: Expression, span: Span) -> Span:
    """Return the time before, after or since a span if the words next to it say so, else the span itself."""
    lead, is_date = max(0, one.start - _LEAD), query[one.end - 1] in _IS_DATE
    if _BEFORE.search(query, lead, one.start) or (is_date and _ZH_BEFORE.match(query, one.end)):
        return Span(_EARLIEST, span.since, span.zone)
    if _AFTER.search(query, lead, one.start) or (is_date and _ZH_AFTER.match(query, one.end)):
        return Span(span.until, _LATEST, span.zone)
    if SINCE.search(query, lead, one.start):
        return Span(span.since, _LATEST, span.zone)
    return span
