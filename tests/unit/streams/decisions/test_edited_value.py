"""A text that is changed by hand says what its memory's slot holds now, or that it holds nothing any more."""

from __future__ import annotations

from dataclasses import replace

from support.examples import forget, later, remember, revise
from support.given import Given, given
from support.tables import each

from projections.profile.profile import profile
from schemas.messages.envelope import Sealed
from streams.decisions.parameters import Parameters


def reworded(attribute: str, value: str, before: str, after: str) -> Given:
    known = given(remember(before, "c-1", attribute=attribute, value=value))
    return known.when(revise(known.only.memory_id, "c-2", later(days=1), content=after))


@each(
    ("attribute", "value", "before", "after", "now"),
    [
        ("city", "北京", "用户住在北京", "用户住在上海", "上海"),
        ("city", "Berlin", "User lives in Berlin", "The user lives in Paris with two cats", "Paris"),
        ("city", "Berlin", "lives in Berlin", "I live in Paris now", "Paris"),
        ("likes", "tea", "likes tea", "likes green tea", "green tea"),
        ("likes", "咖啡", "用户喜欢喝咖啡", "用户喜欢喝茶", "茶"),
        ("user_name", "Li", "is called Li", "is called Lin", "Lin"),
        ("birthday", "03-05", "用户的生日是3月5日", "用户的生日是3月6日", "03-06"),
        ("occupation", "nurse", "User works as a nurse", "User works as a teacher", "teacher"),
        ("zodiac", "狮子座", "用户的星座是狮子座。", "用户的星座是处女座", "处女座"),
        ("favourite team", "Ajax", "Ajax is the team", "Feyenoord is the team.", "Feyenoord"),
        ("important_dates", "wedding：2020-05-20", "married 2020-05-20", "married 2020-05-21", "wedding: 2020-05-21"),
    ],
)
def test_the_value_is_read_from_the_new_text(attribute: str, value: str, before: str, after: str, now: str):
    assert reworded(attribute, value, before, after).only.value == now


@each(
    ("attribute", "value", "before", "after"),
    [
        ("city", "Berlin", "lives in berlin", "User lives in Berlin."),
        ("user_name", "Ming", "is called Ming", "Everybody calls the user Ming"),
        ("likes", "咖啡", "用户喜欢咖啡", "用户喜欢喝咖啡"),
        ("zodiac", "Leo", "is a Leo", "a Leo, and proud of it"),
        ("birthday", "1990-05-20", "born on May 20, 1990", "born in Paris on May 20, 1990"),
        ("important_dates", "wedding: 2020-05-20", "the wedding is on 2020-05-20", "the wedding was on 20 May 2020"),
        ("important_dates", "结婚纪念日: 05-20", "结婚纪念日是5月20日", "结婚纪念日是5月20日，在北京"),
    ],
)
def test_a_value_that_the_new_text_still_says_stays(attribute: str, value: str, before: str, after: str):
    assert reworded(attribute, value, before, after).only.value == value


@each(
    ("attribute", "value", "before", "after"),
    [
        ("city", "Berlin", "User lives in Berlin", "User has a cat"),
        ("city", "Berlin", "User lives in Berlin", "User used to live in Berlin"),
        ("likes", "tea", "likes tea", "doesn't like tea any more"),
        ("likes", "咖啡", "用户喜欢咖啡", "用户不喜欢咖啡"),
        ("age", "30", "is 30", "is blue"),
        ("birthday", "03-05", "用户的生日是3月5日", "用户的生日已经过了"),
        ("important_dates", "wedding: 2020-05-20", "the wedding is on 2020-05-20", "the wedding was on 2021-05-20"),
    ],
)
def test_a_value_that_is_not_found_leaves_the_slot(attribute: str, value: str, before: str, after: str):
    revised = reworded(attribute, value, before, after)
    assert revised.then("revised").only.slot is None
    found = profile(revised.memories, later(days=2))
    assert (found["sources"], found["text"]) == ({}, "")


@each(
    ("attribute", "value", "before", "after"),
    [
        ("communication_style", "concise", "User wants few wrods", "User wants few words"),
        ("communication_style", "concise", "User prefers short answers", "User prefers short answers."),
        ("relationship_status", "married", "User and his wife live together", "User and his wife live in Rome"),
        ("language", "zh", "用户说中文", "用户平时说中文"),
        ("age", "28", "User is twenty-eight", "User is twenty-eight, and no older"),
        ("important_dates", "2020", "the wedding was in spring", "the wedding wasn't in spring"),
    ],
)
def test_a_value_that_the_old_text_did_not_spell_stays(attribute: str, value: str, before: str, after: str):
    assert reworded(attribute, value, before, after).only.value == value


@each(
    ("value", "before", "after"),
    [
        ("miscarriage", "Miscarriage is a sensitive topic", "Miscarriage must never be mentioned"),
        ("miscarriage", "Miscarriage is a sensitive topic", "That is a sensitive topic"),
        ("miscarriage", "User had a miscarriage; never mention it", "User does not want to talk about it"),
        ("父亲去世", "父亲去世是敏感话题", "父亲去年去世，是敏感话题，不要提"),
    ],
)
def test_a_sensitive_topic_stays_one_whatever_its_text_becomes(value: str, before: str, after: str):
    assert reworded("sensitive_topics", value, before, after).only.value == value


def test_a_value_that_is_given_counts_whatever_the_text_says():
    known = given(remember("lives in Berlin", "c-1", attribute="city", value="Berlin"))
    command = revise(known.only.memory_id, "c-2", later(days=1), content="moved", value=Sealed.clear("Rome"))
    assert known.when(command).only.value == "Rome"


def test_a_memory_without_a_slot_gets_none():
    known = given(remember("has a cat", "c-1"))
    revised = known.when(revise(known.only.memory_id, "c-2", later(days=1), content="User lives in Berlin"))
    assert (revised.only.attribute, revised.only.value) == (None, None)


def test_what_fills_its_slot_no_more_is_neither_superseded_nor_in_the_way():
    emptied = reworded("city", "Berlin", "User lives in Berlin", "User has a cat")
    after = emptied.when(remember("lives in Rome", "c-3", later(days=2), attribute="city", value="Rome"))
    assert sorted(after.then("formed").active(later(days=3))) == ["User has a cat", "lives in Rome"]


def test_a_memory_that_fills_its_slot_again_supersedes_what_took_it():
    emptied = reworded("city", "Berlin", "User lives in Berlin", "User has a cat")
    moved = emptied.when(remember("lives in Rome", "c-3", later(days=2), attribute="city", value="Rome"))
    cat, rome = moved.of("User has a cat").memory_id, moved.of("lives in Rome").memory_id
    back = revise(cat, "c-4", later(days=3), content="lives in Paris", value=Sealed.clear("Paris"))
    after = moved.when(back).then("revised", "superseded")
    assert (after.active(later(days=4)), after.of("lives in Rome").superseded_by) == (["lives in Paris"], cat)
    keeping = replace(moved, parameters=Parameters(profile_keeps=True))
    kept = keeping.when(back).then("refused")
    assert sorted(kept.active(later(days=4))) == ["User has a cat", "lives in Rome"]
    assert keeping.when(forget(rome, "c-5", later(days=3))).when(back).then("revised").of("lives in Paris").slot


def test_a_taste_that_is_changed_supersedes_its_opposite():
    known = given(
        remember("讨厌茶", "c-1", attribute="dislikes", value="茶"),
        remember("喜欢咖啡", "c-2", later(hours=1), attribute="likes", value="咖啡"),
    )
    change = revise(known.of("喜欢咖啡").memory_id, "c-3", later(days=1), content="喜欢茶")
    assert known.when(change).then("revised", "superseded").active(later(days=2)) == ["喜欢茶"]
    keeps = given(parameters=Parameters(profile_keeps=True)).parameters
    kept = Given(state=known.state, vectors=known.vectors, offset=known.offset, parameters=keeps).when(change)
    assert len(kept.then("revised").active(later(days=2))) == 2
