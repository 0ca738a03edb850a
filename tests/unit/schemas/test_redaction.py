"""What must not be kept is found by its checksum, replaced or refused, counted and never quoted."""

from __future__ import annotations

import time
from itertools import product
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.tables import each

from schemas.redaction import KINDS, Redaction, Refused, actions_of

if TYPE_CHECKING:
    from schemas.redaction import Action, Kind

FOUND: dict[Kind, list[str]] = {
    "card": ["4111 1111 1111 1111", "5500-0000-0000-0004", "378282246310005", "6222021234567890128"],
    "iban": ["DE89 3704 0044 0532 0130 00", "GB82WEST12345698765432", "fr1420041010050500013m02606"],
    "id_card": ["11010519491231002X", "11010519491231002x"],
    "phone": ["13812345678", "+86 138 1234 5678", "+44 20 7946 0958", "(212) 555-0142", "010-12345678"],
    "email": ["ann.b+c@mail.example.co.uk"],
    "secret": ["sk-abcdefghijklmnop1234", "AKIAABCDEFGHIJKLMNOP", "eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl"],
}
ALL = Redaction(actions_of("all=redact"))


@each(("kind", "number"), [(kind, each) for kind in KINDS for each in FOUND[kind]])
@each(("before", "after"), [("", ""), ("我的是", "，记住"), ("it is ", " thanks."), ("(", ")")])
def test_what_is_found_is_replaced_and_what_is_around_it_stays(kind: Kind, number: str, before: str, after: str):
    assert ALL.value(before + number + after) == f"{before}[{kind}]{after}"


@each(
    "text",
    [
        "4111 1111 1111 1112",
        "订单号 2026112300012345 已发货",
        "GB83WEST12345698765432",
        "110105194912310021",
        "11010519491331002X",
        "2026-11-23 12:45:10",
        "1700000000000",
        "version 1.2.3-4, room 1203, 98.6 %",
        "me @ home, a@b",
        "sk-short",
    ],
)
def test_ordinary_numbers_stay(text: str):
    assert ALL.value(text) == text


def luhn(digits: list[int]) -> str:
    """Add the digit that makes a card number right."""
    total = sum(sum(divmod(2 * digit, 10)) for digit in digits[::-2]) + sum(digits[-2::-2])
    return "".join(map(str, [*digits, -total % 10]))


@given(
    first=st.sampled_from(["2200", "2720", "3", "4", "5", "6"]),
    rest=st.lists(st.integers(0, 9), min_size=11, max_size=14),
    separator=st.sampled_from(["", " ", "-"]),
    around=st.tuples(st.text("ab 是，.", max_size=8), st.text("ab 是，.", max_size=8)),
)
def test_no_digit_of_a_card_number_survives(first: str, rest: list[int], separator: str, around: tuple[str, str]):
    number = luhn([*map(int, first), *rest])
    grouped = separator.join(number[place : place + 4] for place in range(0, len(number), 4))
    assert ALL.value(around[0] + grouped + around[1]) == f"{around[0]}[card]{around[1]}"


@given(st.text("0123456789 -+@.xXDE", max_size=60))
def test_what_was_redacted_for_cards_holds_none(text: str):
    cards = Redaction(actions_of("card=redact"))
    once = cards.value(text)
    assert cards.value(once) == once


def test_texts_are_found_in_json_at_any_depth_and_numbers_too():
    given = {"13812345678": [{"a": "x@y.example"}, 4111111111111111, 7, True, None, 1.5]}
    assert ALL.value(given) == {"[phone]": [{"a": "[email]"}, "[card]", 7, True, None, 1.5]}


def test_a_refusal_names_kinds_and_quotes_nothing():
    counted: list[tuple[Kind, Action, int]] = []
    door = Redaction(actions_of("card=refuse,email=redact"), lambda *what: counted.append(what))
    with pytest.raises(Refused) as refusal:
        door.value("4111111111111111 x@y.example")
    assert "card" in str(refusal.value)
    assert "4111" not in str(refusal.value)
    assert counted == [("card", "refuse", 1)]
    assert door.value("x@y.example, z@y.example") == "[email], [email]"
    assert counted[1:] == [("email", "redact", 2)]


def test_without_actions_nothing_is_looked_for():
    assert Redaction({}).value("4111111111111111") == "4111111111111111"


@each("setting", ["card", "card=hide", "cards=redact", "redact"])
def test_a_setting_that_says_nothing_known_is_refused(setting: str):
    with pytest.raises(ValueError, match="kind=action"):
        actions_of(setting)


def test_what_is_named_later_wins():
    assert actions_of("all=redact, email=keep,card=refuse") == {
        "secret": "redact", "iban": "redact", "id_card": "redact", "card": "refuse", "phone": "redact",
    }  # fmt: skip


PUMPED = [
    "1",
    "1 ",
    "4-",
    "a",
    "a.",
    "@",
    "a@",
    "a@a.",
    "eyJ",
    "eyJaaaaaaaa.",
    "sk-",
    "+1",
    "DE89",
    "DE89 ",
    "-----BEGIN PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----A",
    "://a:",
    "SG.",
    "0 ",
    "020 ",
    "(010)",
    "１",
    "DE89370400440532013000",
    "440524188001010014DE89370400440532013000",
    "4111111111111111x",
]


def seconds(text: str) -> float:
    began = time.process_time()
    ALL.value(text)
    return time.process_time() - began


@each(("pumped", "end"), list(product(PUMPED, ["", "!", "x"])))
def test_time_grows_with_the_length_and_not_with_its_square(pumped: str, end: str):
    short, long = (pumped * (length // len(pumped)) + end for length in (500, 8_000))
    # Sixteen times the text may take 64 times as long and no more: a square would take 256 times.
    most = 64 * max(min(seconds(short) for _ in range(3)), 0.0005)
    assert any(seconds(long) < most for _ in range(2))
