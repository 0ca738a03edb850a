"""The fold arbitrates: which decisions count, and what is void for every reader alike."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.examples import MONDAY, forget, later, remember, said, tick
from support.given import given

from projections.state.evolve import counts, events_of, evolve, is_decided, is_passed, link_of, next_part
from schemas import codec
from schemas.codec import Undecodable, UnknownSchema

if TYPE_CHECKING:
    from projections.state.memory import UserState
    from schemas.messages.decision import Decision

COFFEE = "用户喜欢喝咖啡"
EMPTY = given()
FIRST = EMPTY.when(said(COFFEE, "t-1"))
SECOND = FIRST.when(forget(FIRST.only.memory_id, "f-1", later(days=1)))


def decision_of(state: UserState, known: Decision) -> UserState:
    return evolve(state, known, events_of(known), link_of(known, codec.encode(known)))


def test_a_decision_that_expects_another_version_is_void():
    [second] = SECOND.decisions
    assert counts(FIRST.state, second)
    assert not counts(EMPTY.state, second)
    assert not counts(FIRST.state, replace(second, version=1))
    assert not counts(FIRST.state, replace(second, version=3))


def test_a_decision_about_an_item_that_was_decided_is_void_wherever_it_stands_now():
    [first] = FIRST.decisions
    again = replace(first, version=3, item_offset=99)
    assert not counts(SECOND.state, again)


def test_a_decision_about_an_item_before_the_last_counted_one_is_void():
    [second] = SECOND.decisions
    other = replace(second, item_id="other", version=3, item_offset=second.item_offset)
    assert not counts(SECOND.state, other)
    assert not counts(SECOND.state, replace(other, item_offset=0))
    assert counts(SECOND.state, replace(other, item_offset=second.item_offset + 1))


def test_two_workers_that_decide_the_same_item_make_one_decision():
    item = said("用户喜欢喝绿茶", "t-2", later(hours=1))
    [mine], [theirs] = FIRST.when(item).decisions, FIRST.when(item).decisions
    assert mine == theirs
    assert not counts(decision_of(FIRST.state, mine), theirs)


def test_two_workers_that_decide_different_items_at_one_version_make_one_decision():
    [mine] = FIRST.when(said("用户喜欢喝绿茶", "t-2", later(hours=1))).decisions
    [theirs] = FIRST.when(remember("用户喜欢跑步", "c-1")).decisions
    after = decision_of(FIRST.state, mine)
    assert not counts(after, theirs)
    assert not is_decided(after, "c-1")  # its owner decides again


def test_what_was_decided_is_known_by_its_id_for_ever_and_what_was_passed_by_its_offset():
    first_id = FIRST.decisions[0].item_id
    assert is_decided(SECOND.state, first_id)
    assert is_passed(SECOND.state, "other", SECOND.state.last_offset)
    assert not is_passed(SECOND.state, "other", SECOND.state.last_offset + 1)
    assert not is_passed(SECOND.state, "f-1", SECOND.state.last_offset)


def test_parts_count_in_their_order_and_once():
    many = given(*(remember(f"储物柜{n}", f"c-{n}") for n in range(1001)))
    one, two = many.when(tick(later(days=8))).decisions
    assert not counts(many.state, two)
    assert not counts(many.state, replace(two, version=one.version))
    half = decision_of(many.state, one)
    assert (next_part(half, one.item_id), is_decided(half, one.item_id)) == (2, False)
    assert not counts(half, one)
    assert not counts(half, replace(one, version=two.version))
    assert counts(half, two)
    whole = decision_of(half, two)
    assert is_decided(whole, one.item_id)
    assert not counts(whole, replace(two, version=whole.version + 1, part=3))
    assert next_part(whole, "another") == 1


def test_a_part_of_another_item_is_void():
    many = given(*(remember(f"储物柜{n}", f"c-{n}") for n in range(1001)))
    one, two = many.when(tick(later(days=8))).decisions
    assert not counts(decision_of(many.state, one), replace(two, item_id="another"))


def test_a_forgetting_remembers_the_items_log_time():
    after = FIRST.when(forget(FIRST.only.memory_id, "f-1", later(days=1)), logged=later(days=2))
    assert after.only.forgotten_at == later(days=2)


def test_a_decision_copies_the_log_time_of_its_item():
    [decision] = FIRST.when(forget(FIRST.only.memory_id, "f-1", later(days=1)), logged=later(days=2)).decisions
    assert decision.envelope.recorded_at == later(days=2)
    assert decision.envelope.occurred_at == later(days=1)


def test_every_change_moves_a_memorys_version_and_only_its_text_moves_the_text_version():
    after = FIRST.when(tick(later(days=8))).when(said(COFFEE, "t-2", later(days=9)))
    assert (after.only.version, after.only.text_version) == (3, 1)


def test_an_event_that_this_version_does_not_know_stops_the_fold_and_says_upgrade():
    unknown = b"\xc3\x01" + b"\x00" * 8 + b"body"
    with pytest.raises(UnknownSchema, match="upgrade"):
        events_of(replace(FIRST.decisions[0], events=[unknown]))


def test_what_is_no_event_of_the_ledger_is_refused():
    with pytest.raises(Undecodable, match="RememberFact"):
        events_of(replace(FIRST.decisions[0], events=[codec.encode(remember(COFFEE, "c-1"))]))


def test_a_new_user_knows_nothing():
    state = EMPTY.state
    assert (state.version, len(state.memories), next_part(state, "any")) == (0, 0, 1)
    assert not is_passed(state, "any", 0)


def test_what_is_found_by_text_and_attribute_follows_every_change():
    assert SECOND.only.memory_id in next(iter(SECOND.state.by_digest.values()))
    named = given(said("用户住在北京", "t-1", MONDAY, attribute="city", value="北京"))
    assert dict(named.state.by_attribute) == {"city": (named.only.memory_id,)}
