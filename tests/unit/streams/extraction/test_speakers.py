"""Who of a window's speakers is the user."""

from __future__ import annotations

import pytest
from support.tables import each
from support.windows import piece

from streams.extraction.evidence.speakers import is_same_person, others_of, user_name_of
from streams.extraction.protocol import Known


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
    assert others_of([*turns, assistant], user_name) == expected


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
