"""What an intimacy shows: the levels, and what counts as a mention of a sensitive topic."""

from __future__ import annotations

import pytest
from examples import remember
from given import given

from projections.sight import Sight, Topics, sight_of


@pytest.mark.parametrize(
    ("intimacy", "seen"),
    [
        (0, Sight.NAME_ONLY),
        (19.9, Sight.NAME_ONLY),
        (20, Sight.NOTHING_SENSITIVE),
        (49.9, Sight.NOTHING_SENSITIVE),
        (50, Sight.EVERYTHING),
        (100, Sight.EVERYTHING),
    ],
)
def test_a_level_is_reached_at_its_number(intimacy: float, seen: Sight):
    assert sight_of(intimacy, (20, 50)) is seen


def test_levels_of_zero_show_everything_to_everybody():
    assert sight_of(0, (0, 0)) is Sight.EVERYTHING


@pytest.mark.parametrize(
    ("topic", "content", "is_about"),
    [
        ("前女友", "用户和前女友看过电影", True),
        ("前女友", "用户有女友", False),
        ("her ex", "Saw HER EX again", True),
        ("ex", "the next exam", False),
        ("ＡＢＣ", "works at abc", True),
        ("C++", "writes c++", True),
        (" ", "anything at all", False),
    ],
)
def test_a_mention_is_the_topics_text_in_any_spelling(topic: str, content: str, is_about: bool):  # noqa: FBT001
    assert Topics([topic]).touch(given(remember(content, "c-1")).only) is is_about


def test_what_fills_the_slot_is_about_a_sensitive_topic_whatever_it_says():
    memory = given(remember("别提", "c-1", attribute="sensitive_topics", value="工作")).only
    assert Topics([]).touch(memory)
