"""Starts: the employer or the city that a sentence says will be the speaker's, from the day that it names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from streams.extraction.rules.finding import profile

if TYPE_CHECKING:
    from streams.extraction.rules.finding import Finding

_NAME: Final = r"[A-Z][\w&'-]{0,20}(?: (?:of |the )?[A-Z][\w&'-]{0,20}){0,2}"
_ROWS: Final = (
    (
        "employer",
        re.compile(
            rf"\b[Ii](?:'m|'ll be| am| will be| will)? (?:start(?:ing)?|begin(?:ning)?)(?: (?:work(?:ing)?"
            rf"|my (?:new )?job|a (?:new )?job))?"
            rf" (?:at|with|for) (?P<what>{_NAME})"
        ),
    ),
    ("employer", re.compile(rf"\b[Ii](?:'m|'ll be| am| will be| will)? join(?:ing)? (?P<what>{_NAME})")),
    (
        "city",
        re.compile(
            rf"\b(?:[Ii]|[Ww]e)(?:'m|'re|'ll be| am| are| will be| will| 'll)? (?:mov(?:e|ing)|relocat(?:e"
            rf"|ing)) (?:back )?to (?P<what>{_NAME})"
        ),
    ),
    (
        "employer",
        re.compile(r"^(?:我|我们)?.{0,10}?(?:入职|加入)(?P<what>[一-鿿A-Za-z]{2,10}?)(?:$|[，。,了])"),
    ),
    ("employer", re.compile(r"^(?:我|我们).{0,10}?去(?P<what>[一-鿿A-Za-z]{2,10}?)(?:上班|报到)")),
    ("city", re.compile(r"(?:我|我们|要|会|就).{0,8}搬(?:去|到)(?P<what>[一-鿿]{2,4})")),
)
_NO_START: Final = re.compile(
    r"\b(?:whether|if|maybe|lunch|dinner|coffee|drinks|breakfast|call|meeting|zoom|plan [a-z])\b|\bat \d|是否|如果"
    r"|可能|朋友|他|她",
    re.IGNORECASE,
)
"""What joins no firm and moves to no city."""
_NO_FIRM: Final = re.compile(r"购物车|群|会员|帮忙|新公司|公司|单位|那|这|健身|学校|医院")


def begun_by(sentence: str) -> list[Finding]:
    """Return the keys that a sentence about a day to come says will be filled from then on."""
    if _NO_START.search(sentence):
        return []
    for attribute, pattern in _ROWS:
        found = pattern.search(sentence)
        if found and not _NO_FIRM.search(found["what"]):
            return [profile(attribute, found["what"], sentence)]
    return []
