"""What a decision leads to is computed once, and serves only where it was computed for."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.examples import MONDAY, XIAOMING, remember

from projections.shard.foreseen_states import MOST, ForeseenStates
from projections.state.evolve import events_of, evolve, link_of
from projections.state.memory import UserState
from schemas import codec
from streams.decisions.decide import decide
from streams.decisions.draft import ItemPosition
from streams.decisions.parameters import Parameters

STATE = UserState(owner=XIAOMING)
DECISION = decide(STATE, remember("用户喜欢喝咖啡", "c-1"), ItemPosition(0, 0, MONDAY), {}, Parameters())
AFTER = evolve(STATE, DECISION, events_of(DECISION), link_of(DECISION, codec.encode(DECISION)))


@pytest.fixture
def foreseen() -> ForeseenStates:
    states = ForeseenStates()
    states.add(STATE, DECISION, AFTER)
    return states


def test_the_state_after_a_decision_is_known_once(foreseen: ForeseenStates):
    assert foreseen.take(STATE, DECISION) is AFTER
    assert foreseen.take(STATE, DECISION) is None


def test_another_state_or_another_decision_of_the_same_id_is_computed_anew(foreseen: ForeseenStates):
    assert foreseen.take(replace(STATE), DECISION) is None
    foreseen.add(STATE, DECISION, AFTER)
    assert foreseen.take(STATE, replace(DECISION)) is None


def test_what_was_erased_is_forgotten(foreseen: ForeseenStates):
    foreseen.clear()
    assert foreseen.take(STATE, DECISION) is None


def test_decisions_that_are_never_folded_do_not_fill_the_memory(foreseen: ForeseenStates):
    for n in range(MOST + 1):
        envelope = replace(DECISION.envelope, event_id=f"d-{n}")
        foreseen.add(STATE, replace(DECISION, envelope=envelope), AFTER)
    assert len(foreseen._by_decision) <= MOST
