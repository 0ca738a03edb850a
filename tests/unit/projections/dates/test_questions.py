"""Which span of time a query names."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st
from support.tables import each

from projections.dates.questions import named_span

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)  # a Monday


def test_days_are_those_of_a_zone_and_a_day_without_an_hour_lies_within_its_own():
    evening = datetime(2026, 3, 10, 2, tzinfo=UTC)  # of the 9th in Los Angeles
    yesterday = named_span("what did I do yesterday?", evening, ZoneInfo("America/Los_Angeles"))
    assert yesterday is not None
    summer_time_began = (datetime(2026, 3, 8, 8, tzinfo=UTC), datetime(2026, 3, 9, 7, tzinfo=UTC))
    assert (yesterday.since, yesterday.until) == summer_time_began
    assert yesterday.holds(datetime(2026, 3, 9, 6, 59, tzinfo=UTC))
    assert not yesterday.holds(datetime(2026, 3, 8, 1, tzinfo=UTC))
    assert yesterday.holds(datetime(2026, 3, 8, tzinfo=UTC))
    assert not yesterday.holds(datetime(2026, 3, 9, tzinfo=UTC))


@each(
    ("query", "since", "until"),
    [
        ("What did I do last month?", "2026-10-01", "2026-11-01"),
        ("Where was she in May 2023?", "2023-05-01", "2023-06-01"),
        ("the concert in June", "2026-06-01", "2026-07-01"),
        ("what happened in December?", "2025-12-01", "2026-01-01"),
        ("on 5 March", "2026-03-05", "2026-03-06"),
        ("on March 5th, 2024", "2024-03-05", "2024-03-06"),
        ("the 2nd of July 2023", "2023-07-02", "2023-07-03"),
        ("2024-02-29", "2024-02-29", "2024-03-01"),
        ("what did we say yesterday", "2026-11-22", "2026-11-23"),
        ("the film last weekend", "2026-11-21", "2026-11-23"),
        ("two weeks ago", "2026-11-09", "2026-11-16"),
        ("a couple of months ago", "2026-09-01", "2026-10-01"),
        ("in the past three days", "2026-11-20", "2026-11-24"),
        ("trips in 2022", "2022-01-01", "2023-01-01"),
        ("上周去了哪里", "2026-11-16", "2026-11-23"),
        ("上上周", "2026-11-09", "2026-11-16"),
        ("上个月买了什么", "2026-10-01", "2026-11-01"),
        ("去年三月", "2025-03-01", "2025-04-01"),
        ("十二月的旅行", "2025-12-01", "2026-01-01"),
        ("2023年5月3日", "2023-05-03", "2023-05-04"),
        ("2023年5月", "2023-05-01", "2023-06-01"),
        ("三个月前说的", "2026-08-01", "2026-09-01"),
        ("3天前", "2026-11-20", "2026-11-21"),
        ("最近一周", "2026-11-16", "2026-11-24"),
        ("前天晚上", "2026-11-21", "2026-11-22"),
        ("前年", "2024-01-01", "2025-01-01"),
        ("昨天去看了谁", "2026-11-22", "2026-11-23"),
        ("今天去看了谁", "2026-11-23", "2026-11-24"),
        ("上星期去看了谁", "2026-11-16", "2026-11-23"),
        ("九月去看了谁", "2026-09-01", "2026-10-01"),
        ("两个月前", "2026-09-01", "2026-10-01"),
        ("去年夏天", "2025-06-01", "2025-09-01"),
        ("2023年的春天", "2023-03-01", "2023-06-01"),
        ("上个冬天", "2025-12-01", "2026-03-01"),
        ("last autumn", "2025-09-01", "2025-12-01"),
        ("in the fall", "2026-09-01", "2026-12-01"),
        ("last summer", "2026-06-01", "2026-09-01"),
        ("summer of 2023", "2023-06-01", "2023-09-01"),
        ("before October 2026", "0001-01-02", "2026-10-01"),
        ("until yesterday", "0001-01-02", "2026-11-22"),
        ("2026年10月以前", "0001-01-02", "2026-10-01"),
        ("after 2024", "2025-01-01", "9999-12-30"),
        ("since May", "2026-05-01", "9999-12-30"),
        ("10月15日之后", "2026-10-16", "9999-12-30"),
        ("the day before yesterday", "2026-11-21", "2026-11-22"),
    ],
)
def test_a_query_names_a_span(query: str, since: str, until: str):
    span = named_span(query, NOW)
    assert span is not None
    assert (span.since.date().isoformat(), span.until.date().isoformat()) == (since, until)


@each(
    "query",
    [
        "When did Ana move?",
        "may I ask you something",
        "on 31 February",
        "9个月的宝宝",
        "三个月的猫",
        "room 2023",
        "以前",
        "did she fall",
        "summer in Rome",
        "",
    ],
)
def test_other_queries_name_none(query: str):
    assert named_span(query, NOW) is None


@given(st.text(max_size=40), st.datetimes(timezones=st.just(UTC)))
def test_no_text_and_no_day_is_an_error(query: str, at: datetime):
    for text in (query, f"{query} 999 years ago", f"{query}上个月", "last week", "在99月3日"):
        span = named_span(text, at)
        assert span is None or span.since < span.until
