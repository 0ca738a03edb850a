"""What the words around a day say about it: a beginning, a new appointment, a day that is past or still to come."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from projections.dates.reader import expressions

if TYPE_CHECKING:
    from datetime import date

    from projections.dates.reader import Expression

_MOVED: Final = re.compile(
    r"(?:改|推迟|提前|挪|延期|延后|移|调)(?:到|至|成|在)"
    r"|\b(?:moved|pushed|postponed|rescheduled|delayed|shifted|put off"
    r"|brought forward)(?: (?:my|our|the) [\w' ]{2,40}?)?(?: back| forward| up)? (?:to|until|till|for)(?= )",
    re.IGNORECASE,
)
_NOT_MOVED: Final = re.compile(r"(?:没有?|不[会能用要]?|别)[改推提挪延移调]|\b(?:not|never)\b|n't\b", re.IGNORECASE)
_BETWEEN: Final = len(" the ")
"""The most characters between the verb and the new day: "moved to Oslo on Friday" does not move an appointment."""
_LONG: Final = frozenset({"month", "year", "season", "part"})
_SINCE: Final = re.compile(
    r"\bsince (?:the )?$"
    r"|\b(?:moved|relocated|settled|joined|started|(?:got|was|were|been|am) (?:married|divorced|engaged)"
    r"|became|hired)\b[^,]{0,60} in (?:the )?$|[从自]$",
    re.IGNORECASE,
)
_ZH_SINCE: Final = re.compile(
    r"(?:起|开始|以来|就(?!要))|我?(?:就|才|又|刚刚?|已经|终于|正式|全家|一个人){0,3}(?:从[^我，]{1,8}?)?"
    r"(?:搬|定居|落户|移居|移民|跳槽|跳[到去]|入职|加入|转行|改行|结婚|领证|离婚|订婚)"
)
_LEAD: Final = 80
"""How many characters before a day are searched for such words."""


def since(text: str, today: date) -> date | None:
    """Return the first day of the year or month since which, according to a text, something has been true.

    Both languages are read: `since March`, 我四月搬到了深圳. A month without a year is the last one that has begun,
    unless the text means the next one. Returns None if no such day is named or if it is still to come.
    """
    for one in _past(text, today):
        lead = max(0, one.start - _LEAD)
        if one.unit in _LONG and (_SINCE.search(text, lead, one.start) or _ZH_SINCE.match(text, one.end)):
            return one.first if one.first <= today else None
    return None


def moved_to(text: str, today: date) -> Expression | None:
    """Return the day to which a text of either language moves an appointment; None if there is none from today on."""
    m = _MOVED.search(text)
    if m is None or _NOT_MOVED.search(text, 0, m.end()):
        return None
    one = next((one for one in expressions(text, today, "coming") if one.start >= m.end()), None)
    return one if one and one.is_day and one.first >= today and one.start <= m.end() + _BETWEEN else None


def day_ahead(text: str, today: date) -> Expression | None:
    """Return the first day that a text names and that is today or later, or that has its year; None without one."""
    found = (one for one in expressions(text, today, "coming") if one.is_day and (one.is_sure or one.unit != "number"))
    return next((one for one in found if one.first >= today or not one.relative), None)


def day_past(text: str, today: date) -> date | None:
    """Return the day on which something happened according to a text; None if it names none up to today."""
    return next((one.first for one in _past(text, today) if one.is_day and one.first <= today), None)


def _past(text: str, today: date) -> list[Expression]:
    """Return the expressions of a text, read in the past tense, without those that are certain to be in the future."""
    ahead = {one.start for one in expressions(text, today) if one.is_sure and one.first > today}
    return [one for one in expressions(text, today, "past") if one.start not in ahead]
