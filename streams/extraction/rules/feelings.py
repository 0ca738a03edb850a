"""Feelings that Chinese and English words name, and how strong they are."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from streams.extraction.rules.cues import tables_beside


@dataclass(frozen=True, slots=True)
class Feeling:
    """A feeling. `emotion` is an English word in either language, so that it can be counted; `intensity` is 0 to 1."""

    emotion: str
    intensity: float


PLAIN: Final = 0.6
STRONG: Final = 0.8
SLIGHT: Final = 0.3

_WORDS: Final = tables_beside(__file__)
"""The words of each feeling, by language."""


def _any_of(language: str) -> str:
    return "|".join(f"(?P<{emotion}>{words[language]})" for emotion, words in _WORDS.items())


_DEGREE: Final = r"(?P<degree>真的)?(?P<strong>特别|非常|超级|超|好|太|极其|十分|很|可)?(?P<slight>有点儿?|有些)?"
_CHINESE: Final = re.compile(
    rf"(?<!不)(?<!没)(?<!不太)(?<!不会)(?<!别){_DEGREE}(?:{_any_of('chinese')})(?P<after>死了|极了|得不行|坏了|得不得了)?"
)
_ENGLISH: Final = re.compile(
    r"\b(?<!not )(?<!never )(?:(?P<strong>so|very|really|extremely|incredibly|deeply|absolutely|super) |"
    rf"(?P<slight>a bit|a little|kind of) )?(?:{_any_of('english')})\b",
    re.IGNORECASE,
)


def chinese_feeling(text: str) -> Feeling | None:
    """Return the first feeling that a Chinese text names; one that is denied does not count."""
    return _feeling(_CHINESE.search(text))


def english_feeling(text: str) -> Feeling | None:
    """Return the first feeling that an English text names; one that is denied does not count."""
    return _feeling(_ENGLISH.search(text))


def _feeling(match: re.Match[str] | None) -> Feeling | None:
    if match is None:
        return None
    groups = match.groupdict()
    emotion = next(name for name in _WORDS if groups[name])
    if groups["slight"]:
        return Feeling(emotion, SLIGHT)
    return Feeling(emotion, STRONG if groups["strong"] or groups.get("after") else PLAIN)
