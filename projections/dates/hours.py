"""Times of day as people say them (at 3pm, 15:30, 下午三点); an ambiguous time gives None, never a guess."""

from __future__ import annotations

import re
from datetime import time
from typing import Final, NamedTuple

from projections.dates.numerals import COUNT, NUMERAL, WORD, number

_NOON: Final = 12
_HOUR: Final = 60
_SURE_FROM: Final = 9
"""`at 9` and 九点 mean the morning; `at 3` may mean either half of the day."""
_HALF: Final = r"\s?(?P<{0}>[ap])\.?m\b"
_ENGLISH: Final = re.compile(
    r"(?<![\d:.,/$€£-])(?P<at>\bat )?(?P<hour>\d{1,2})(?!\d)(?:[:.](?P<minute>[0-5]\d)(?![\d:]))?"
    rf"(?:{_HALF.format('half')})?(?P<clock> ?o['’]clock\b)?"
    rf"(?:\s?(?:-|–|to|until|till)\s?\d{{1,2}}(?:[:.][0-5]\d)?(?:{_HALF.format('last')})?)?"
    r"(?P<end>(?![\d:.,]\d|%|/| (?!on\b|in\b|tomorrow\b|today\b|with\b|this\b|next\b|o'clock|for\b)\w))?"
    r"|\b(?P<noon>noon|midday)\b",
    re.IGNORECASE,
)
"""A time, or a range of times. The group `end` takes part if no following word makes the number count other things."""
_SPELT: Final = re.compile(
    rf"\b(?:at )?(?P<minutes>half|quarter) (?P<way>past|to) (?P<hour>{COUNT})\b"
    rf"|\bat (?P<whole>{WORD})(?: o['’]clock)?\b"
    r"(?!-| (?!on\b|in the (?:morning|after|even)|tomorrow\b|with\b|this\b|next\b|for\b)\w)",
    re.IGNORECASE,
)
_AROUND: Final = 80
"""How many characters on either side of an hour are searched for the half of the day."""
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


class Hour(NamedTuple):
    """A time of day and its position in a text (half open)."""

    start: int
    end: int
    at: time


def hours_in(text: str) -> list[Hour]:
    """Return the times of day that a text of either language names, the first one of each range.

    If no half of the day is named, 9 to 12 and clock times (15:00, 9:30) are taken literally.
    """
    found = [Hour(*m.span(), at) for m in _CHINESE.finditer(text) if (at := _chinese(m))]
    rest = _CHINESE.sub(lambda m: " " * len(m[0]), text)
    found += [Hour(*m.span(), at) for m in _SPELT.finditer(rest) if (at := _spelt(m, text))]
    rest = _SPELT.sub(lambda m: " " * len(m[0]), rest)
    found += [Hour(*m.span(), at) for m in _ENGLISH.finditer(rest) if (at := _english(m, text))]
    return sorted(found, key=lambda hour: hour.start)


def time_of_day(text: str) -> time | None:
    """Return the time of day that a text of either language names; None if it names none or several."""
    times = {hour.at for hour in hours_in(text)}
    return times.pop() if len(times) == 1 else None


def _half_of(text: str, m: re.Match[str]) -> bool | None:
    """Return whether the words around an hour place it in the later half of the day; None if they do not tell."""
    around = text[max(0, m.start() - _AROUND) : m.end() + _AROUND]
    return True if _EN_LATE.search(around) else False if _EN_EARLY.search(around) else None


def _english(m: re.Match[str], text: str) -> time | None:
    if m["noon"]:
        return time(_NOON)
    hour, minute = int(m["hour"]), int(m["minute"] or 0)
    if half := m["half"] or m["last"]:
        return _time(hour, minute, is_late=half in "pP")
    is_clock = m["minute"] is not None and ":" in m.group()
    if not is_clock and not m["clock"] and (m["at"] is None or m["end"] is None):
        return None
    if is_late := _half_of(text, m):
        return _time(hour, minute, is_late=True)
    return _time(hour, minute) if is_clock or hour >= _SURE_FROM or is_late is False else None


def _spelt(m: re.Match[str], text: str) -> time | None:
    """Return the time of "half past six", "quarter to nine" and "seven in the evening"."""
    said, is_late = (m["hour"] or m["whole"]).lower(), _half_of(text, m)
    hour = int(said) if said.isdecimal() else number(said) or 0
    if hour > _NOON or (is_late is None and hour < _SURE_FROM):
        return None
    minutes = {"half": 30, "quarter": 15, None: 0}[m["minutes"] and m["minutes"].lower()]
    if (m["way"] or "").lower() == "to":
        hour, minutes = hour - 1 or _NOON, 60 - minutes
    return _time(hour, minutes, is_late=is_late)


def _chinese(m: re.Match[str]) -> time | None:
    part = m["part"] or m["before"]
    if m["clock"]:
        hour, minute = int(m["clock"]), int(m["of_clock"])
    else:
        quarters = 2 if m["half"] else number(m["quarter"] or "零") or 0
        hour, minute = number(m["hour"]) or 0, number(m["minute"]) or 0 if m["minute"] else 15 * quarters
    if part is None or (part == _ZH_NOON and hour >= _SURE_FROM):
        return _time(hour, minute) if hour >= _SURE_FROM else None
    if part.endswith(_ZH_NIGHT) and hour == _NOON:  # midnight, which belongs to the next day
        return None
    return _time(hour, minute, is_late=re.fullmatch(_ZH_LATE, part) is not None)


def _time(hour: int, minute: int, *, is_late: bool | None = None) -> time | None:
    """Return a time, moved into the named half of the day if the hour is 1 to 12; None if no clock shows it."""
    if is_late is not None and 0 < hour <= _NOON:
        hour = hour % _NOON + (_NOON if is_late else 0)
    return time(hour, minute) if hour < 2 * _NOON and minute < _HOUR else None
