"""A tenant's own patterns are linear by what they are: one that passes the check takes no long time over any text."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.pumping import LAST, pumped
from support.tables import each

from schemas.own_patterns import MAX_PATTERN_CHARACTERS, MAX_STEPS, OwnPattern, UnfitPattern, compiled
from schemas.policy import Policy
from schemas.redaction import Redaction, Refused

if TYPE_CHECKING:
    import re

FIT = {
    r"EMP-\d{6}": "EMP-123456",
    r"\b[A-Z]{2,5}-\d{4,10}\b": "AB-12345",
    r"工号[:：]?\s?\d{5,8}": "工号：12345",
    r"(?i)case (?:no|number) \d{3}": "Case Number 123",
    r"(?<!\d)\d{2}(?:/\d{3}){2}(?!\d)": "12/345/678",
    r"key-[a-z0-9]{32,64}": "key-" + "a1" * 20,
}
UNFIT = {
    r"\d+": "without an end",
    r"x*y": "without an end",
    r"a{2,}": "without an end",
    r"(a+)+b": "without an end",
    r"(a{0,30}){0,30}b": "steps",
    r"(a|a){1,20}b": "steps",
    r"(?:a?){30}a{30}": "steps",
    r"a{0,9}a{0,9}a{0,9}b": "steps",
    r"(a)\1": "refers back",
    r"(?P<n>a)(?P=n)": "refers back",
    r"(a)?(?(1)b|c)": "refers back",
    r"a{1,3}+": "possessive",
    r"(?>ab)": "possessive",
    r"(": "no regular expression",
    r"[[a]": "no regular expression",
    r"(?L)a": "no regular expression",
    r"(?<=a{1,2})b": "no regular expression",
    r"x?": "at least one",
    r"(?=a)": "at least one",
    "": "at least one",
    "(?:abcdefghijklmnopqrst){11}": "steps",
    "a" * (MAX_PATTERN_CHARACTERS + 1): "characters",
}


@each("pattern", FIT)
def test_a_pattern_with_an_end_is_used_and_takes_away_what_it_finds(pattern: str):
    door = Redaction({}, patterns=[OwnPattern("mine", pattern, "redact")])
    assert door.value(f"it is {FIT[pattern]}, 好的") == "it is [mine], 好的"
    with pytest.raises(Refused, match="mine"):
        Redaction({}, patterns=[OwnPattern("mine", pattern, "refuse")]).value(FIT[pattern])


@each("pattern", UNFIT)
def test_one_that_may_take_long_or_finds_nothing_is_refused_and_the_reason_says_what_to_change(pattern: str):
    with pytest.raises(UnfitPattern, match=UNFIT[pattern]):
        compiled(pattern)


def test_what_own_patterns_find_is_counted_without_their_names():
    counted: list[tuple[str, str, int]] = []
    door = Redaction({}, lambda *what: counted.append(what), [OwnPattern("staff", r"EMP-\d{6}", "redact")])
    assert door.value(["EMP-123456", {"EMP-000000": "EMP-12345"}]) == ["[staff]", {"[staff]": "EMP-12345"}]
    assert counted == [("own", "redact", 2)]


def test_a_policy_in_the_log_is_read_with_its_patterns_and_refused_with_one_that_may_take_long():
    policy = Policy(redaction={"card": "refuse"}, redaction_patterns=(OwnPattern("staff", r"EMP-\d{6}", "redact"),))
    assert Policy.decoded(policy.encoded()) == policy
    assert policy.policy_id != Policy(redaction={"card": "refuse"}).policy_id
    with pytest.raises(UnfitPattern):
        Policy.decoded(policy.encoded().replace(rb"EMP-\\d{6}", b"(a|a){1,20}b"))


ATOMS = st.sampled_from(["a", "b", r"\d", "[ab]", r"\w", ".", "(?:ab?)", "(?:a|ab)", "[^a]", "我"])
REPEATS = st.sampled_from(["", "", "?", "{2}", "{1,3}", "{0,9}", "{2,5}?", "{5,30}"])
PIECES = st.tuples(ATOMS, REPEATS).map("".join)
PATTERNS = st.lists(PIECES, min_size=1, max_size=6).map("".join)
GROUPED = st.tuples(PATTERNS, REPEATS, PATTERNS).map(lambda parts: f"(?:{parts[0]}){parts[1]}{parts[2]}")


def seconds(pattern: re.Pattern[str], text: str) -> float:
    began = time.process_time()
    for _ in pattern.finditer(text):
        pass
    return time.process_time() - began


@settings(max_examples=50, deadline=None)
@given(pattern=PATTERNS | GROUPED, seed=st.integers(0, 9))
def test_whatever_passes_the_check_is_linear_when_it_is_pumped(pattern: str, seed: int):
    try:
        made = compiled(pattern)
    except UnfitPattern:
        return
    texts = list(pumped(made, 16_384, random.Random(seed)))  # noqa: S311 - texts to try
    texts += [letter * 16_384 + LAST for letter in "ab7我"]
    # A step of `re` takes some ten nanoseconds; ten times as many still tell it from a square.
    assert all(seconds(made, text) < 16_384 * MAX_STEPS * 1e-7 for text in texts)
