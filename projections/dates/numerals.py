"""Numerals: Chinese ones up to 9,999, and the English words by which days and weeks are counted."""

from __future__ import annotations

from typing import Final

_DIGITS: Final = {c: n for n, c in enumerate("零一二三四五六七八九")} | {"两": 2, "〇": 0}
_UNITS: Final = {"十": 10, "百": 100, "千": 1000}
NUMERAL: Final = r"(?:[0-9]{1,4}|[零〇一二两三四五六七八九十百千]{1,7})"
"""A pattern for what `number` reads."""
_WORDS: Final = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_COUNTS: Final = {word: n for n, word in enumerate(_WORDS, start=1)} | {"a": 1, "an": 1, "fifteen": 15, "twenty": 20}
WORD: Final = "|".join(sorted((word for word in _COUNTS if word[0] != "a"), key=len, reverse=True))
MANY: Final = rf"(?:\d{{1,3}}|(?:a )?couple of|{WORD})"
COUNT: Final = rf"(?:{MANY}|an?)"
"""Patterns for what `count` reads."""


def number(text: str) -> int | None:
    """Return the number that `28`, `二十八` or `两千零一` says; None for anything else, malformed numerals included."""
    if text.isascii() and text.isdigit():
        return int(text)
    total, digit = 0, None
    for char in text:
        if char in _DIGITS:
            if digit not in (None, 0):
                return None
            digit = _DIGITS[char]
        elif char in _UNITS:
            total += (1 if digit is None else digit) * _UNITS[char]
            digit = None
        else:
            return None
    return total + (digit or 0) if text else None


def count(text: str) -> int:
    """Return the number that an English text of the pattern `COUNT` says."""
    return int(text) if text.isdecimal() else 2 if "couple" in text else _COUNTS[text]
