"""Whatever happened, the orders that follow a user are those made of the state anew; what is gone is never shown."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from hypothesis import given, settings
from support.examples import later, remember
from support.given import Given
from support.histories import HISTORIES, decided

from projections.profile.ranked_memories import RankedMemories, RankedMemoriesByUser, in_order
from projections.profile.visibility import Visibility
from projections.state.memory import ACTIVE

if TYPE_CHECKING:
    from datetime import datetime

    from support.histories import Step

SLOTS = (("likes", "茶"), ("sensitive_topics", "咖啡"), ("user_name", "小明"), (None, None))


def crowd(size: int) -> Given:
    """Return a user with so many memories that a few changes are mended, not begun anew."""
    known = Given()
    for number in range(size):
        attribute, value = SLOTS[number % len(SLOTS)]
        more = {} if attribute is None else {"attribute": attribute, "value": value}
        known = known.when(remember(f"第{number}件事", f"crowd-{number}", later(days=-number), **more))
    return known


CROWD = crowd(40)
AGENTS = (None, "luna", "nova")


def answers(ranked: RankedMemories, at: datetime) -> list[object]:
    return [
        (
            [m.memory_id for m in ranked.best(at, agent, sight, 100)],
            [m.memory_id for m in ranked.newest(at, agent, sight, 100)],
            ranked.total(at, agent, sight),
            ranked.profile(at, agent, sight),
            [m.memory_id for m in ranked.filling(("user_name",), at, agent, sight)],
        )
        for agent in AGENTS
        for sight in Visibility
    ]


@given(HISTORIES)
@settings(max_examples=15, deadline=None)
def test_orders_that_follow_are_those_made_anew(history: list[Step]):
    known, users, logged = CROWD, RankedMemoriesByUser(), later()
    users.of(known.state)
    for number, step in enumerate(history):
        logged += step.waits
        known = decided(known, step, number, logged)
        if number % 3:  # several changes at once, too
            continue
        ranked = users.of(known.state)
        for at in (logged, logged + timedelta(days=3)):
            assert answers(ranked, at) == answers(RankedMemories(known.state), at)


@given(HISTORIES)
@settings(max_examples=20, deadline=None)
def test_what_is_shown_is_active_and_all_of_it_is_shown(history: list[Step]):
    known, users, logged = CROWD, RankedMemoriesByUser(), later()
    for number, step in enumerate(history):
        logged += step.waits
        known = decided(known, step, number, logged)
        for agent in AGENTS:
            shown = users.of(known.state).best(logged, agent, Visibility.EVERYTHING, 1000)
            active = [m for m in known.memories if m.status_at(logged) == ACTIVE and m.visible_to(agent)]
            assert [m.memory_id for m in shown] == [m.memory_id for m in in_order(active)]
            assert users.of(known.state).total(logged, agent, Visibility.EVERYTHING) == len(active)
            order = [(-m.importance, -m.last_accessed_at.timestamp(), m.memory_id) for m in shown]
            assert order == sorted(order)
