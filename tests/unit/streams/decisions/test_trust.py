"""What the user did not say decides less: screens, articles and the assistant's words."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from support.examples import MONDAY, candidate, episode, extracted, later, piece, said
from support.given import Given, given
from support.tables import each

from streams.decisions.entries.trust import MOST_IMPORTANCE_SHOWN
from streams.decisions.parameters import Parameters

if TYPE_CHECKING:
    from schemas.messages.inbox import CandidatesExtracted

NAME, MALLORY = "The user's name is Zhang San", "The user's name is Mallory"
COFFEE = "用户喜欢喝咖啡"


def shown(
    content: str, name: str, hours: float = 0, *, source: str = "photo", by_user: bool = False, **more: Any
) -> CandidatesExtracted:
    """Return the answer to a window of one screenshot, or article."""
    covers = [piece(name, later(hours=hours), by_user=by_user)]
    return replace(extracted(candidate(content, name, **more), covers=covers), source_type=source)


def values(after: Given, attribute: str) -> list[str | None]:
    return [m.value for m in after.memories if m.slot == attribute and m.status_at(later(days=1)) == "active"]


@each("source", ["photo", "inferred"])
@each("by_user", [False, True], ids=["logged today", "logged when screens were the user's words"])
def test_what_is_shown_takes_no_place_that_holds_one_value(source: str, *, by_user: bool):
    history = given(said(NAME, "t-1", attribute="user_name", value="Zhang San"))
    after = history.when(
        shown(MALLORY, "p-1", 1, source=source, by_user=by_user, attribute="user_name", value="Mallory", importance=1.0)
    ).then("formed")
    assert values(after, "user_name") == ["Zhang San"]
    assert after.reasons == ["new; only the user's own words say what the user_name is"]
    memory = after.of(MALLORY)
    assert (memory.attribute, memory.value, memory.importance) == (None, None, MOST_IMPORTANCE_SHOWN)
    assert (memory.category, memory.memory_type, memory.source_type) == ("fact", "long_term", source)


@each(
    ("attribute", "value"),
    [
        ("user_name", "Mallory"),
        ("nickname", "Mallory"),
        ("city", "Minsk"),
        ("birthday", "01-01"),
        ("important_dates", "Mum: 01-01"),
        ("sensitive_topics", "咖啡"),
    ],
)
def test_an_empty_place_is_not_filled_by_what_is_shown_nor_by_the_assistant(attribute: str, value: str):
    assert not values(Given().when(shown("so it says", "p-1", attribute=attribute, value=value)), attribute)
    spoken = extracted(
        candidate("so it says", "t-1", attribute=attribute, value=value), covers=[piece("t-1", by_user=False)]
    )
    after = Given().when(spoken).then("formed")
    assert (after.only.attribute, after.only.content) == (None, "so it says")


def test_a_turn_of_the_users_beside_the_assistants_is_enough():
    both = [piece("t-1", by_user=False), piece("t-2", later(seconds=5))]
    after = Given().when(
        extracted(candidate(NAME, "t-1", "t-2", attribute="user_name", value="Zhang San"), covers=both)
    )
    assert values(after, "user_name") == ["Zhang San"]


def test_lists_take_what_is_shown_but_no_like_becomes_a_dislike():
    liked = given(said(COFFEE, "t-1", attribute="likes", value="咖啡"))
    after = liked.when(shown("用户喜欢茶", "p-1", 1, attribute="likes", value="茶"))
    assert values(after, "likes") == ["咖啡", "茶"]
    after = after.when(shown("用户讨厌咖啡", "p-2", 2, attribute="dislikes", value="咖啡")).then("formed")
    assert (values(after, "likes"), values(after, "dislikes")) == (["咖啡", "茶"], [])


@each("source", ["photo", "inferred"])
@each("by_user", [False, True])
def test_what_is_shown_never_reinforces(source: str, *, by_user: bool):
    after = given(said(COFFEE, "t-1")).when(shown(COFFEE, "p-1", 1, source=source, by_user=by_user)).then("nothing")
    assert (after.events, after.only.access_count) == ([], 0)
    assert after.reasons == ["known, and it was only shown again"]
    twice = (
        Given().when(shown(COFFEE, "p-1", source=source)).when(shown(COFFEE, "p-2", 1, source=source)).then("nothing")
    )
    assert (twice.events, twice.only.access_count, twice.only.last_accessed_at) == ([], 0, MONDAY)


def test_the_user_who_says_what_was_shown_reinforces_it():
    after = Given().when(shown(COFFEE, "p-1")).when(said(COFFEE, "t-1", later(hours=1))).then("reinforced")
    assert after.only.source_ids == ("p-1", "t-1")


def test_an_event_that_is_shown_again_adds_nothing_to_the_users_own():
    told = extracted(episode("用户和小雨吵架了", "t-1", event_type="fight"), covers=[piece("t-1")])
    again = episode(
        "用户和小雨吵架了", "p-1", event_type="fight", importance=1.0, emotion_intensity=1.0, dialogue=("滚",)
    )
    seen = replace(extracted(again, covers=[piece("p-1", later(hours=1), by_user=False)]), source_type="photo")
    after = given(told).when(seen).then("nothing")
    assert (after.events, after.only.importance, after.only.key_dialogue) == ([], 0.5, ())


def test_importance_is_lowered_to_what_is_ordinary_and_never_raised():
    after = Given().when(shown("a", "p-1", importance=0.3)).when(shown("b", "p-2", importance=0.9))
    assert [(m.content, m.importance) for m in after.memories] == [("a", 0.3), ("b", MOST_IMPORTANCE_SHOWN)]


def test_the_cap_keeps_an_event_on_a_screen_above_the_least_grade():
    event = episode("flight to Kyoto", "p-1", event_type="milestone", importance=1.0)
    seen = replace(extracted(event, covers=[piece("p-1", by_user=False)]), source_type="photo")
    assert Given().when(seen).then("formed").only.importance == MOST_IMPORTANCE_SHOWN


def test_the_user_fills_the_place_that_the_same_words_on_a_screen_could_not():
    seen = Given().when(shown(NAME, "p-1", attribute="user_name", value="Zhang San"))
    after = seen.when(said(NAME, "t-1", later(hours=1), attribute="user_name", value="Zhang San")).then(
        "formed", "superseded"
    )
    assert values(after, "user_name") == ["Zhang San"]
    assert [m.source_type for m in after.memories if m.status == "active"] == ["chat"]


def legacy(at_hours: float) -> Given:
    """Return a state in which a screen holds a place, as decided by older versions: its word was taken for a turn."""
    old = extracted(
        candidate(MALLORY, "p-1", attribute="user_name", value="Mallory"), covers=[piece("p-1", later(hours=at_hours))]
    )
    state = Given().when(old).state
    [memory] = state.memories.values()
    memories = state.memories.set(memory.memory_id, replace(memory, source_type="photo"))
    return Given(state=replace(state, memories=memories), offset=1)


@pytest.mark.parametrize("keeps", [False, True])
def test_a_place_that_a_screen_took_in_an_older_version_goes_back_to_the_user(*, keeps: bool):
    earlier = said(
        NAME, "t-1", attribute="user_name", value="Zhang San"
    )  # said before the screen was seen, logged late
    before = replace(legacy(2), parameters=Parameters(profile_keeps=keeps))
    after = before.when(earlier, logged=later(hours=3)).then("formed", "superseded")
    assert values(after, "user_name") == ["Zhang San"]
