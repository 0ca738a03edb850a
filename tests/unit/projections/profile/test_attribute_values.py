"""What birthdays, important dates and ages may be: whatever a reader understands as one."""

from __future__ import annotations

import time

import pytest
from support.examples import later, remember
from support.given import given
from support.tables import each

from projections.dates.yearly import days_named
from projections.profile.attribute_values import fault_of
from projections.profile.profile import profile
from projections.profile.upcoming import upcoming

DATES = [
    "05-20", "1990-05-20", "1990/5/20", "1990.05.20", "5月20日", "五月二十日", "1990年5月20号", "May 20", "20 May 1990",
    "May 20th, 1990", "the 20th of May", "02-29", "29 February", "5/20", "20/5/1990", "05/20/90", "1990", "1990年",
    "May 1990", "5月", "农历八月十五", "正月初一", "中秋节", "Christmas", "Valentine's Day", " 05-20 ",
]  # fmt: skip
NO_DATES = ["", " ", "banana", "bogus", "someday", "13-45", "1990-13-45", "1990-02-30", "99/99", "maybe", "tomorrow"]


@each("value", DATES)
def test_a_birthday_may_be_said_in_many_ways(value: str):
    assert fault_of("birthday", value) is None
    assert fault_of("important_dates", f"wedding: {value}") is None
    assert fault_of("important_dates", f"结婚纪念日：{value}") is None


@each("value", NO_DATES)
def test_what_is_no_date_is_refused_with_what_is_accepted(value: str):
    assert (fault_of("birthday", value) or "").endswith("give a date, such as 05-20, 1990-05-20, 5月20日 or May 20")
    assert "give `name: date`, the date such as" in (fault_of("important_dates", f"wedding: {value}") or "")


@each("value", ["bogus", "2020-05-20", ": 2020-05-20", "wedding", "wedding:"])
def test_an_important_date_has_a_name_and_a_date(value: str):
    assert fault_of("important_dates", value) is not None


@each("value", ["30", "30岁", "三十", "二十多岁", "thirty", "in my 20s", "30 years old", "seven"])
def test_an_age_counts_years(value: str):
    assert fault_of("age", value) is None


@each("value", ["blue", "", "151", "old", "1990"])
def test_what_counts_no_years_is_no_age(value: str):
    assert fault_of("age", value) == "is no age: give a number of years up to 150, such as 30 or 30岁"


@each("attribute", ["likes", "city", "zodiac", None])
def test_other_attributes_hold_any_text(attribute: str | None):
    assert fault_of(attribute, "banana") is None
    assert fault_of("birthday", None) is None


@pytest.mark.parametrize("value", ["结婚纪念日: 05-20", "结婚纪念日：05-20"])
def test_either_colon_parts_the_name_from_the_date(value: str):
    known = given(remember("5月20日结婚", "c-1", attribute="important_dates", value=value))
    assert profile(known.memories, later(days=1))["important_dates"] == {"结婚纪念日": "05-20"}
    assert [one.name for one in upcoming(known.memories, later(days=1), 366)] == ["结婚纪念日"]


@each("character", "1一正x ")
def test_a_value_of_any_length_is_read_in_linear_time(character: str):
    """Values of 64 KiB are in logs; the square of that took minutes."""
    for attribute, before in (("birthday", ""), ("important_dates", "wedding: "), ("age", "")):
        short, long = (
            min(_seconds(attribute, before + character * length) for _ in range(3)) for length in (4_000, 64_000)
        )
        assert long < 16 * 6 * short + 0.01


def test_days_are_found_in_a_long_text_in_linear_time():
    short, long = (min(_seconds_of_days("1月1日 " * length) for _ in range(3)) for length in (800, 12_800))
    assert len(days_named("1月1日 " * 800)) == 800
    assert long < 16 * 6 * short


def _seconds_of_days(text: str) -> float:
    begin = time.thread_time()
    days_named(text)
    return time.thread_time() - begin


def _seconds(attribute: str, value: str) -> float:
    begin = time.thread_time()
    fault_of(attribute, value)
    return time.thread_time() - begin
