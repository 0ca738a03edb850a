"""A moved appointment is a plan for its new day, in both languages."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from support import windows
from support.own_words import OwnWordsHere
from support.tables import each

WEDNESDAY = datetime(2026, 11, 25, 20, tzinfo=UTC)  # and Thursday in Shanghai


def told(text: str, zone: str = "UTC") -> list[tuple[str, str, str | None]]:
    window = windows.window(windows.piece(0, text, occurred_at=WEDNESDAY, zone=ZoneInfo(zone)))
    found = asyncio.run(OwnWordsHere().extract(window))
    return [(p.content, p.category, str(p.occurred_on) if p.occurred_on else None) for p in found.proposals]


@each(
    ("said", "kept", "day"),
    [
        (
            "The meeting has been moved to Tuesday at 11.",
            "The meeting has been moved to Tuesday (2026-12-01) at 11.",
            "2026-12-01",
        ),
        (
            "The dentist got pushed to Friday at 9:30.",
            "The dentist got pushed to Friday (2026-11-27) at 9:30.",
            "2026-11-27",
        ),
        (
            "I moved my dentist appointment to Friday.",
            "I moved my dentist appointment to Friday (2026-11-27).",
            "2026-11-27",
        ),
        ("看牙医改到周五上午九点半了。", "看牙医改到周五（2026-11-27）上午九点半了。", "2026-11-27"),
        ("我的面试提前到后天了。", "我的面试提前到后天（2026-11-27）了。", "2026-11-27"),
        ("会议推迟到下周三下午三点。", "会议推迟到下周三（2026-12-02）下午三点。", "2026-12-02"),
    ],
)
def test_a_moved_appointment_carries_its_new_day(said: str, kept: str, day: str):
    assert told(said) == [(kept, "schedule", day)]


def test_the_new_day_is_that_of_who_says_it():
    assert told("我的面试提前到明天了。", "Asia/Shanghai") == [
        ("我的面试提前到明天（2026-11-27）了。", "schedule", "2026-11-27")
    ]


def test_who_moves_to_a_place_moves_no_appointment():
    assert [kind for _, kind, _ in told("I moved to Friday Harbor. I moved to Oslo on Friday.")] == ["fact", "fact"]
