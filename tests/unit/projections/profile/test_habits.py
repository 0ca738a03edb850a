"""Patterns of use: what is counted of a turn, and what the counts say."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from support.tables import each

from projections.profile.habits import patterns
from projections.shard.turn_statistics import Usage
from projections.text.measure import TurnMeasure, hour_of, measure

EVENING = datetime(2026, 1, 5, 20, 30, tzinfo=UTC)


@each(
    ("text", "sentences", "words", "is_chinese"),
    [
        ("我喜欢喝咖啡。你呢？", 2, 8, True),
        ("I don't like tea. Do you?", 2, 6, False),
        ("It costs 3.50 euros", 1, 5, False),
        ("我用 Python 写代码", 1, 6, True),
        ("……！", 1, 0, False),
        ("", 1, 0, False),
        ("one\ntwo\n\nthree", 3, 3, False),
    ],
)
def test_a_turn_has_sentences_and_words(text: str, sentences: int, words: int, is_chinese: bool):  # noqa: FBT001
    assert measure(text) == TurnMeasure(sentences, words, is_chinese)


@each(
    ("metadata", "hour"),
    [
        ("{}", 20),
        ('{"timezone":"Asia/Shanghai"}', 4),
        ('{"timezone":"+08:00"}', 4),
        ('{"timezone":"-05:30"}', 15),
        ('{"timezone":"+99:00"}', 20),
        ('{"timezone":"Mars/Olympus"}', 20),
        ('{"timezone":"America"}', 20),
        ('{"timezone":"../etc/passwd"}', 20),
        ('{"timezone":8}', 20),
        ('["timezone"]', 20),
        ("timezone", 20),
    ],
)
def test_the_hour_is_that_of_utc_unless_the_turn_says_else(metadata: str, hour: int):
    assert hour_of(EVENING, metadata) == hour


def test_counts_are_said_in_the_language_of_most_turns():
    chinese = Usage({7: 3, 11: 2, 20: 1}, sentences=10, words=55, chinese_turns=4)
    assert patterns(chinese) == ["多在早上说话（6 次中 5 次）", "句子简短（平均 5.5 个字）"]
    english = Usage({7: 1, 20: 2}, sentences=4, words=100, chinese_turns=1)
    assert patterns(english) == [
        "talks mostly in the evening (2 of 3 turns)",
        "long sentences (25.0 words on average)",
    ]


@each(
    ("hour", "part"),
    [
        (0, "mostly at night ("),
        (4, "mostly at night ("),
        (5, "mostly in the morning ("),
        (12, "mostly in the afternoon ("),
        (23, "mostly in the evening ("),
    ],
)
def test_the_day_has_four_parts(hour: int, part: str):
    assert part in patterns(Usage({hour: 1}, sentences=1, words=10))[0]


def test_nothing_said_is_nothing_counted():
    assert patterns(Usage({})) == []


@pytest.mark.parametrize("moment", [datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)])
def test_an_hour_at_either_end_of_the_calendar_is_taken_as_it_is(moment: datetime):
    zones = (f'{{"timezone": "{zone}"}}' for zone in ("-12:00", "+14:00", "America/New_York"))
    assert all(hour_of(moment, zone) in range(24) for zone in zones)
