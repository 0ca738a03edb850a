"""Which time of day a sentence names, in both languages."""

from __future__ import annotations

from support.tables import each

from projections.dates.hours import time_of_day


@each(
    ("text", "hour"),
    [
        ("User has a dentist appointment tomorrow (2026-03-10) at 3pm", "15:00"),
        ("the review is at 3 p.m. on Monday", "15:00"),
        ("at 12:30 a.m.", "00:30"),
        ("The meeting is on Monday at 10", "10:00"),
        ("on Friday at 9:30", "09:30"),
        ("10 March at 17:45", "17:45"),
        ("dinner with Lena at 7", "19:00"),
        ("tomorrow morning at 8", "08:00"),
        ("lunch at noon", "12:00"),
        ("2-4pm on Monday", "14:00"),
        ("from 2pm to 4pm", "14:00"),
        ("10:30-11:30", "10:30"),
        ("用户下周三（2026-11-11）下午三点看牙医", "15:00"),
        ("明晚七点半吃饭", "19:30"),
        ("上午十点一刻", "10:15"),
        ("14点30分", "14:30"),
        ("下午3:30", "15:30"),
        ("15:30开会", "15:30"),
        ("中午11点半", "11:30"),
        ("中午一点", "13:00"),
        ("凌晨十二点", "00:00"),
        ("下午两点到四点", "14:00"),
        ("at 3", None),
        ("三点", None),
        ("晚上十二点", None),
        ("9am and 5pm", None),
        ("at 10 Downing Street", None),
        ("at 10 percent", None),
        ("25:70", None),
        ("2026-03-10", None),
        ("costs $3.50", None),
        ("won 3:2", None),
        ("3点建议", None),
        ("tomorrow", None),
    ],
)
def test_a_time_of_day_is_read_where_no_guess_is_needed(text: str, hour: str | None):
    found = time_of_day(text)
    assert (found and f"{found:%H:%M}") == hour
