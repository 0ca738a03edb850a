"""Plans: a job that starts on Monday is a plan until Monday; the tick then makes it the present employer."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from support.examples import MONDAY, XIAOMING, candidate, extracted, forget, later, piece, said, tick
from support.given import given
from support.tables import each

from projections.profile.profile import profile
from projections.queries.validity import validity
from projections.state.time_travel import state_at
from streams.decisions.parameters import Parameters

if TYPE_CHECKING:
    from datetime import datetime

    from support.given import Given

    from schemas.messages.decision import Decision
    from schemas.messages.inbox import CandidatesExtracted

INITECH, GLOBEX = "The user works at Initech", "The user starts at Globex on 2026-01-12"
STARTS = later(days=6, hours=16)
"""The 12th, at midnight."""
AT_INITECH = said(INITECH, "t-0", attribute="employer", value="Initech")


def planned(name: str = "t-1", at: datetime = MONDAY, day: str = "2026-01-12", **more: Any) -> CandidatesExtracted:
    fields: dict[str, Any] = {"becomes": "employer", "value": "Globex", "occurred_on": day} | more
    return said(f"The user starts at {fields['value']} on {day}", name, at, **fields)


def employer(after: Given, at: datetime) -> object:
    return profile(after.memories, at)["employer"]


def test_a_plan_fills_no_slot_before_its_day():
    after = given(AT_INITECH).when(planned(category="people", memory_type="short_term")).then("formed")
    plan = after.of(GLOBEX)
    assert (plan.attribute, plan.value, plan.becomes, plan.slot) == (None, "Globex", "employer", None)
    assert (plan.category, plan.memory_type) == ("schedule", "long_term")
    before = after.when(tick(later(days=6)))
    assert (employer(before, later(days=6)), before.events) == ("Initech", [])


def test_the_tick_after_its_day_makes_it_the_present_value_and_keeps_the_former_as_history():
    after = given(AT_INITECH, planned()).when(tick(later(days=7))).then("revised", "superseded")
    begun, former = after.of(GLOBEX), after.of(INITECH)
    assert employer(after, later(days=7)) == "Globex"
    assert (begun.attribute, begun.said_at, begun.category) == ("employer", STARTS, "fact")
    assert (former.status, former.superseded_by) == ("superseded", begun.memory_id)
    assert validity(begun, after.state.memories) == (STARTS, None)
    assert validity(former, after.state.memories) == (MONDAY, STARTS)


def test_it_is_so_from_its_day_on_whenever_the_tick_came():
    decisions: list[Decision] = []
    after = given()
    for item in (AT_INITECH, planned(), tick(later(days=9))):
        after = after.when(item)
        decisions += after.decisions
    shown = [
        profile(state_at(XIAOMING, decisions, at).memories.values(), at)["employer"]
        for at in (later(days=6), later(days=8))
    ]
    assert shown == ["Initech", "Globex"]


def test_a_second_tick_changes_nothing_of_it():
    after = given(AT_INITECH, planned(), tick(later(days=7))).when(tick(later(days=7, hours=1)))
    assert after.events == []


@each("attribute", ["employer", "city", "occupation", "relationship_status", "school"])
def test_a_state_whose_day_is_to_come_is_a_plan_even_where_the_answer_fills_it(attribute: str):
    later_on = said("It will be so", "t-1", attribute=attribute, value="that", occurred_on="2026-01-12")
    plan = given().when(later_on).then("formed").only
    assert (plan.attribute, plan.becomes) == (None, attribute)
    assert given(later_on, tick(later(days=7))).only.attribute == attribute


def test_a_birthday_to_come_is_known_today():
    known = said(
        "The user's birthday is on the 12th", "t-1", attribute="birthday", value="01-12", occurred_on="2026-01-12"
    )
    assert given(known).only.attribute == "birthday"


@each("day", ["2026-01-05", "2025-12-01"])
def test_what_had_begun_when_it_was_said_is_so_at_once(day: str):
    after = given(AT_INITECH).when(planned("t-1", later(hours=1), day)).then("formed", "superseded")
    assert employer(after, later(hours=1)) == "Globex"


@each("left_out", ["occurred_on", "value"])
def test_a_plan_without_a_day_or_a_value_becomes_nothing(left_out: str):
    item, gone = planned(), {left_out: None}
    whole: Any = item.candidates[0]
    plan = given(replace(item, candidates=[replace(whole, **gone)])).only
    assert (plan.becomes, plan.attribute, plan.value) == (None, None, None)


def test_only_the_user_plans_a_value_of_the_profile():
    plan = candidate("The user starts at Globex", "a-1", becomes="employer", value="Globex", occurred_on="2026-01-12")
    after = given(extracted(plan, covers=[piece("a-1", by_user=False)]))
    assert (after.only.becomes, after.only.value) == (None, None)


def test_a_plan_that_was_moved_begins_on_its_new_day():
    after = given(AT_INITECH, planned()).when(planned("t-2", later(days=1), "2026-01-19")).then("formed", "superseded")
    assert after.reasons[-1] == "its day was moved"
    week = after.when(tick(later(days=8)))
    assert employer(week, later(days=8)) == "Initech"
    assert employer(week.when(tick(later(days=15))), later(days=15)) == "Globex"


def test_what_the_user_said_since_its_day_goes_before_it():
    since = said("The user works at Hooli", "t-2", later(days=8), attribute="employer", value="Hooli")
    after = given(AT_INITECH, planned(), since).when(tick(later(days=9))).then("revised", "superseded")
    assert (employer(after, later(days=9)), after.of(GLOBEX).status) == ("Hooli", "superseded")


def test_a_plan_that_the_user_has_confirmed_since_is_one_with_what_is_known():
    since = said("The user works at Globex now", "t-2", later(days=7), attribute="employer", value="Globex")
    after = given(AT_INITECH, planned(), since).when(tick(later(days=8))).then("superseded")
    assert after.active(later(days=8)) == ["The user works at Globex now"]


def test_a_plan_that_was_forgotten_never_begins():
    after = given(AT_INITECH, planned())
    gone = after.when(forget(after.of(GLOBEX).memory_id, "c-1", later(days=1)))
    assert employer(gone.when(tick(later(days=8))), later(days=8)) == "Initech"


def test_what_is_not_confirmed_does_not_begin():
    after = given(AT_INITECH, planned(confirmed=False)).when(tick(later(days=8)))
    assert employer(after, later(days=8)) == "Initech"


def test_a_profile_that_keeps_its_values_keeps_the_plan_a_plan():
    keeps = Parameters(profile_keeps=True)
    after = given(AT_INITECH, planned(), parameters=keeps).when(tick(later(days=8)))
    assert (employer(after, later(days=8)), after.of(GLOBEX).attribute) == ("Initech", None)


def test_a_plan_of_somebody_else_becomes_a_fact_about_them():
    lives = said("The user's mother lives in Paris", "t-0", about="my mother", attribute="city", value="Paris")
    moves = planned(about="mother", becomes="city", value="Osaka")
    after = given(lives, moves).when(tick(later(days=7))).then("revised", "superseded")
    assert after.of("The user starts at Osaka on 2026-01-12").key == "mother\ncity"
    assert not profile(after.memories, later(days=7))["city"]


def test_of_two_plans_for_a_slot_the_later_day_holds_it():
    first, second = planned(), planned("t-2", MONDAY, "2026-01-13", value="Hooli")
    after = given(second, first).when(tick(later(days=9)))
    assert employer(after, later(days=9)) == "Hooli"
