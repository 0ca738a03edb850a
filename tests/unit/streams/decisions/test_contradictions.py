"""Contradictions beyond slots: what the user says later ends what it denies, and both stay in the history."""

from __future__ import annotations

import pytest
from support.examples import candidate, extracted, later, piece, said
from support.given import given
from support.tables import each

from streams.decisions.duplicates.contradiction import end_keys, ends, taken_back
from streams.decisions.duplicates.equivalence import content_words
from streams.decisions.parameters import Parameters

PAIRS = [
    ("User eats meat", "User doesn't eat meat"),
    ("User smokes", "User no longer smokes"),
    ("User smokes", "User used to smoke"),
    ("I play the cello", "I don't play the cello anymore"),
    ("User has two cats", "User has three cats"),
    ("User's rent is 1,200 euros", "User's rent is 1,450 euros"),
    ("用户吃猪肉", "用户不吃猪肉"),
    ("用户喝酒", "用户不再喝酒了"),
    ("用户抽烟", "用户以前抽烟"),
    ("我是老师", "我不是老师了"),
    ("用户养了两只猫", "用户养了三只猫"),
    ("My favourite food is ramen", "My favorite food is now pho"),
    ("我最喜欢的季节是秋天", "我现在最喜欢的季节是冬天"),
]
BESIDE = [
    ("User eats meat", "User doesn't eat fish"),
    ("User has two cats", "User has three dogs"),
    ("User has a meeting at 9", "User has a meeting at 10"),
    ("User has worked there for 3 years", "User has worked there for 10 years"),
    ("Anna smokes", "Anna no longer smokes"),
    ("User is not working today", "User is working today"),
    ("用户今天上班", "用户今天不上班"),
    ("用户住在3楼", "用户住在5楼"),
    ("小王喝酒", "小王不喝酒"),
    ("User did not eat", "User never ate"),
    ("My favourite food is ramen", "My favourite drink is ramune"),
    ("My favourite colours are blue and green", "My favourite colours are red and pink"),
    ("Anna's favourite food is ramen", "Anna's favourite food is pho"),
    ("My favourite cup is the blue one", "My favourite cup is broken"),
]


@each(("older", "newer"), PAIRS)
def test_what_is_said_later_supersedes_what_it_denies(older: str, newer: str):
    after = given(said(older, "t-1")).when(said(newer, "t-2", later(days=1))).then("formed", "superseded")
    assert after.active(later(days=2)) == [newer]
    assert (after.of(older).status, after.of(older).superseded_by) == ("superseded", after.of(newer).memory_id)


@each(("older", "newer"), PAIRS)
def test_what_is_told_late_is_born_superseded(older: str, newer: str):
    after = given(said(newer, "t-2", later(days=1))).when(said(older, "t-1")).then("superseded")
    assert after.active(later(days=2)) == [newer]


@each(("one", "other"), BESIDE)
def test_what_does_not_contradict_stands_beside(one: str, other: str):
    assert not ends(one, other)
    assert not ends(other, one)


def test_a_present_does_not_end_what_used_to_be():
    assert not ends("User smokes", "User used to smoke")


@each(
    ("allergic", "what", "well"),
    [
        ("User is allergic to nuts", "nuts", "User is no longer allergic to nuts"),
        ("User can't eat nuts", "nuts", "I'm not allergic to nuts anymore."),
        ("用户对花生过敏", "花生", "用户不再对花生过敏了"),
        ("用户不能吃花生", "花生", "我对花生不过敏了"),
        ("用户对花生过敏", "花生", "用户现在对花生不过敏了"),
        ("用户对花生过敏", "花生", "用户对花生已经不过敏了"),
        ("User is allergic to nuts", "nuts", "User is not allergic to nuts after all"),
    ],
)
def test_what_is_taken_back_leaves_its_slot_and_may_come_again(allergic: str, what: str, well: str):
    first = said(allergic, "t-1", attribute="allergies", value=what)
    after = given(first).when(said(well, "t-2", later(days=1))).then("formed", "superseded")
    assert after.active(later(days=2)) == [well]
    again = after.when(said(allergic, "t-3", later(days=3), attribute="allergies", value=what))
    assert again.then("formed", "superseded").active(later(days=4)) == [allergic]


def test_another_value_of_the_slot_stays():
    nuts = said("User is allergic to nuts", "t-1", attribute="allergies", value="nuts")
    milk = said("User is allergic to milk", "t-2", attribute="allergies", value="milk")
    after = given(nuts, milk).when(said("User is no longer allergic to nuts", "t-3", later(days=1)))
    assert after.active(later(days=2)) == ["User is allergic to milk", "User is no longer allergic to nuts"]


@each(
    ("content", "slots", "value"),
    [
        ("User no longer works at IBM", ("employer",), "IBM"),
        ("I quit my job at IBM", ("employer",), "IBM"),
        ("User no longer lives in Oslo.", ("city",), "Oslo"),
        ("用户不再喜欢咖啡了", ("likes", "interests"), "咖啡"),
        ("我从华为离职了", ("employer",), "华为"),
        ("I retired last year (2025).", ("employer", "occupation"), "*"),
        ("我去年退休了", ("employer", "occupation"), "*"),
        ("用户不再住在北京了", ("city",), "北京"),
    ],
)
def test_each_kind_of_slot_can_be_taken_back(content: str, slots: tuple[str, ...], value: str):
    assert taken_back(content) == (slots, value)


def test_only_the_user_takes_back():
    first = said("User smokes", "t-1")
    words = extracted(candidate("User no longer smokes", "t-2"), covers=[piece("t-2", later(hours=1), by_user=False)])
    after = given(first).when(words).then("formed")
    assert "User smokes" in after.active(later(hours=2))


def test_plans_of_two_days_do_not_contradict_each_other():
    first = said("User is not coming", "t-1", category="schedule")
    assert len(given(first).when(said("User is coming", "t-2", later(days=1))).active(later(days=2))) == 2


def test_where_the_profile_keeps_its_values_only_plain_statements_end():
    first = said("User is allergic to nuts", "t-1", attribute="allergies", value="nuts")
    second = said("User is no longer allergic to nuts", "t-2", later(days=1))
    kept = given(first, parameters=Parameters(profile_keeps=True)).when(second)
    assert "User is allergic to nuts" in kept.active(later(days=2))


@each(("older", "newer"), PAIRS)
def test_statements_of_which_one_ends_the_other_share_a_key(older: str, newer: str):
    keys = [set(end_keys(content_words(text))) for text in (older, newer)]
    assert keys[0] & keys[1]


def test_what_can_end_nothing_has_no_key():
    assert [*end_keys(content_words("Remind me of the bakery by the river"))] == []


@pytest.mark.parametrize("gone", ["User left IKEA last week", "用户离开宜家了", "用户从宜家离职了"])
def test_an_employer_that_was_left_leaves_the_profile(gone: str):
    employer = "IKEA" if "IKEA" in gone else "宜家"
    first = said(f"User works at {employer}", "t-1", attribute="employer", value=employer)
    after = given(first).when(said(gone, "t-2", later(days=1))).then("formed", "superseded")
    assert after.active(later(days=2)) == [gone]


@pytest.mark.parametrize("said_of", ["User left Paris last week", "User left IKEA at six", "用户离开家了"])
def test_a_place_that_was_left_is_no_employer(said_of: str):
    first = said("User works at IKEA", "t-1", attribute="employer", value="IKEA")
    after = given(first).when(said(said_of, "t-2", later(days=1))).then("formed")
    assert after.active(later(days=2)) == ["User works at IKEA", said_of]
