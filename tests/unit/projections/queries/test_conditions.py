"""The filter language: what each operator accepts, and what is refused with a sentence that says where."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from support.examples import remember
from support.given import given
from support.tables import each

from projections.queries.conditions.fields import Subject
from projections.queries.conditions.parser import BadCondition, condition_of

NOW = datetime(2026, 3, 1, tzinfo=UTC)
TEA: dict[str, Any] = {
    "content": "likes green Tea",
    "category": "preference",
    "importance": 0.5,
    "key_dialogue": ("Hello", "bye"),
    "occurred_at": datetime(2026, 1, 5, tzinfo=UTC),
    "metadata": '{"tags":["a","b"],"n":1,"yes":true,"deep":{"er":"x"},"app_id":"shop"}',
}


MEMORY = replace(given(remember("likes green Tea", "tea")).only, **TEA)


def accepts(filters: dict[str, Any]) -> bool:
    return condition_of(filters).accepts(Subject(MEMORY, "u1", NOW))


@each(
    ("filters", "expected"),
    [
        ({}, True),
        ({"category": "preference"}, True),
        ({"category": {"ne": "preference"}}, False),
        ({"category": {"in": ["fact", "preference"]}}, True),
        ({"category": {"nin": ["fact", "preference"]}}, False),
        ({"importance": {"gt": 0.5}}, False),
        ({"importance": {"gte": 0.5, "lt": 1}}, True),
        ({"occurred_at": {"lte": "2026-01-05T01:00:00+01:00"}}, True),
        ({"occurred_at": {"gt": "2026-01-05"}}, False),
        ({"since": "2026-01-05", "until": "2026-01-05", "min_importance": 0.5}, True),
        ({"content": {"contains": "tea"}}, False),
        ({"content": {"icontains": "tEA"}}, True),
        ({"key_dialogue": {"contains": "Hell"}}, False),
        ({"key_dialogue": {"icontains": "hello"}}, True),
        ({"key_dialogue": ["Hello", "bye"]}, True),
        ({"expires_at": {"exists": False}}, True),
        ({"expires_at": None}, True),
        ({"expires_at": {"gt": "2026-01-05"}}, False),
        ({"user_id": "u1", "status": "active"}, True),
        ({"metadata.n": 1.0}, True),
        ({"metadata.n": True}, False),
        ({"metadata.yes": 1}, False),
        ({"metadata.yes": {"gte": 0}}, False),
        ({"metadata.tags": {"contains": "b"}}, True),
        ({"metadata.deep.er": "x"}, True),
        ({"metadata.deep.er.est": {"exists": True}}, False),
        ({"metadata.n": {"gt": "0"}}, False),
        ({"metadata.missing": {"ne": "x"}}, True),
        ({"app_id": "shop"}, True),
        ({"AND": [{"category": "preference"}, {"importance": {"lt": 0.5}}]}, False),
        ({"OR": [{"category": "fact"}, {"importance": 0.5}]}, True),
        ({"NOT": {"category": "fact"}}, True),
        ({"NOT": [{"category": "fact"}, {"importance": 0.5}]}, False),
        ({"NOT": {"OR": [{"category": "fact"}, {"category": "habit"}]}, "importance": 0.5}, True),
    ],
)
def test_a_filter_accepts_what_it_says(filters: dict[str, Any], expected: bool):  # noqa: FBT001
    assert accepts(filters) is expected


def nested(depth: int) -> dict[str, Any]:
    return {"NOT": nested(depth - 1)} if depth else {"category": "fact"}


def listed(depth: int) -> list[Any]:
    return [listed(depth - 1)] if depth else []


@each(
    ("filters", "message"),
    [
        ({"colour": "red"}, "at colour: is no field of a memory"),
        ({"metadata": {"eq": {}}}, "at metadata: is no field of a memory"),
        ({"metadata.": 1}, "at metadata.: is no field of a memory"),
        ({"OR": [{"category": {"like": "x"}}]}, r"at OR\[0\].category.like: is no operator"),
        ({"category": {}}, "at category: has no operator"),
        ({"AND": []}, "at AND: must be a list with at least one object"),
        ({"AND": ["x"]}, r"at AND\[0\]: must be an object"),
        ({"importance": "high"}, "at importance: must be a number"),
        ({"importance": True}, "at importance: must be a number"),
        ({"importance": {"contains": 1}}, "which contains nothing"),
        ({"content": {"contains": 1}}, "at content.contains: must be text"),
        ({"key_dialogue": {"gt": "x"}}, "which has no order"),
        ({"metadata.n": {"gt": None}}, "must be a number or text"),
        ({"occurred_at": "yesterday"}, "at occurred_at: must be an RFC 3339 time"),
        ({"category": {"in": "fact"}}, "at category.in: must be a list"),
        ({"category": {"in": [1]}}, r"at category.in\[0\]: must be text"),
        ({"value": {"exists": 1}}, "must be true or false"),
        ({"metadata.tags": {"icontains": listed(40)}}, "at metadata.tags.icontains: is nested too deep"),
        (nested(9), "is nested too deep: at most 8"),
        ({"OR": [{"category": "fact"}] * 101}, "at most 100"),
        ({"AND": [{"OR": [{"category": "fact"}] * 60}] * 2}, "is one comparison too many: at most 100"),
        ({"memory_id": {"in": ["x"] * 1_200}}, "has too many values"),
        ({"OR": [{f"metadata.k{n}": 1} for n in range(17)]}, "one field of metadata too many: at most 16"),
        ({"metadata.a": {"in": [[n] for n in range(21)]}}, "too many lists and objects: at most 20"),
        ({"content": {"contains": "x" * 70_000}}, "is too long"),
    ],
)
def test_what_is_not_in_the_language_is_refused_with_its_place(filters: dict[str, Any], message: str):
    with pytest.raises(BadCondition, match=message):
        condition_of(filters)


def test_filters_as_deep_and_as_wide_as_they_may_be_are_read():
    assert accepts(nested(8)) is False
    assert accepts({"OR": [{"category": "fact"}] * 99 + [{"category": "preference"}]})
