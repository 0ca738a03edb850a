"""Literals: strings that a question names exactly, such as an order number, a flight, an address or a quoted phrase."""

from __future__ import annotations

import re
from typing import Final

from schemas.text import nfkc

_LONGEST: Final = 80
_QUOTED: Final = re.compile(
    rf"[\"“]([^\"“”\n]{{2,{_LONGEST}}})[\"”]|「([^「」\n]{{2,{_LONGEST}}})」|『([^『』\n]{{2,{_LONGEST}}})』"
)
_CODE: Final = re.compile(r"[a-z0-9][a-z0-9._+@-]{2,60}[a-z0-9]", re.ASCII)
_PLAIN: Final = re.compile(
    r"(?:19|20)\d\d|\d{1,4}(?:[-.]\d{1,4}){1,2}|\d{1,2}(?:st|nd|rd|th|am|pm)|\d{1,4}(?:[a-z]{1,7})|[a-z-]{1,20}\d",
    re.ASCII,
)
"""Numbers that do not identify anything: years, days, times, amounts with a unit, and words that end in a digit."""


def literals_in(question: str) -> tuple[str, ...]:
    """Return the literals of a question, folded as `holds` compares them."""
    text = nfkc(question).casefold()
    quoted = [next(filter(None, match.groups())) for match in _QUOTED.finditer(text)]
    codes = [code for code in _CODE.findall(text) if _is_code(code)]
    return tuple(dict.fromkeys(one.strip() for one in (*quoted, *codes) if one.strip()))


def holds(text: str, literals: tuple[str, ...]) -> bool:
    """Return whether a text contains all the literals, none of them as part of a longer number or word."""
    folded = nfkc(text).casefold()
    return all(_stands_in(folded, literal) for literal in literals)


def _is_code(code: str) -> bool:
    has_digit = any(map(str.isdigit, code))
    return "@" in code or (has_digit and not _PLAIN.fullmatch(code))


def _stands_in(folded: str, literal: str) -> bool:
    begin = folded.find(literal)
    while begin != -1:
        around = folded[max(0, begin - 1) : begin], folded[begin + len(literal) : begin + len(literal) + 1]
        if not any(letter.isascii() and letter.isalnum() for letter in around):
            return True
        begin = folded.find(literal, begin + 1)
    return False
