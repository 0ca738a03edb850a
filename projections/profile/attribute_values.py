"""Validation of the profile's dates and ages. It is liberal: it accepts every value that a reader would understand."""

from __future__ import annotations

import re
from typing import Final

from projections.dates.yearly import names_day, yearly_day
from projections.profile.upcoming import BIRTHDAY, IMPORTANT
from schemas.vocabulary.attributes import name_and_date

AGE: Final = "age"
MOST_YEARS: Final = 150
_ONES: Final = r"one|two|three|four|five|six|seven|eight|nine"
_TENS: Final = r"ten|eleven|twelve|\w+teen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred"
_COUNTED: Final = re.compile(rf"[一二三四五六七八九十百]|\b(?:{_TENS}|{_ONES})(?:s|ish)?\b", re.IGNORECASE)
_PLAIN_DAY: Final = re.compile(r"(?<![\d/.-])(\d{1,2})[-/.](\d{1,2})(?:[-/.](?:\d{4}|\d{2}))?(?![\d/.-])")
_ROUGHLY: Final = re.compile(
    r"(?<!\d)(?:1[89]|2[01])\d\d(?!\d)|[一二三四五六七八九十正腊冬闰\d]月|农历|阴历|初[一二三四五六七八九十]|节|除夕|七夕|元旦"
    r"|\b(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?|christmas|easter|thanksgiving|halloween|new year|day|eve)\b",
    re.IGNORECASE,
)
"""A month, a year, a day of the lunar calendar, a festival: not an exact day, but one that a reader understands.

The pattern matches only the last character of a Chinese month: looking for its beginning would take quadratic time."""
_DAYS: Final = "such as 05-20, 1990-05-20, 5月20日 or May 20"


def fault_of(attribute: str | None, value: str | None) -> str | None:
    """Return what is wrong with an attribute's value and which values are accepted; None if the value is valid."""
    if value is None:
        return None
    if attribute == AGE and not is_age(value):
        return f"is no age: give a number of years up to {MOST_YEARS}, such as 30 or 30岁"
    if attribute == BIRTHDAY and not is_date(value):
        return f"is no birthday: give a date, {_DAYS}"
    if attribute == IMPORTANT:
        name, day = name_and_date(value)
        if not name or not is_date(day):
            return f"is no important date: give `name: date`, the date {_DAYS}"
    return None


def is_age(text: str) -> bool:
    """Return whether a text states a number of years, in digits or in words of either language."""
    numbers = [int(digits) for digits in re.findall(r"\d+", text[:64])]
    return all(n <= MOST_YEARS for n in numbers) if numbers else _COUNTED.search(text) is not None


def is_date(text: str) -> bool:
    """Return whether a text names a date: a day that exists, an approximate date, or a festival."""
    if names_day(text):
        return yearly_day(text) is not None
    if m := _PLAIN_DAY.search(text):
        return _is_day(int(m[1]), int(m[2])) or _is_day(int(m[2]), int(m[1]))
    return _ROUGHLY.search(text) is not None


def _is_day(month: int, day: int) -> bool:
    return yearly_day(f"{month:02}-{day:02}") is not None
