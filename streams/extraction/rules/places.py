"""Cities. In Chinese only a name on the list in `places.toml`, or one that ends with 市, is taken for a city."""

from __future__ import annotations

import re
from typing import Final

from streams.extraction.rules.cues import tables_beside

_NAMES: Final = {
    kind: frozenset(name.replace("_", " ") for name in table["names"].split())
    for kind, table in tables_beside(__file__).items()
}
CHINESE_CITIES: Final = _NAMES["cities"]
_LONGEST: Final = max(map(len, CHINESE_CITIES))
_SPELT = re.compile(r"[一-鿿]{2,4}(?<![这那哪个座全每大小门超夜城])市(?![场区民中里])")


def chinese_city(text: str) -> str | None:
    """Return the city that a text begins with, without 市; None if it begins with none."""
    for length in range(min(_LONGEST, len(text)), 1, -1):
        if text[:length] in CHINESE_CITIES:
            return text[:length]
    match = _SPELT.match(text)
    return match.group()[:-1] if match else None


_LATIN = re.compile(r"[A-Z][a-z]{2,14}(?: [A-Z][a-z]{2,14}){0,2}(?![A-Za-z0-9])")


def latin_city(text: str) -> str | None:
    """Return the city in Latin letters that a Chinese text about a home begins with; None if there is none."""
    match = _LATIN.match(text)
    return match.group() if match and english_city(match.group()) and not is_country(match.group()) else None


def is_country(name: str) -> bool:
    """Return whether a name is a country's, or a large region's."""
    return name in _NAMES["countries"]


def english_city(name: str) -> bool:
    """Return whether capitalised words may be a city's name: none of them is a language, weekday, month or feast."""
    return not any(word in _NAMES["others"] for word in name.split())
