"""Numerals: Chinese ones up to 9,999, and the English words that count days and weeks."""

from __future__ import annotations

from typing import Final

_DIGITS: Final = {c: n for n, c in enumerate("零一二三四五六七八九")} | {"两": 2, "〇": 0}
_UNITS: Final = {"十": 10, "百": 100, "千": 1000}
NUMERAL: Final = r"(?:[0-9]{1,4}|[零〇一二两三四五六七八九十百千]{1,7})"
"""The pattern of the Chinese numerals that `number` reads."""
_NAMES: Final = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_WORDS: Final = {word: n for n, word in enumerate(_NAMES, start=1)} | {"fifteen": 15, "twenty": 20}
_PAIR: Final = ("couple of", "a couple of")
WORD: Final = "|".join(sorted(_WORDS, key=len, reverse=True))
MANY: Final = rf"(?:\d{{1,3}}|(?:a )?couple of|{WORD})"
COUNT: Final = rf"(?:{MANY}|an?)"
"""The pattern of the English counts that `number` reads, "a" and "an" included."""


def number(text: str) -> int | None:
    """Return the number that a text spells: `28`, `二十八`, `两千零一`, "three", "a couple of". None without one."""
    if text.isascii():
        return int(text) if text.isdigit() else 2 if text in _PAIR else 1 if text in ("a", "an") else _WORDS.get(text)
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
    return total + (digit or 0)
