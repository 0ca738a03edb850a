"""What lies ahead: days that values name, plans, and days that come back every year."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

from support.examples import MONDAY, candidate, episode, extracted, later, piece, remember
from support.given import Given, given
from support.tables import each

from projections.dates.yearly import YearlyDay, yearly_day
from projections.profile.upcoming import upcoming


@each(
    ("text", "day"),
    [
        ("1990-03-05", YearlyDay(1990, 3, 5)),
        ("03-05", YearlyDay(None, 3, 5)),
        ("02-29", YearlyDay(None, 2, 29)),
        ("1990年3月5日", YearlyDay(1990, 3, 5)),
        ("三月五号", YearlyDay(None, 3, 5)),
        ("十二月二十一日", YearlyDay(None, 12, 21)),
        ("March 5th, 1990", YearlyDay(1990, 3, 5)),
        ("on 5 March", YearlyDay(None, 3, 5)),
        ("5月20日（农历四月初四）", YearlyDay(None, 5, 20)),
        ("农历八月十八", None),
        ("3/4", None),
        ("13-40", None),
        ("in spring", None),
        ("", None),
    ],
)
def test_a_value_names_a_day_or_none(text: str, day: YearlyDay | None):
    assert yearly_day(text) == day


@each(
    ("yearly", "today", "found"),
    [
        (YearlyDay(1990, 3, 5), date(2026, 3, 5), date(2026, 3, 5)),
        (YearlyDay(1990, 3, 5), date(2026, 3, 6), date(2027, 3, 5)),
        (YearlyDay(2028, 3, 5), date(2026, 3, 6), date(2028, 3, 5)),
        (YearlyDay(None, 2, 29), date(2026, 1, 1), date(2026, 2, 28)),
        (YearlyDay(None, 2, 29), date(2028, 1, 1), date(2028, 2, 29)),
        (YearlyDay(None, 1, 1), date(9999, 6, 1), None),
    ],
)
def test_a_yearly_day_comes_back(yearly: YearlyDay, today: date, found: date | None):
    assert yearly.next_from(today) == found


def planned(content: str, name: str, on: str, at: datetime = MONDAY, *, category: str = "schedule") -> Given:
    said = candidate(content, name, occurred_on=on, category=category)
    return given(extracted(said, covers=[piece(name, at)]))


def ahead(known: Given, at: datetime = MONDAY, days: int = 30, agent_id: str | None = None) -> list[tuple[object, ...]]:
    found = upcoming(known.state.memories.values(), at, days, agent_id)
    return [(str(one.day), one.kind, one.name, one.years, one.memory.content) for one in found]


def test_a_plan_lies_ahead_until_its_day_is_over():
    known = planned("项目评审会议", "t-1", "2026-01-14")
    row = ("2026-01-14", "plan", None, None, "项目评审会议")
    assert ahead(known) == [row]
    assert ahead(known, later(days=9, hours=15)) == [row], "the whole of its day"
    assert ahead(known, later(days=10)) == []
    assert ahead(known, days=8) == []
    assert ahead(known, agent_id="aria") == []


@each(
    ("at", "offset", "shown"),
    [
        ("2026-01-15T07:59:00Z", -8, 1),
        ("2026-01-15T08:00:00Z", -8, 0),
        ("2026-01-14T14:59:00Z", 9, 1),
        ("2026-01-14T15:00:00Z", 9, 0),
    ],
)
def test_the_day_of_a_plan_is_over_at_the_users_midnight(at: str, offset: int, shown: int):
    memories = planned("项目评审会议", "t-1", "2026-01-14").state.memories.values()
    found = upcoming(memories, datetime.fromisoformat(at), 30, zone=timezone(timedelta(hours=offset)))
    assert [(str(one.day), one.at) for one in found] == [("2026-01-14", None)] * shown


def test_what_is_planned_for_the_day_itself_lies_ahead_and_what_happened_does_not():
    assert [row[4] for row in ahead(planned("开会", "t-1", "2026-01-05"))] == ["开会"]
    assert ahead(planned("摔了一跤", "t-1", "2026-01-05", category="fact")) == []
    assert ahead(given(remember("会议很长", "c-1", category="schedule"))) == []


def test_birthdays_important_dates_and_anniversaries_come_back():
    known = given(
        remember("生日是二月一日", "c-1", attribute="birthday", value="1990-02-01"),
        remember("结婚", "c-2", attribute="important_dates", value="wedding: 2020-01-20"),
        remember("不是那天", "c-3", later(hours=1), attribute="important_dates", value="Wedding : 2020-01-21"),
        remember("某天", "c-4", attribute="important_dates", value="trip: someday"),
        extracted(
            episode("在一起一年", "t-1", event_type="anniversary", occurred_on="2025-01-10"), covers=[piece("t-1")]
        ),
    )
    assert ahead(known, later(hours=2)) == [
        ("2026-01-10", "yearly", "anniversary", 1, "在一起一年"),
        ("2026-01-21", "yearly", "Wedding", 6, "不是那天"),
        ("2026-02-01", "yearly", "birthday", 36, "生日是二月一日"),
    ]
    assert [row[0] for row in ahead(known, datetime(2026, 1, 30, tzinfo=UTC), days=366)] == [
        "2026-02-01",
        "2027-01-10",
        "2027-01-21",
    ]
