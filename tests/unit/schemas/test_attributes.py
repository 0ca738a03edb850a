"""The attributes are closed sets, and values that read the same are the same."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from support.tables import each

from schemas.vocabulary.attributes import LISTS, MAPS, SINGLE, is_single, same_value


def test_every_attribute_is_of_one_kind():
    assert len({*SINGLE, *LISTS, *MAPS}) == 9 + 12 + 1
    assert (len(SINGLE), len(LISTS), MAPS) == (9, 12, ("important_dates",))


@each(("attribute", "single"), [("city", True), ("likes", False), ("important_dates", False), ("zodiac", False)])
def test_only_a_single_attribute_is_superseded(attribute: str, single: bool):  # noqa: FBT001 (a parameter of the table)
    assert is_single(attribute) is single


@each(
    ("a", "b"),
    [
        ("Coffee", "coffee."),
        ("the green tea", "Green  Tea"),
        ("咖啡", "咖啡。"),
        ("ＮＶＤＡ", "nvda"),
        ("a cat", "cat!"),
        ("Straße", "STRASSE"),
        (" 北京 ", "北京"),
    ],
)
def test_spelling_makes_no_other_value(a: str, b: str):
    assert same_value(a, b)
    assert same_value(b, a)


@each(
    ("a", "b"),
    [
        ("coffee", "no coffee"),
        ("北京", "南京"),
        ("C", "C++"),
        ("1.5", "15"),
        ("!", "?"),
        ("anna", "an anna b"),
        ("theatre", "atre"),
        ("", "the"),
    ],
)
def test_other_words_are_another_value(a: str, b: str):
    assert not same_value(a, b)


@given(st.text(), st.text())
def test_sameness_is_reflexive_and_symmetric(a: str, b: str):
    assert same_value(a, a)
    assert same_value(a, b) == same_value(b, a)
