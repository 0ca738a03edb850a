"""The measures of a text: its sentences and words, its language, its approximate tokens, and the hour of a turn."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from schemas.inputs.zone import local, zone_of

if TYPE_CHECKING:
    from datetime import datetime

_HAN: Final = "\u3400-\u9fff\uf900-\ufaff"
_WORD: Final = re.compile(rf"[{_HAN}]|[^\W{_HAN}]+(?:['’][^\W{_HAN}]+)*")
_SENTENCE_END: Final = re.compile(r"[。！？!?…\n]+|\.(?=\s|$)")
_CJK: Final = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uff00-\uffef]")
_LETTERS_A_TOKEN: Final = 4
_HAN_FOR_A_WORD: Final = 2
_LATIN_FOR_A_WORD: Final = 5


@dataclass(frozen=True, slots=True)
class TurnMeasure:
    """The counts of one turn."""

    sentences: int
    words: int
    """The number of Chinese characters and of words in other scripts."""
    is_chinese: bool


def measure(text: str) -> TurnMeasure:
    """Count the sentences and words of a turn."""
    words = _WORD.findall(text)
    han = sum(len(word) == 1 and "\u3400" <= word <= "\ufaff" for word in words)
    sentences = sum(1 for part in _SENTENCE_END.split(text) if _WORD.search(part))
    return TurnMeasure(max(1, sentences), len(words), 2 * han > len(words))


def language_of(text: str) -> str:
    """Return `zh`, `en`, or an empty text for other scripts: whichever has the most words, by their usual lengths.

    Kana make a text Japanese, whatever else it contains.
    """
    if text.isascii():
        return "en" if any(map(str.isalpha, text)) else ""
    han = latin = other = 0
    for letter in text:
        if "a" <= letter <= "z" or "A" <= letter <= "Z" or "\u00c0" <= letter <= "\u024f":
            latin += 1
        elif "\u4e00" <= letter <= "\u9fff" or "\u3400" <= letter <= "\u4dbf":
            han += 1
        elif "\u3040" <= letter <= "\u30ff":
            return ""
        elif letter.isalpha():
            other += 1
    words = {"zh": han / _HAN_FOR_A_WORD, "en": latin / _LATIN_FOR_A_WORD, "": other / _LATIN_FOR_A_WORD}
    return max(words, key=lambda language: words[language]) if any(words.values()) else ""


def rough_tokens(text: str) -> int:
    """Estimate the tokens of a text: one per Chinese, Japanese or Korean character, one per four other characters."""
    characters = len(_CJK.findall(text))
    return characters + math.ceil((len(text) - characters) / _LETTERS_A_TOKEN)


def hour_of(effective: datetime, metadata: str) -> int:
    """Return the hour of a turn: in the `timezone` of its metadata, an IANA name or `+08:00`, else in UTC."""
    return local(effective, zone_of(metadata)).hour
