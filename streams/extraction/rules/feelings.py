"""Feelings that Chinese and English words name, and how strong they are."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Feeling:
    """A feeling. `emotion` is an English word in either language, so that it can be counted; `intensity` is 0 to 1."""

    emotion: str
    intensity: float


PLAIN: Final = 0.6
STRONG: Final = 0.8
SLIGHT: Final = 0.3

_CHINESE_WORDS: Final = {
    "happy": "开心|高兴|快乐|幸福|甜蜜|喜欢(?=$|得|极了|死了)",
    "moved": "感动|暖心",
    "sad": "难过|伤心|心碎|失落|想哭|委屈|心酸",
    "angry": "生气|愤怒|火大|气死了?",
    "anxious": "焦虑|紧张|不安|崩溃",
    "disappointed": "失望",
    "lonely": "孤独|孤单|寂寞",
    "excited": "激动|兴奋",
    "surprised": "惊喜",
    "proud": "骄傲|自豪",
    "afraid": "害怕|恐惧",
    "sorry": "后悔|愧疚|内疚|自责",
}
_ENGLISH_WORDS: Final = {
    "happy": "happy|glad|delighted|overjoyed|loved it",
    "moved": "moved|touched",
    "sad": "sad|heartbroken|devastated|depressed|upset|cried",
    "angry": "angry|furious|mad at",
    "anxious": "anxious|nervous|stressed|worried",
    "disappointed": "disappointed",
    "lonely": "lonely",
    "excited": "excited|thrilled",
    "surprised": "surprised",
    "proud": "proud",
    "afraid": "scared|terrified",
    "sorry": "ashamed|guilty",
}
_DEGREE: Final = r"(?P<degree>真的)?(?P<strong>特别|非常|超级|超|好|太|极其|十分|很|可)?(?P<slight>有点儿?|有些)?"
_CHINESE: Final = re.compile(
    rf"(?<!不)(?<!没)(?<!不太)(?<!不会)(?<!别){_DEGREE}(?:"
    + "|".join(f"(?P<{emotion}>{words})" for emotion, words in _CHINESE_WORDS.items())
    + r")(?P<after>死了|极了|得不行|坏了|得不得了)?"
)
_ENGLISH: Final = re.compile(
    r"\b(?<!not )(?<!never )(?:(?P<strong>so|very|really|extremely|incredibly|deeply|absolutely|super) |"
    r"(?P<slight>a bit|a little|kind of) )?(?:"
    + "|".join(f"(?P<{emotion}>{words})" for emotion, words in _ENGLISH_WORDS.items())
    + r")\b",
    re.IGNORECASE,
)


def chinese_feeling(text: str) -> Feeling | None:
    """Return the first feeling that a Chinese text names; one that is denied is none."""
    return _feeling(_CHINESE.search(text))


def english_feeling(text: str) -> Feeling | None:
    """Return the first feeling that an English text names; one that is denied is none."""
    return _feeling(_ENGLISH.search(text))


def _feeling(match: re.Match[str] | None) -> Feeling | None:
    if match is None:
        return None
    groups = match.groupdict()
    emotion = next(name for name in _CHINESE_WORDS if groups[name])
    if groups["slight"]:
        return Feeling(emotion, SLIGHT)
    return Feeling(emotion, STRONG if groups["strong"] or groups.get("after") else PLAIN)
