"""Who of a window's speakers is the user."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.own_words import OwnWordsHere
from support.tables import each
from support.windows import piece, window

from streams.extraction.evidence.speakers import is_same_person, others_of, user_name_of
from streams.extraction.protocol import Known

AMY = Known(memory_id="m1", text="The user's name is Amy", attribute="user_name", value="Amy")


@each(
    ("names", "user_name", "expected"),
    [
        ([None, None], None, {}),
        (["Amy", "amy "], None, {}),
        (["Amy", "Amy"], "Emily", {}),
        ([None, "Bob", " "], None, {1: "Bob"}),
        (["Amy", "Bob"], "Amy Lee", {1: "Bob"}),
        ([None, "Amy", "Bob"], "amy", {2: "Bob"}),
        (["Amy", "Bob"], None, {0: "Amy", 1: "Bob"}),
    ],
)
def test_the_user_is_who_has_no_name_or_the_known_or_the_only_one(
    names: list[str | None], user_name: str | None, expected: dict[int, str]
):
    turns = [piece(number, name=name) for number, name in enumerate(names)]
    assistant = piece(9, speaker="assistant", name="Luna")
    known = () if user_name is None else (replace(AMY, value=user_name),)
    assert others_of(replace(window(*turns, assistant), known=known)) == expected


@each(
    ("names", "metadata", "expected"),
    [
        (["Bob", "Bob"], '{"user_name": "Ann"}', {0: "Bob", 1: "Bob"}),
        ([None, "ann", "Ann Lee"], '{"user_name": "Ann"}', {2: "Ann Lee"}),
        (["Bob"], '{"user_name": 5}', {}),
        (["Bob"], '["user_name"]', {}),
        (["Bob"], "user_name", {}),
    ],
)
def test_metadata_say_which_name_is_the_users_also_where_only_another_one_speaks(
    names: list[str | None], metadata: str, expected: dict[int, str]
):
    turns = [replace(piece(number, name=name), metadata=metadata) for number, name in enumerate(names)]
    assert others_of(replace(window(*turns), known=(replace(AMY, value="Bob"),))) == expected


@pytest.mark.parametrize(
    ("name", "other", "expected"),
    [("Amy", "AMY LEE", True), ("Amy Lee", "Amy", True), ("Amy Lee", "Amy Wu", False), ("", "Amy", False)],
)
def test_a_part_of_a_name_may_be_the_same_person(name: str, other: str, expected: bool):  # noqa: FBT001 - a table
    assert is_same_person(name, other) is expected


def test_the_users_name_is_known_where_a_memory_of_the_user_says_it():
    others = Known(memory_id="b", text="Bob", attribute="user_name", value="Bob", about="my friend")
    own = Known(memory_id="a", text="Amy", attribute="user_name", value="Amy")
    assert (user_name_of([others]), user_name_of([others, own])) == (None, "Amy")


@each(
    ("text", "expected"),
    [
        ("My name is Amy Lee.", {}),
        ("I'm Amy!", {}),
        ("我叫林Amy", {}),
        ("Amy is here too", {1: "Amy"}),
        ("I live here", {1: "Amy"}),
    ],
)
def test_the_only_name_among_turns_without_one_is_the_users_if_they_give_it_as_theirs(
    text: str, expected: dict[int, str]
):
    assert others_of(window(piece(0, "hello"), piece(1, text, name="Amy"))) == expected


@each(
    ("first", "names", "user_id", "expected"),
    [
        (("Amy",), ["Amy"], "u1", {}),
        (("Amy",), ["Bob"], "u1", {0: "Bob"}),
        (("Amy",), ["Bob", "amy"], "u1", {0: "Bob"}),
        (("Amy", "Bob"), ["Amy"], "u1", {0: "Amy"}),
        (("Amy", "Bob"), ["Amy"], "amy", {}),
        (("Bob",), ["Amy"], "amy", {}),
        (("Bob",), ["Cid", "Amy"], "amy", {0: "Cid"}),
        (("",), ["Amy", None], "u1", {0: "Amy"}),
        (("", "Amy"), ["Bob"], "u1", {0: "Bob"}),
        ((), ["Amy"], "u1", {}),
    ],
)
def test_who_spoke_alone_in_the_first_window_of_a_session_is_the_user(
    first: tuple[str, ...], names: list[str | None], user_id: str, expected: dict[int, str]
):
    turns = window(*(piece(number, name=name) for number, name in enumerate(names)))
    assert others_of(replace(turns, first_speakers=first, user_id=user_id)) == expected


@each(
    ("introduced", "names", "expected"),
    [
        (("al99",), ["al99"], {}),
        (("al99",), ["Bob"], {0: "Bob"}),
        (("al99",), [None, "Bob", "AL99"], {1: "Bob"}),
        (("al99", "Amy"), ["Amy Lee"], {}),
    ],
)
def test_a_user_who_introduced_themselves_speaks_by_the_name_of_that_turn(
    introduced: tuple[str, ...], names: list[str | None], expected: dict[int, str]
):
    turns = window(*(piece(number, name=name) for number, name in enumerate(names)))
    assert others_of(replace(turns, introduced=introduced)) == expected


async def test_each_speakers_words_are_kept_under_their_name():
    talk = window(
        piece(0, "I live in Porto.", name="Amy"),
        piece(1, "I live in Turin and I love steak.", name="Bob"),
        piece(2, "I am vegan.", name="Amy"),
    )
    found = (await OwnWordsHere().extract(replace(talk, known=(AMY,)))).proposals
    assert [(p.attribute, p.value) for p in found if p.speaker is None][:1] == [("city", "Porto")]
    assert {p.sources for p in found if p.speaker == "Bob"} == {(1,)}
    assert all("Bob" in p.content for p in found if p.speaker == "Bob")


async def test_the_turns_of_one_speaker_are_the_users():
    talk = window(piece(0, "I live in Porto.", name="Bob"), piece(1, "I love milk.", name="Bob"))
    assert {p.speaker for p in (await OwnWordsHere().extract(talk)).proposals} == {None}
