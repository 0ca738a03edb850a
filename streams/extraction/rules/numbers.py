"""Chinese numerals up to 9,999."""

from __future__ import annotations

from typing import Final

_DIGITS: Final = {c: n for n, c in enumerate("零一二三四五六七八九")} | {"两": 2, "〇": 0}
_UNITS: Final = {"十": 10, "百": 100, "千": 1000}
NUMERAL: Final = r"(?:[0-9]{1,4}|[零〇一二两三四五六七八九十百千]{1,7})"
"""A pattern for what `number` reads."""


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
