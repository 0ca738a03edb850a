"""Time travel: a past effective time, with what is known today."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING, Any

from support.examples import MONDAY, XIAOMING, later, remember, said
from support.given import given
from support.tables import each

from projections.state.evolve import events_of, evolve, link_of
from projections.state.memory import ACTIVE, UserState
from projections.state.time_travel import state_at
from schemas import codec
from streams.decisions.decide import decide
from streams.decisions.draft import ItemPosition
from streams.decisions.parameters import Parameters

if TYPE_CHECKING:
    from datetime import datetime

    from schemas.messages.decision import Decision


def decided(*said: tuple[str, datetime]) -> list[Decision]:
    """Return the decisions about cities that are said in this order, each true at its time."""
    state, decisions = UserState(owner=XIAOMING), []
    for offset, (city, at) in enumerate(said):
        item = remember(f"住在{city}", f"c-{offset}", at, attribute="city", value=city)
        decision = decide(state, item, ItemPosition(0, offset, MONDAY), {}, Parameters())
        state = evolve(state, decision, events_of(decision), link_of(decision, codec.encode(decision)))
        decisions.append(decision)
    return decisions


def shown(decisions: list[Decision], as_of: datetime) -> list[str | None]:
    return [m.value for m in state_at(XIAOMING, decisions, as_of).memories.values() if m.status_at(as_of) == ACTIVE]


PARIS, LONDON, BERLIN = ("巴黎", later(days=1)), ("伦敦", later(days=10)), ("柏林", later(days=20))


def test_history_that_arrives_late_is_what_was_true_then():
    for order in ((PARIS, LONDON, BERLIN), (BERLIN, LONDON, PARIS), (LONDON, BERLIN, PARIS), (BERLIN, PARIS, LONDON)):
        decisions = decided(*order)
        assert shown(decisions, later(days=5)) == ["巴黎"]
        assert shown(decisions, later(days=15)) == ["伦敦"]
        assert shown(decisions, later(days=25)) == ["柏林"]
        assert shown(decisions, later(hours=1)) == []


LIKES: dict[str, Any] = {"attribute": "likes", "value": "咖啡"}
DISLIKES: dict[str, Any] = {"attribute": "dislikes", "value": "咖啡"}
COFFEE = [(LIKES, 10), (DISLIKES, 30), (LIKES, 50), (DISLIKES, 5)]


def tastes(*order: tuple[dict[str, Any], int], keeps: bool = False) -> list[Decision]:
    """Return the decisions about coffee that is liked or disliked, said in this order, each true on its day."""
    known = given(parameters=Parameters(profile_keeps=keeps))
    decisions: list[Decision] = []
    for name, (taste, day) in enumerate(order):
        text = "用户喜欢咖啡" if taste is LIKES else "用户不喜欢咖啡"
        known = known.when(said(text, f"t-{name}", later(days=day), **taste))
        decisions.extend(known.decisions)
    return decisions


def stated(decisions: list[Decision], as_of: datetime) -> set[str | None]:
    memories = state_at(XIAOMING, decisions, as_of).memories.values()
    return {m.attribute for m in memories if m.status_at(as_of) == ACTIVE}


@each("order", list(permutations(COFFEE)))
def test_a_thing_was_liked_or_disliked_and_never_both(order: tuple[tuple[dict[str, Any], int], ...]):
    decisions = tastes(*order)
    assert all(len(stated(decisions, later(days=day))) < 2 for day in (7, 20, 40))
    assert stated(decisions, later(days=60)) == {"likes"}


def test_what_was_said_late_does_not_hide_what_was_true_since():
    decisions = tastes(*COFFEE)
    days = (7, 20, 40, 60)
    assert [stated(decisions, later(days=day)) for day in days] == [{"dislikes"}, {"likes"}, {"dislikes"}, {"likes"}]


def test_both_lists_accumulated_where_the_profile_keeps_what_it_has():
    assert stated(tastes(*COFFEE, keeps=True), later(days=40)) == {"likes", "dislikes"}
