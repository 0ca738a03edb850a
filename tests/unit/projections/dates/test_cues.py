"""Since when something is so, and on which day it happened, by the words around a day."""

from __future__ import annotations

from datetime import date

from support.tables import each

from projections.dates.cues import day_past, since


@each(
    ("said", "today", "begun"),
    [
        ("我四月搬到了深圳", date(2026, 11, 10), date(2026, 4, 1)),
        ("working at Siemens since March", date(2026, 11, 10), date(2026, 3, 1)),
        ("I moved to Oslo in december", date(2026, 11, 10), date(2025, 12, 1)),
        ("转到门诊了 从12月起就不用上夜班了", date(2026, 11, 10), None),
        ("七月就去宁波报到了", date(2026, 6, 10), None),
    ],
)
def test_what_is_so_since_a_month_began_then_and_what_begins_in_one_has_not(said: str, today: date, begun: date | None):
    assert since(said, today) == begun


@each(
    ("said", "today", "day"),
    [
        ("User got engaged on May 4", date(2026, 11, 10), date(2026, 5, 4)),
        ("i got transferred to hyderabad from 1st october", date(2026, 9, 10), None),
        ("合同签了，10月8号入职", date(2026, 9, 10), None),
    ],
)
def test_what_is_settled_for_a_day_to_come_did_not_happen_a_year_ago(said: str, today: date, day: date | None):
    assert day_past(said, today) == day
