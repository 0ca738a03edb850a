"""Spoken times of day (at 3pm, 15:30, 下午三点); None where that would take a guess."""

from __future__ import annotations

import re
from datetime import time
from typing import Final

from streams.extraction.rules.numbers import NUMERAL, number

_NOON: Final = 12
_SURE_FROM: Final = 9
"""`at 9` and 九点 are in the morning, `at 3` may be of either half of the day."""
_HALF: Final = r"\s?(?P<{0}>[ap])\.?m\b"
_ENGLISH: Final = re.compile(
    r"(?<![\d:.,/$€£-])(?P<at>\bat )?(?P<hour>\d{1,2})(?!\d)(?:[:.](?P<minute>[0-5]\d)(?![\d:]))?"
    rf"(?:{_HALF.format('half')})?"
    rf"(?:\s?(?:-|–|to|until|till)\s?\d{{1,2}}(?:[:.][0-5]\d)?(?:{_HALF.format('last')})?)?"
    r"(?P<end>(?![\d:.,]\d|%|/| (?!on\b|in\b|tomorrow\b|today\b|with\b|this\b|next\b|o'clock|for\b)\w))?"
    r"|\b(?P<noon>noon)\b",
    re.IGNORECASE,
)
"""A time, or a span from one to another; `end`: what follows does not make its number one of something else."""
_EN_LATE: Final = re.compile(r"\b(?:afternoon|evening|tonight|dinner)\b", re.IGNORECASE)
_EN_EARLY: Final = re.compile(r"\b(?:morning|breakfast)\b", re.IGNORECASE)
_ZH_NOON: Final = "中午"
_ZH_NIGHT: Final = ("晚上", "晚")
_ZH_LATE: Final = "中午|下午|傍晚|晚上|[今明昨当]晚"
_ZH_PART: Final = rf"(?:{_ZH_LATE}|凌晨|清晨|早上|早晨|上午|[今明昨]早)"
_ZH_TIME: Final = rf"(?:{NUMERAL}(?:点钟?|时)(?:半|[一三]刻|{NUMERAL}分?)?|\d{{1,2}}[:：][0-5]\d)"
_CHINESE: Final = re.compile(
    rf"(?:(?P<part>{_ZH_PART})?的?(?P<hour>{NUMERAL})(?:点钟?|时)"
    rf"(?:(?P<half>半)|(?P<quarter>[一三])刻|(?P<minute>{NUMERAL})分?)?(?![个些条小建])"
    rf"|(?P<before>{_ZH_PART})的?(?P<clock>\d{{1,2}})[:：](?P<of_clock>[0-5]\d)(?![\d:：]))"
    rf"(?:\s?[-~到至]\s?{_ZH_PART}?{_ZH_TIME})?"
)


def time_of_day(text: str) -> time | None:
    """Return the time of day that a text of either language names, of a span of time the first; None of two times.

    Without a half of the day 9 to 12 are meant as they stand, and so is what is written as on a clock (15:00, 9:30).
    """
    rest = _CHINESE.sub(" ", text)
    named = {_chinese(m) for m in _CHINESE.finditer(text)} | {_english(m, text) for m in _ENGLISH.finditer(rest)}
    times = named - {None}
    return times.pop() if len(times) == 1 else None


def _english(m: re.Match[str], text: str) -> time | None:
    if m["noon"]:
        return time(_NOON)
    hour, minute = int(m["hour"]), int(m["minute"] or 0)
    if half := m["half"] or m["last"]:
        return _time(hour, minute, is_late=half in "pP")
    is_clock = m["minute"] is not None and ":" in m.group()
    if not is_clock and (m["at"] is None or m["end"] is None):
        return None
    if _EN_LATE.search(text):
        return _time(hour, minute, is_late=True)
    return _time(hour, minute) if is_clock or hour >= _SURE_FROM or _EN_EARLY.search(text) else None


def _chinese(m: re.Match[str]) -> time | None:
    part = m["part"] or m["before"]
    if m["clock"]:
        hour, minute = int(m["clock"]), int(m["of_clock"])
    else:
        quarters = 2 if m["half"] else number(m["quarter"] or "零") or 0
        hour, minute = number(m["hour"]) or 0, number(m["minute"]) or 0 if m["minute"] else 15 * quarters
    if part is None or (part == _ZH_NOON and hour >= _SURE_FROM):
        return _time(hour, minute) if hour >= _SURE_FROM else None
    if part.endswith(_ZH_NIGHT) and hour == _NOON:  # of the day after
        return None
    return _time(hour, minute, is_late=re.fullmatch(_ZH_LATE, part) is not None)


def _time(hour: int, minute: int, *, is_late: bool | None = None) -> time | None:
    """Return a time of a half of the day, where one is named and the hour is one of twelve; None of no clock."""
    if is_late is not None and 0 < hour <= _NOON:
        hour = hour % _NOON + (_NOON if is_late else 0)
    try:
        return time(hour, minute)
    except ValueError:
        return None
