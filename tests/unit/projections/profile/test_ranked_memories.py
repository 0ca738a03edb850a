"""Ranked memories: kept beside the state, let go when there are too many, and never a source of their own."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from support.examples import LUNA, XIAOMING, forget, later, remember, share
from support.given import Given, given

from projections import turns
from projections.profile.ranked_memories import RankedMemories, RankedMemoriesByUser
from projections.profile.visibility import Visibility
from projections.state.memory import UserState
from schemas.identity import Owner

AT = later(hours=1)


def likes(*things: str) -> Given:
    """Return what is known of a user who likes things."""
    return given(*(remember(f"喜欢{t}", f"c-{t}", attribute="likes", value=t) for t in things))


def shown(ranked: RankedMemories) -> list[str]:
    return sorted(m.content for m in ranked.best(AT, None, Visibility.EVERYTHING, 100))


def test_a_forgotten_memory_is_gone_with_the_next_state():
    known, users = likes(*"甲乙丙丁戊己庚辛壬癸"), RankedMemoriesByUser()
    ranked = users.of(known.state)
    assert (
        ranked.profile(AT, None, Visibility.EVERYTHING)["likes"]
        == ranked.profile(AT, None, Visibility.EVERYTHING)["likes"]
        != []
    )
    after = known.when(forget(known.of("喜欢甲").memory_id, "f-1", AT))
    assert users.of(after.state) is ranked
    assert "喜欢甲" not in shown(ranked)
    assert "甲" not in ranked.profile(AT, None, Visibility.EVERYTHING)["likes"]
    assert ranked.total(AT, None, Visibility.EVERYTHING) == 9


def test_a_shared_memory_is_in_the_orders_of_both_agents_and_counts_once():
    known, users = likes(*"甲乙丙丁戊己庚辛壬癸"), RankedMemoriesByUser()
    ranked = users.of(known.state)
    assert ranked.best(AT, "aria", Visibility.EVERYTHING, 100) == []
    assert ranked.profile(AT, "aria", Visibility.EVERYTHING)["likes"] == []
    after = known.when(share(known.of("喜欢甲").memory_id, "aria", "s-1", AT))
    for followed in (users.of(after.state), RankedMemories(after.state)):
        assert [m.content for m in followed.best(AT, "aria", Visibility.EVERYTHING, 100)] == ["喜欢甲"]
        assert followed.profile(AT, "aria", Visibility.EVERYTHING)["likes"] == ["甲"]
        assert [followed.total(AT, agent, Visibility.EVERYTHING) for agent in (None, LUNA, "aria")] == [10, 10, 1]


def test_a_memory_that_is_wrongly_in_order_is_still_not_shown():
    known = likes("甲", "乙")
    ranked = RankedMemories(known.state)
    ranked._state = known.when(forget(known.of("喜欢甲").memory_id, "f-1", AT)).state
    assert shown(ranked) == ["喜欢乙"]
    ranked._state = UserState(owner=XIAOMING)
    assert shown(ranked) == []


def test_a_state_that_lost_memories_is_put_in_order_anew():
    known, users = likes("甲", "乙", "丙"), RankedMemoriesByUser()
    ranked = users.of(known.state)
    users.of(UserState(owner=XIAOMING))
    assert (shown(ranked), ranked.total(AT, None, Visibility.EVERYTHING)) == ([], 0)


def test_a_profile_is_kept_until_one_of_its_memories_expires():
    known = given(remember("喜欢蜂蜜", "c-1", memory_type="short_term", attribute="likes", value="蜂蜜"))
    ranked = RankedMemories(known.state)
    first = ranked.profile(AT, None, Visibility.EVERYTHING)
    assert ranked.profile(later(hours=48), None, Visibility.EVERYTHING) is first
    assert ranked.profile(later(hours=49), None, Visibility.EVERYTHING)["likes"] == []
    assert ranked.profile(AT, None, Visibility.EVERYTHING)["likes"] == ["蜂蜜"]


def test_users_asked_about_longest_ago_are_let_go():
    users, first = RankedMemoriesByUser(most_memories=3), likes("甲", "乙").state
    ranked = users.of(first)
    assert users.of(first) is ranked
    other = given(remember("喜欢茶", "c-1"), remember("喜欢水", "c-2")).state
    other = UserState(owner=Owner("default", "other"), memories=other.memories, by_attribute=other.by_attribute)
    users.of(other)
    assert users.of(first) is not ranked
    assert shown(users.of(first)) == ["喜欢乙", "喜欢甲"]


def test_users_without_memories_are_let_go_too():
    users = RankedMemoriesByUser(most_memories=3)
    states = [UserState(owner=Owner("default", f"u{number}")) for number in range(10)]
    kept = [users.of(state) for state in states]
    again = [users.of(state) is ranked for state, ranked in zip(reversed(states), reversed(kept), strict=True)]
    assert again == [True] * 3 + [False] * 7


def test_a_kept_profile_leaves_out_what_comes_to_name_a_sensitive_topic_in_a_quotation():
    fed = [remember(f"喜欢{t}", f"c-{t}", attribute="likes", value=t) for t in "甲乙丙丁戊己庚辛壬癸"]
    known = given(*fed, remember("别提", "c-0", attribute="sensitive_topics", value="前女友"))
    ranked, liked = RankedMemories(known.state), known.of("喜欢甲")
    assert "甲" in ranked.profile(AT, None, Visibility.NOTHING_SENSITIVE)["likes"]
    merged = replace(liked, key_dialogue=("和前女友一起",))
    ranked.follow(replace(known.state, memories=known.state.memories.set(liked.memory_id, merged)))
    assert "甲" not in ranked.profile(AT, None, Visibility.NOTHING_SENSITIVE)["likes"]
    assert "甲" in ranked.profile(AT, None, Visibility.EVERYTHING)["likes"]


async def test_what_is_hidden_is_found_in_steps_and_right_although_another_state_follows(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(turns, "TURN_SECONDS", -1.0)
    monkeypatch.setattr(turns, "ITEMS_A_STEP", 2)
    fed = [remember(f"喜欢{t}", f"c-{t}", attribute="likes", value=t) for t in "甲乙丙丁戊己庚辛壬癸"]
    known = given(*fed, remember("别提", "c-0", attribute="sensitive_topics", value="前女友"))
    users = RankedMemoriesByUser()
    await users.prepare(known.state)
    ranked = users.of(known.state)
    preparing = asyncio.ensure_future(users.prepare(known.state, hides=True))
    await asyncio.sleep(0)
    assert not preparing.done()
    liked = known.of("喜欢甲")
    merged = replace(liked, key_dialogue=("和前女友一起",))
    after = replace(known.state, memories=known.state.memories.set(liked.memory_id, merged))
    assert users.of(after) is ranked
    await preparing
    assert not ranked.knows_hidden
    shows = ranked.shows(Visibility.NOTHING_SENSITIVE)
    assert [shows(m) for m in (merged, known.of("喜欢乙"))] == [False, True]
    await users.prepare(after, hides=True)
    assert ranked.knows_hidden


@pytest.mark.parametrize("does_another_state_follow", [False, True])
async def test_a_topic_that_is_new_is_hidden_from_all_who_ask_while_memories_about_it_are_found(
    monkeypatch: pytest.MonkeyPatch, *, does_another_state_follow: bool
):
    monkeypatch.setattr(turns, "TURN_SECONDS", -1.0)
    monkeypatch.setattr(turns, "ITEMS_A_STEP", 2)
    fed = [remember(f"喜欢{t}", f"c-{t}", attribute="likes", value=t) for t in "甲乙丙丁戊己庚辛壬癸"]
    known, users = given(*fed), RankedMemoriesByUser()
    await users.prepare(known.state, hides=True)
    said = known.when(remember("别提", "c-0", attribute="sensitive_topics", value="甲"))
    preparing = asyncio.ensure_future(users.prepare(said.state, hides=True))
    await asyncio.sleep(0)
    assert not preparing.done()
    state = said.when(remember("喜欢水", "c-1")).state if does_another_state_follow else said.state
    await users.prepare(state, hides=True)
    assert not users.of(state).shows(Visibility.NOTHING_SENSITIVE)(known.of("喜欢甲"))
    await preparing
    assert not users.of(state).shows(Visibility.NOTHING_SENSITIVE)(known.of("喜欢甲"))


def test_a_memory_that_is_changed_after_somebody_asked_is_seen_as_it_is_now():
    known = given(
        remember("喜欢甲", "c-1", attribute="likes", value="甲"),
        remember("别提", "c-0", attribute="sensitive_topics", value="前女友"),
    )
    shows, liked = RankedMemories(known.state).shows(Visibility.NOTHING_SENSITIVE), known.of("喜欢甲")
    assert [shows(replace(liked, content=said)) for said in ("喜欢乙", "喜欢前女友")] == [True, False]
