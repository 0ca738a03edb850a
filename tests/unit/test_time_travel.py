"""Time travel: a past effective time, with what is known today."""

from __future__ import annotations

from typing import TYPE_CHECKING

from examples import MONDAY, XIAOMING, later, remember

from projections.evolve import events_of, evolve
from projections.memory import ACTIVE, UserState
from projections.time_travel import state_at
from streams.decide import decide
from streams.draft import Place
from streams.parameters import Parameters

if TYPE_CHECKING:
    from datetime import datetime

    from schemas.decision import Decision


def decided(*said: tuple[str, datetime]) -> list[Decision]:
    """Return the decisions about cities that are said in this order, each true at its time."""
    state, decisions = UserState(owner=XIAOMING), []
    for offset, (city, at) in enumerate(said):
        item = remember(f"住在{city}", f"c-{offset}", at, attribute="city", value=city)
        decision = decide(state, item, Place(0, offset, MONDAY), {}, Parameters())
        state = evolve(state, decision, events_of(decision))
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
