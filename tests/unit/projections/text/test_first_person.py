"""Texts about the user in the first person."""

from __future__ import annotations

import pytest

from projections.text.first_person import first_person


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The user lives in Oslo now.", "I live in Oslo now."),
        ("User is allergic to nuts", "I am allergic to nuts"),
        ("user was born in Bonn", "I was born in Bonn"),
        ("The user always carries an umbrella", "I always carry an umbrella"),
        ("User no longer works at Acme.", "I no longer work at Acme."),
        ("User does not like tea", "I do not like tea"),
        ("User moved to Rome.", "I moved to Rome."),
        ("The user's wife is Mia", "My wife is Mia"),
        ("用户住在北京。", "我住在北京。"),
        ("I live in Berlin.", "I live in Berlin."),
        ("Users live in Berlin.", "Users live in Berlin."),
        ("lives in Berlin", "lives in Berlin"),
    ],
)
def test_what_begins_with_the_user_is_said_by_the_user(text: str, expected: str):
    assert first_person(text) == expected


def test_what_begins_with_what_the_user_does_is_so_only_where_that_is_asked_for():
    assert first_person("lives in Berlin", names_user=False) == "I live in Berlin"
