"""A nickname is a name while no other is known; it never takes the place of one."""

from __future__ import annotations

import pytest
from support.examples import candidate, extracted, forget, later, piece, said
from support.given import given
from unit.streams.extraction.test_own_words import found as read

from schemas.vocabulary.attributes import NICKNAME

NAME = said("用户叫张三", "t-1", attribute="user_name", value="张三")
NICK = said("用户可以叫小鱼", "t-2", later(hours=1), attribute=NICKNAME, value="小鱼")


@pytest.mark.parametrize(
    ("text", "nickname"),
    [
        ("你可以叫我小鱼", "小鱼"),
        ("大家都叫我老王", "老王"),
        ("叫我阿杰就行", "阿杰"),
        ("You can call me Jo", "Jo"),
        ("My friends call me Lizzie", "Lizzie"),
        ("I go by Sam", "Sam"),
    ],
)
def test_the_rules_tell_a_nickname_from_a_name(text: str, nickname: str):
    found = read(text)
    assert [(p.attribute, p.value, p.category, p.importance) for p in found] == [(NICKNAME, nickname, "people", 0.8)]


@pytest.mark.parametrize("text", ["My name is Elizabeth", "I am called Elizabeth", "我叫张三", "我的名字是张三"])
def test_a_name_is_a_name(text: str):
    assert [p.attribute for p in read(text)] == ["user_name"]


def test_a_name_that_is_said_after_the_nickname_comes_before_it():
    found = read("You can call me Jo. My name is Josephine.")
    assert [(p.attribute, p.value) for p in found] == [("user_name", "Josephine"), (NICKNAME, "Jo")]


def test_where_a_name_is_known_a_nickname_joins_the_pet_names():
    after = given(NAME).when(NICK).then("formed")
    held = [(m.attribute, m.value, m.status) for m in after.memories]
    assert held == [("user_name", "张三", "active"), ("pet_names", "小鱼", "active")]


def test_where_no_name_is_known_it_is_the_name_until_one_is_said():
    known = given(NICK).then("formed")
    assert known.only.attribute == "user_name"
    again = said("用户可以叫小鱼", "t-3", later(hours=2), attribute=NICKNAME, value="小鱼")
    known.when(again).then("reinforced")
    after = known.when(said("用户叫张三", "t-3", later(hours=2), attribute="user_name", value="张三"))
    assert after.active(later(hours=3)) == ["用户叫张三"]


def test_a_name_that_was_forgotten_is_known_no_more():
    known = given(NAME)
    after = known.when(forget(known.only.memory_id, "f-1", later(minutes=5))).when(NICK)
    assert [(m.attribute, m.value) for m in after.memories if m.status == "active"] == [("user_name", "小鱼")]


def test_both_in_one_answer_keep_both():
    both = [
        candidate("User's name is Josephine", "t-1", attribute="user_name", value="Josephine"),
        candidate("User is called Jo", "t-1", attribute=NICKNAME, value="Jo"),
    ]
    after = given().when(extracted(*both, covers=[piece("t-1")])).then("formed", "formed")
    assert {m.attribute: m.value for m in after.memories} == {"user_name": "Josephine", "pet_names": "Jo"}
