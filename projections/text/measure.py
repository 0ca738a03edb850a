"""The measure of one turn: its sentences and words, whether it is Chinese, and the hour of the day it was said in."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo

import orjson

from schemas.messages.observations import TIMEZONE

_HAN: Final = "\u3400-\u9fff\uf900-\ufaff"
_WORD: Final = re.compile(rf"[{_HAN}]|[^\W{_HAN}]+(?:['’][^\W{_HAN}]+)*")
_SENTENCE_END: Final = re.compile(r"[。！？!?…\n]+|\.(?=\s|$)")
_LONGEST_ZONE: Final = 255
"""Characters: no file, and so no zone, has a longer name."""
_OFFSET: Final = re.compile(r"(?P<sign>[+-])(?P<hours>\d\d):(?P<minutes>[0-5]\d)", re.ASCII)


@dataclass(frozen=True, slots=True)
class TurnMeasure:
    """The counts of one turn."""

    sentences: int
    words: int
    """Chinese characters, and words of other scripts."""
    is_chinese: bool


def measure(text: str) -> TurnMeasure:
    """Count the sentences and words of a turn."""
    words = _WORD.findall(text)
    han = sum(len(word) == 1 and "\u3400" <= word <= "\ufaff" for word in words)
    sentences = sum(1 for part in _SENTENCE_END.split(text) if _WORD.search(part))
    return TurnMeasure(max(1, sentences), len(words), 2 * han > len(words))


def hour_of(effective: datetime, metadata: str) -> int:
    """Return the hour of a turn: in the `timezone` of its metadata, an IANA name or `+08:00`, else in UTC."""
    try:
        return effective.astimezone(_zone(metadata) if TIMEZONE in metadata else UTC).hour
    except OverflowError:  # at either end of the calendar, from a producer that writes to the topic
        return effective.hour


def _zone(metadata: str) -> tzinfo:
    try:
        document = orjson.loads(metadata)
    except orjson.JSONDecodeError:  # a producer of Avro may write anything there
        return UTC
    name = document.get(TIMEZONE) if isinstance(document, dict) else None
    return _zone_named(name) if isinstance(name, str) and len(name) <= _LONGEST_ZONE else UTC


@lru_cache(maxsize=1024)
def _zone_named(name: str) -> tzinfo:
    if (m := _OFFSET.fullmatch(name)) and int(m["hours"]) < 24:  # noqa: PLR2004 - hours of a day
        span = timedelta(hours=int(m["hours"]), minutes=int(m["minutes"]))
        return timezone(-span if m["sign"] == "-" else span)
    try:
        return ZoneInfo(name)
    except (LookupError, ValueError, OSError):  # also for names of folders of the database
        return UTC
