"""Policies: what they forbid, their ids, and how they are read."""

from __future__ import annotations

import orjson
import pytest
from support.tables import each

from schemas.policy import Policy


def forbids(policy: Policy, content: str, category: str = "fact", attribute: str | None = None) -> bool:
    return policy.forbids(content, category=category, attribute=attribute, value=None) is not None


@each(
    ("phrase", "text", "is_forbidden"),
    [
        ("art", "User went to a party", False),
        ("art", "User likes ART.", True),
        ("art", "The party was about art", True),
        ("my  salary", "This is My Salary", True),
        ("工资", "用户的工资涨了", True),
        ("c++", "User writes C++ at work", True),
        ("ＡＢＣ", "User watches abc", True),
    ],
)
def test_a_phrase_forbids_what_has_it_in_it_as_words(phrase: str, text: str, is_forbidden: bool):  # noqa: FBT001
    assert forbids(Policy(never=(phrase,)), text) == is_forbidden


def test_a_value_a_category_or_an_attribute_is_forbidden_too():
    policy = Policy(never=("mango",), never_categories=("finance",), never_attributes=("city",))
    assert policy.forbids("It is that fruit", category="fact", attribute="allergies", value="Mango")
    assert forbids(policy, "User has a loan", "finance")
    assert forbids(policy, "User lives in Oslo", attribute="city")
    assert not forbids(policy, "User has a cat")


def test_an_id_follows_from_what_is_said():
    policy = Policy(instructions="Remember birthdays.", never=("salary",))
    assert Policy.decoded(policy.encoded()) == policy
    assert Policy.decoded(policy.encoded()).policy_id == policy.policy_id
    later = orjson.dumps(orjson.loads(policy.encoded()) | {"added_later": 1})
    assert Policy.decoded(later).policy_id == policy.policy_id
    assert policy.policy_id != Policy(instructions="Remember birthdays.").policy_id


def test_only_the_policy_that_says_nothing_is_the_default():
    assert Policy().is_default
    assert Policy.decoded(b"{}").is_default
    assert not Policy(tokens_per_user_day=0).is_default


@each("data", [b"[]", b"1", b"{", b'{"never": 1}'])
def test_what_is_no_policy_is_refused(data: bytes):
    with pytest.raises((ValueError, TypeError)):
        Policy.decoded(data)
