"""What an intimacy shows: the levels, and what counts as a mention of a sensitive topic."""

from __future__ import annotations

import time
from dataclasses import replace

from support.examples import MONDAY, forget, remember
from support.given import given
from support.tables import each

from projections.profile.ranked_memories import RankedMemories
from projections.profile.visibility import Topics, Visibility, visibility_at


@each(
    ("intimacy", "seen"),
    [
        (0, Visibility.NAME_ONLY),
        (19.9, Visibility.NAME_ONLY),
        (20, Visibility.NOTHING_SENSITIVE),
        (49.9, Visibility.NOTHING_SENSITIVE),
        (50, Visibility.EVERYTHING),
        (100, Visibility.EVERYTHING),
    ],
)
def test_a_level_is_reached_at_its_number(intimacy: float, seen: Visibility):
    assert visibility_at(intimacy, (20, 50)) is seen


def test_levels_of_zero_show_everything_to_everybody():
    assert visibility_at(0, (0, 0)) is Visibility.EVERYTHING


@each(
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


def test_many_topics_are_looked_for_in_many_memories_within_a_moment():
    some = given(remember("用户喜欢喝茶", "c-1")).only
    memories = [replace(some, content=f"the {n}th day was quiet " * 25) for n in range(1_000)]
    topics = Topics(f"topic number {n}" for n in range(300))
    started = time.process_time()
    assert not any(topics.touch(memory) for memory in memories)
    assert time.process_time() - started < 1


def test_topics_that_come_and_go_hide_what_they_name_and_no_more():
    quiet = [remember(f"事{n}", f"q-{n}") for n in range(40)]
    known = given(*quiet, remember("和前女友看电影", "c-1"), remember("欠债很多", "c-2"))
    ranked = RankedMemories(known.state)

    def hides() -> list[str]:
        seen = {m.content for m in ranked.best(MONDAY, None, Visibility.NOTHING_SENSITIVE, 100)}
        return [text for text in ("和前女友看电影", "欠债很多") if text not in seen]

    assert hides() == []
    for command, topic, hidden in (("s-1", "前女友", 1), ("s-2", "债", 2), ("s-3", "无关", 2)):
        known = known.when(remember(f"别提{topic}", command, attribute="sensitive_topics", value=topic))
        ranked.follow(known.state)
        assert len(hides()) == hidden, topic
    known = known.when(forget(known.of("别提前女友").memory_id, "f-1", MONDAY))
    ranked.follow(known.state)
    assert hides() == ["欠债很多"]
    assert RankedMemories(known.state).total(MONDAY, None, Visibility.NOTHING_SENSITIVE) == ranked.total(
        MONDAY, None, Visibility.NOTHING_SENSITIVE
    )
