"""Patterns of use: when somebody talks, and how long the sentences are. Counted from turns, never guessed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo

import orjson

from schemas.messages.observations import TIMEZONE

if TYPE_CHECKING:
    from collections.abc import Mapping

_HAN: Final = "\u3400-\u9fff\uf900-\ufaff"
_WORD: Final = re.compile(rf"[{_HAN}]|[^\W{_HAN}]+(?:['’][^\W{_HAN}]+)*")
_SENTENCE_END: Final = re.compile(r"[。！？!?…\n]+|\.(?=\s|$)")
_OFFSET: Final = re.compile(r"(?P<sign>[+-])(?P<hours>\d\d):(?P<minutes>[0-5]\d)", re.ASCII)
_PARTS: Final = ((0, "night", "凌晨"), (5, "morning", "早上"), (12, "afternoon", "下午"), (18, "evening", "晚上"))
"""Parts of the day, each from its first hour to the next one's."""
_SHORT_WORDS, _LONG_WORDS = 8, 20
"""A sentence of fewer words is short, of more is long; a Chinese character is a word."""


@dataclass(frozen=True, slots=True)
class Said:
    """What is counted of one turn."""

    sentences: int
    words: int
    """Chinese characters, and words of other scripts."""
    is_chinese: bool


@dataclass(frozen=True, slots=True)
class Usage:
    """What was counted of a user's turns."""

    turns_by_hour: Mapping[int, int]
    """By the hour of the day, UTC unless a turn names its time zone."""
    sentences: int = 0
    words: int = 0
    chinese_turns: int = 0

    @property
    def turns(self) -> int:
        """How many turns were counted."""
        return sum(self.turns_by_hour.values())


def measured(text: str) -> Said:
    """Count the sentences and words of a turn."""
    words = _WORD.findall(text)
    han = sum(len(word) == 1 and "\u3400" <= word <= "\ufaff" for word in words)
    sentences = sum(1 for part in _SENTENCE_END.split(text) if _WORD.search(part))
    return Said(max(1, sentences), len(words), 2 * han > len(words))


def hour_of(effective: datetime, metadata: str) -> int:
    """Return the hour of a turn: in the `timezone` of its metadata, an IANA name or `+08:00`, else in UTC."""
    try:
        return effective.astimezone(_zone(metadata) if TIMEZONE in metadata else UTC).hour
    except OverflowError:  # at either end of the calendar, from a producer that writes to the topic
        return effective.hour


@lru_cache(maxsize=1024)
def _zone(metadata: str) -> tzinfo:
    try:
        told = orjson.loads(metadata)
    except orjson.JSONDecodeError:  # a producer of Avro may write anything there
        return UTC
    name = told.get(TIMEZONE) if isinstance(told, dict) else None
    if not isinstance(name, str):
        return UTC
    if (m := _OFFSET.fullmatch(name)) and int(m["hours"]) < 24:  # noqa: PLR2004 - hours of a day
        span = timedelta(hours=int(m["hours"]), minutes=int(m["minutes"]))
        return timezone(-span if m["sign"] == "-" else span)
    try:
        return ZoneInfo(name)
    except (LookupError, ValueError, OSError):  # also for names of folders of the database
        return UTC


def patterns(usage: Usage) -> list[str]:
    """Return what the counts say, in the language of most of the turns; nothing without turns."""
    if not usage.turns:
        return []
    by_part = [0] * len(_PARTS)
    for hour, count in usage.turns_by_hour.items():
        by_part[max(n for n, (begin, _, _) in enumerate(_PARTS) if begin <= hour)] += count
    most = max(range(len(_PARTS)), key=lambda n: by_part[n])
    _, english, chinese = _PARTS[most]
    length = usage.words / usage.sentences
    if 2 * usage.chinese_turns > usage.turns:
        size = "简短" if length < _SHORT_WORDS else "较长" if length > _LONG_WORDS else "适中"
        return [
            f"多在{chinese}说话（{usage.turns} 次中 {by_part[most]} 次）",
            f"句子{size}（平均 {length:.1f} 个字）",
        ]
    size = "short" if length < _SHORT_WORDS else "long" if length > _LONG_WORDS else "medium"
    return [
        f"talks mostly in the {english} ({by_part[most]} of {usage.turns} turns)",
        f"{size} sentences ({length:.1f} words on average)",
    ]
