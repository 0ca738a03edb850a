"""Decay as both systems compute it, and as the tick's events carry it."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from support.examples import MONDAY, envelope, forget, happened, later, recalled, remember, restore, said, tick
from support.given import Given, given
from support.tables import each

from projections.state.memory import UserState
from schemas import codec
from schemas.identity import Owner
from schemas.messages.events import MemoryDecayed, MemoryExpired
from streams.decisions.decay_policies.ladder import step_down
from streams.decisions.decay_policies.registry import POLICIES
from streams.decisions.parameters import Parameters

COFFEE = "用户喜欢喝咖啡"
FACT = said(COFFEE, "t-1", importance=0.5)
MOMENT = MONDAY.resolution


@each(
    ("before", "after"),
    [(1.0, 0.9), (0.5, 0.45), (0.45, 0.405), (0.2051, 0.1846), (0.105, 0.1), (0.1, 0.1), (0.05, 0.05)],
)
def test_a_step_of_the_ladder_is_nine_tenths_not_under_a_tenth_and_never_up(before: float, after: float):
    assert step_down(before) == after


def test_long_term_memories_not_accessed_for_seven_days_go_down_a_step():
    assert given(FACT).when(tick(later(days=7))).events == []
    [event] = given(FACT).when(tick(later(days=7) + MOMENT)).events
    assert isinstance(event, MemoryDecayed)
    assert (event.policy, event.measure, event.before, event.after) == ("ladder", "importance", 0.5, 0.45)
    assert (event.tick_id, event.envelope.occurred_at) == (
        tick(later(days=7) + MOMENT).envelope.event_id,
        later(days=7) + MOMENT,
    )


def test_a_tick_meets_the_memories_of_all_agents_of_a_user():
    known = given(*(remember(f"fact for {agent}", f"c-{agent}", agent_id=agent) for agent in ("luna", "nova", None)))
    after = known.when(tick(later(days=8)))
    assert [memory.importance for memory in after.memories] == [0.45, 0.45, 0.45]


def test_each_daily_tick_is_a_step_until_the_floor():
    state, seen = given(FACT), []
    for day in range(8, 40):
        state = state.when(tick(later(days=day)))
        seen.append(state.only.importance)
    assert seen[:3] == [0.45, 0.405, 0.3645]
    assert seen[-1] == 0.1
    assert state.events == []  # at the floor nothing changes and nothing is written


def test_an_access_gives_a_memory_seven_more_days():
    state = given(FACT)
    state = state.when(recalled(state.only.memory_id, command="r-1", at=later(days=6)))
    assert state.when(tick(later(days=13))).events == []
    assert len(state.when(tick(later(days=13) + MOMENT)).events) == 1


def test_short_term_memories_expire_48_hours_after_their_effective_time_and_do_not_fade():
    short = said(COFFEE, "t-1", memory_type="short_term")
    assert given(short).when(tick(later(hours=48))).events == []
    [event] = given(short).when(tick(later(hours=48) + MOMENT)).events
    assert isinstance(event, MemoryExpired)
    assert event.reason == "short_term"


def test_an_expired_memory_keeps_its_content_and_expires_once():
    state = given(said(COFFEE, "t-1", memory_type="short_term"), tick(later(days=3)))
    assert (state.only.status, state.only.content) == ("expired", COFFEE)
    assert state.when(tick(later(days=4))).events == []


def test_a_tick_ignores_what_was_formed_or_accessed_after_its_as_of():
    assert given(said(COFFEE, "t-1", later(days=30))).when(tick(later(days=20))).events == []
    state = given(FACT)
    state = state.when(recalled(state.only.memory_id, command="r-1", at=later(days=20)))
    assert state.when(tick(later(days=19))).events == []


@pytest.mark.parametrize("policy", POLICIES)
def test_the_same_tick_twice_is_once(policy: str):
    once = given(FACT, happened("送花", "t-2"), tick(later(days=40), policy))
    assert once.when(tick(later(days=40), policy)).state.memories == once.state.memories


def test_off_changes_nothing():
    short = said(COFFEE, "t-1", memory_type="short_term")
    assert given(short).when(tick(later(days=400), "off")).decisions == ()


def test_a_tick_that_changes_nothing_of_a_user_decides_nothing():
    assert given(FACT).when(tick(later(days=1))).decisions == ()


def luna(days: float, importance: float, recalls: int) -> float:
    """Return what Luna's calculate_memory_strength returns, in her own names."""
    grade = min(4.0, max(1.0, 4 * importance))
    time_decay = math.exp(-days / (grade * 30))
    recall_bonus = 1 + recalls * 0.1
    importance_protection = 0.2 + (grade / 4) * 0.8
    return max(0.1, min(1.0, 1.0 * time_decay * recall_bonus * importance_protection))


@each("days", [0, 1, 7, 30, 90.5, 365])
@each("importance", [0.0, 0.25, 0.5, 0.75, 1.0])
@each("recalls", [0, 1, 10])
def test_strength_is_lunas_rounded_to_four_decimals(days: float, importance: float, recalls: int):
    memory = replace(given(FACT).only, importance=importance, recall_count=recalls)
    assert memory.strength_at(later(days=days)) == pytest.approx(luna(days, importance, recalls), abs=5.1e-5)
    assert memory.strength_at(later(days=days)) == round(memory.strength_at(later(days=days)), 4)


def test_strength_before_the_memory_was_formed_is_that_of_its_first_day():
    assert given(FACT).only.strength_at(later(days=-9)) == given(FACT).only.strength_at(MONDAY)


def test_ebbinghaus_fades_episodes_only():
    state = given(FACT, happened("送花", "t-2", importance=1.0)).when(tick(later(days=7), "ebbinghaus"))
    [event] = state.events
    assert isinstance(event, MemoryDecayed)
    assert (event.measure, event.before, event.after) == ("strength", 1.0, round(math.exp(-7 / 120), 4))
    assert (state.of("送花").strength, state.of("送花").importance) == (event.after, 1.0)


def weak(importance: float = 0.5, days: float = 100, **more: float) -> Given:
    known = given(happened("送花", "t-1", importance=importance), parameters=Parameters(**more))  # type: ignore[arg-type]
    return known.when(tick(later(days=days), "ebbinghaus"))


def test_episodes_under_three_tenths_expire():
    [event] = weak(days=42).events
    assert isinstance(event, MemoryExpired)
    assert event.reason == "weak"
    assert isinstance(weak(days=41).events[0], MemoryDecayed)  # 0.6 x exp(-41/60) is 0.303


def test_important_episodes_do_not_expire_from_weakness_unless_the_setting_says_so():
    assert weak(0.75, 500).only.status == "active"
    assert weak(0.7499, 500).only.status == "expired"
    assert weak(0.75, 500, keep_important=False).only.status == "expired"


def test_the_least_strength_is_a_setting():
    assert weak(days=41, episode_min_strength=0.5).only.status == "expired"
    assert weak(days=42, episode_min_strength=0.1).only.status == "active"


def test_recalls_strengthen_an_episode():
    state = given(happened("送花", "t-1", importance=0.5))
    for number in range(3):
        state = state.when(recalled(state.only.memory_id, command=f"r-{number}", at=later(minutes=number)))
    [event] = state.when(tick(later(days=30), "ebbinghaus")).events
    assert isinstance(event, MemoryDecayed)
    assert event.after == round(math.exp(-0.5) * 1.3 * 0.6, 4)


def test_of_more_episodes_than_the_maximum_the_weakest_expire():
    episodes = [
        happened(f"第{n}次约会在{n}号餐厅", f"t-{n}", later(days=n), event_type=f"date{n}", importance=1.0)
        for n in range(5)
    ]
    state = given(*episodes, parameters=Parameters(max_episodes=3)).when(tick(later(days=6), "ebbinghaus"))
    assert [e.reason for e in state.events if isinstance(e, MemoryExpired)] == ["too_many"] * 2
    assert state.active(later(days=6)) == [f"第{n}次约会在{n}号餐厅" for n in (2, 3, 4)]
    again = state.when(tick(later(days=13), "ebbinghaus"))
    assert not any(isinstance(e, MemoryExpired) for e in again.events)


def test_a_tick_in_parts_touches_every_memory_once_and_ends_as_in_one():
    many = given(*(remember(f"储物柜{n}", f"c-{n}") for n in range(1001))).when(tick(later(days=8)))
    assert [(d.part, d.last_part, len(d.events)) for d in many.decisions] == [(1, False, 1000), (2, True, 1)]
    assert {m.importance for m in many.memories} == {0.45}
    assert {m.version for m in many.memories} == {2}


def test_exactly_a_thousand_changes_are_one_decision():
    many = given(*(remember(f"储物柜{n}", f"c-{n}") for n in range(1000))).when(tick(later(days=8)))
    assert [(d.part, d.last_part) for d in many.decisions] == [(1, True)]


def test_forgotten_and_superseded_memories_do_not_fade():
    state = given(FACT)
    gone = state.when(forget(state.only.memory_id, "f-1", later(days=1)))
    assert gone.when(tick(later(days=30))).events == []
    back = gone.when(restore(state.only.memory_id, "r-1", later(days=10)))
    assert back.when(tick(later(days=17))).events == []
    assert len(back.when(tick(later(days=18))).events) == 1


def test_a_restored_episode_fades_anew_and_does_not_expire_at_the_next_tick_for_its_old_strength():
    state = given(happened("送花", "t-1", importance=0.5), tick(later(days=50), "ebbinghaus"))
    weak = state.only
    assert (weak.status, weak.strength_at(later(days=50)) < 0.3) == ("expired", True)
    back = state.when(restore(weak.memory_id, "r-1", later(days=51)))
    assert back.only.strength_at(later(days=51)) == 0.6
    met = back.when(tick(later(days=57), "ebbinghaus"))
    assert [type(e) for e in met.events] == [MemoryDecayed]
    assert met.only.status == "active"
    assert met.when(tick(later(days=101), "ebbinghaus")).only.status == "expired", "as old again as it was then"


def test_a_policy_that_is_not_known_changes_nothing_and_is_not_taken_for_another():
    state = given(FACT, happened("送花", "t-2"), said("用户明天去柏林", "t-3", memory_type="short_term"))
    assert state.when(tick(later(days=400), "no-such-policy")).events == []


def test_an_episode_that_was_recalled_after_the_tick_is_ignored_by_it():
    state = given(happened("送花", "t-1", importance=1.0))
    state = state.when(recalled(state.only.memory_id, command="r-1", at=later(days=9)))
    assert state.when(tick(later(days=7), "ebbinghaus")).events == []
    assert len(state.when(tick(later(days=14), "ebbinghaus")).events) == 1


def test_a_late_tick_does_not_count_the_episodes_that_came_after_its_as_of():
    """Whether a missed slot is caught up before or after the next conversation must not matter."""
    old = [happened(f"旧事{n}号", f"t-{n}", event_type=f"old{n}", importance=1.0) for n in range(3)]
    new = [happened(f"新事{n}号", f"n-{n}", later(days=9), event_type=f"new{n}", importance=1.0) for n in range(3)]
    state = given(*old, *new, parameters=Parameters(max_episodes=3)).when(tick(later(days=7), "ebbinghaus"))
    assert not any(isinstance(e, MemoryExpired) for e in state.events)


def test_a_step_of_many_memories_of_the_longest_names_is_decided_in_parts_that_fit_into_a_record():
    owner = Owner("default", "字" * 256)
    born = [replace(remember(f"{n}", f"c-{n}"), envelope=envelope(f"c-{n}", owner=owner)) for n in range(900)]
    state = Given(state=UserState(owner=owner))
    for item in born:
        state = state.when(item)
    after = state.when(tick(later(days=8)))
    assert len({e.memory_id for e in after.events if isinstance(e, MemoryDecayed)}) == len(after.events) == 900
    assert [d.part for d in after.decisions] == [1, 2]
    assert max(len(codec.encode(decision)) for decision in after.decisions) < 700_000
