"""Episodes: which are kept, and which are one event told twice."""

from __future__ import annotations

import orjson
import pytest
from support.examples import episode, extracted, forget, happened, later, piece
from support.given import given

from streams.decisions.entries.key_dialogue import MOST_BYTES, MOST_LINES
from streams.decisions.parameters import Parameters

GIFT = "用户送给露娜一束红玫瑰"
GIFT_TOO = "用户送给露娜一束红玫瑰和一张卡片"
FILM = "用户送给露娜两张电影票"


def test_the_same_event_told_again_within_a_day_merges():
    first = happened(GIFT, "t-1", importance=0.5, emotion_intensity=0.4, dialogue=("给你",))
    again = happened(GIFT_TOO, "t-2", later(hours=5), importance=0.75, emotion_intensity=0.2, dialogue=("给你", "谢谢"))
    memory = given(first).when(again).then("revised").only
    assert (memory.content, memory.occurred_at) == (GIFT, later())
    assert (memory.importance, memory.emotion_intensity) == (0.75, 0.4)
    assert memory.key_dialogue == ("给你", "谢谢")
    assert (memory.source_ids, memory.access_count, memory.last_accessed_at) == (("t-1", "t-2"), 1, later(hours=5))


@pytest.mark.parametrize(("characters", "lines"), [(1, MOST_LINES), (1_500, 10)])
def test_the_dialogue_of_an_event_that_is_told_again_and_again_is_bounded(characters: int, lines: int):
    told = [
        happened(GIFT, f"t-{n}", later(minutes=n), dialogue=(chr(0x41 + n) * characters,))
        for n in range(MOST_LINES + 9)
    ]
    memory = given(*told).only
    assert memory.key_dialogue == tuple(chr(0x41 + n) * characters for n in range(lines))
    assert len(orjson.dumps(memory.key_dialogue)) <= MOST_BYTES
    assert memory.access_count == MOST_LINES + 8


def test_merging_keeps_the_greater_importance_when_the_first_telling_had_it():
    first, again = happened(GIFT, "t-1", importance=1.0), happened(GIFT_TOO, "t-2", later(hours=1), importance=0.5)
    assert given(first).when(again).then("revised").only.importance == 1.0


@pytest.mark.parametrize(("hours", "action"), [(24, "revised"), (24.01, "formed")])
def test_close_in_time_is_within_24_hours_of_what_happened(hours: float, action: str):
    given(happened(GIFT, "t-1")).when(happened(GIFT_TOO, "t-2", later(hours=hours))).then(action)


@pytest.mark.parametrize(("hours", "action"), [(24, "revised"), (24.01, "formed"), (24 * 365, "formed")])
def test_the_very_same_text_is_the_same_event_only_when_it_is_close_in_time(hours: float, action: str):
    """Roses every birthday are as many events as birthdays."""
    given(happened(GIFT, "t-1")).when(happened(GIFT, "t-2", later(hours=hours))).then(action)


def test_the_very_same_text_far_away_in_time_is_an_event_of_its_own_and_merges_with_its_own():
    roses = given(happened(GIFT, "t-1"), happened(GIFT, "t-2", later(days=365)))
    again = roses.when(happened(GIFT, "t-3", later(days=365, hours=3))).then("revised")
    assert [(m.source_ids, m.access_count) for m in again.memories] == [(("t-1",), 0), (("t-2", "t-3"), 1)]


def test_a_late_telling_of_an_earlier_event_merges_by_when_it_happened():
    late = happened(GIFT_TOO, "t-2", later(days=9), occurred_on="2026-01-05")
    given(happened(GIFT, "t-1")).when(late).then("revised")


def test_unlike_events_of_one_type_stay_apart():
    after = given(happened(GIFT, "t-1")).when(happened(FILM, "t-2", later(hours=1)))
    assert after.then("formed").active(later(hours=2)) == [GIFT, FILM]


def test_like_events_of_different_types_stay_apart():
    given(happened(GIFT, "t-1")).when(happened(GIFT_TOO, "t-2", event_type="date")).then("formed")


def test_the_settings_say_how_close_and_how_alike():
    strict = Parameters(episode_merge_hours=1, keyword_overlap=0.6)
    given(happened(GIFT, "t-1"), parameters=strict).when(happened(GIFT_TOO, "t-2", later(hours=2))).then("formed")
    loose = Parameters(keyword_overlap=0.0)
    given(happened(GIFT, "t-1"), parameters=loose).when(happened(FILM, "t-2", later(hours=2))).then("revised")


def test_the_assistants_telling_merges_but_is_no_access():
    told = extracted(episode(GIFT_TOO, "t-2"), covers=[piece("t-2", later(hours=1), by_user=False)])
    memory = given(happened(GIFT, "t-1")).when(told).then("revised").only
    assert (memory.access_count, memory.last_accessed_at) == (0, later())


@pytest.mark.parametrize(("importance", "action"), [(0.4999, "nothing"), (0.5, "formed"), (0.25, "nothing")])
def test_episodes_under_the_least_grade_are_not_remembered(importance: float, action: str):
    given().when(happened(GIFT, "t-1", importance=importance)).then(action)


def test_the_least_grade_is_a_setting():
    given(parameters=Parameters(min_episode_grade=1)).when(happened(GIFT, "t-1", importance=0.1)).then("formed")
    given(parameters=Parameters(min_episode_grade=4)).when(happened(GIFT, "t-1", importance=0.9)).then("nothing")


def test_a_merge_never_reaches_a_forgotten_episode():
    known = given(happened(GIFT, "t-1"))
    forgotten = known.when(forget(known.only.memory_id, "c-1", later(hours=1)))
    after = forgotten.when(happened(GIFT_TOO, "t-2", later(hours=2))).then("formed")
    assert after.active(later(hours=3)) == [GIFT_TOO]


def test_three_tellings_in_any_order_of_arrival_are_one_event():
    tellings = [happened(GIFT, "t-1"), happened(GIFT_TOO, "t-2", later(hours=5)), happened(GIFT, "t-3", later(hours=9))]
    for order in (tellings, tellings[::-1], [tellings[1], tellings[2], tellings[0]]):
        memory = given(*order).only
        assert (set(memory.source_ids), memory.access_count) == ({"t-1", "t-2", "t-3"}, 2)
