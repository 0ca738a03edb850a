"""Columns: they meet a condition as a look at each memory does, also after memories came, changed and went."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import orjson
from immutables import Map
from support.examples import remember
from support.given import given
from support.tables import each

from projections.queries.conditions import columns as module
from projections.queries.conditions import fields, operators
from projections.queries.conditions.columns import Columns, ColumnsByUser
from projections.queries.conditions.fields import FieldKind, Subject
from projections.queries.conditions.parser import condition_of
from projections.state.memory import ACTIVE, FORGOTTEN, Memory, UserState
from schemas.identity import Owner

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pytest

NOW: Final = datetime(2026, 3, 1, tzinfo=UTC)
ONE: Final = given(remember("likes green tea", "tea")).only
VALUES: Final[tuple[Any, ...]] = (None, 1, 1.0, True, "1", "tea", ["a", 1], ["a", 1.0], {"x": 1}, [], False, 0, 2.5)
FILTERS: Final[tuple[dict[str, Any], ...]] = (
    {},
    *({"metadata.a": {operator: value}} for operator in ("eq", "ne") for value in VALUES),
    *({"metadata.a": {operator: [1, "tea", None]}} for operator in ("in", "nin")),
    *({"metadata.a": {operator: [["a", 1], True]}} for operator in ("in", "nin")),
    *({"metadata.a": {operator: 1}} for operator in ("gt", "gte", "lt", "lte")),
    *({"metadata.a": {operator: "a"}} for operator in ("contains", "icontains")),
    {"metadata.a": {"exists": True}},
    {"metadata.a.x": 1},
    {"importance": {"gte": 0.5, "lt": 0.9}},
    {"importance": {"in": [0, 1, 0.5]}},
    {"occurred_at": {"gt": "2026-02-10"}},
    {"occurred_at": "2026-02-03T00:00:00Z"},
    {"expires_at": {"lt": "2026-03-05"}},
    {"expires_at": None},
    {"content": {"contains": "Tea"}},
    {"content": {"icontains": "tea"}},
    {"emotion": {"contains": "o"}},
    {"key_dialogue": {"contains": "hello"}},
    {"status": "expired"},
    {"strength": {"gt": 0.3}},
    {"strength": {"gte": 0.1, "lte": 0.4}},
    {"strength": {"lt": 0.2}},
    {"strength": {"ne": 0.1}},
    {"user_id": "u1"},
    {"OR": [{"importance": {"gt": 0.7}}, {"NOT": [{"metadata.a": "tea"}, {"category": "fact"}]}]},
    {"AND": [{"category": {"ne": "fact"}}, {"NOT": {"importance": {"lt": 0.2}}}]},
)


def memory(number: int, chance: random.Random) -> Memory:
    return replace(
        ONE,
        memory_id=f"m{number}",
        content=chance.choice(("likes Tea", "likes tea", "walks")),
        category=chance.choice(("fact", "habit")),
        importance=chance.choice((0.0, 0.2, 0.5, 0.75, 1.0)),
        occurred_at=datetime(2026, 2, chance.randint(1, 20), tzinfo=UTC),
        expires_at=chance.choice((None, NOW - timedelta(days=1), NOW + timedelta(days=2))),
        formed_at=NOW - timedelta(days=chance.randint(-2, 90), seconds=chance.random()),
        restored_at=chance.choice((None, None, NOW - timedelta(days=chance.randint(0, 60)))),
        initial_strength=chance.choice((1.0, 0.7, 0.35)),
        recall_count=chance.randint(0, 3),
        emotion=chance.choice((None, "joy", "sad")),
        key_dialogue=chance.choice(((), ("hello", "bye"))),
        status=chance.choice((ACTIVE, ACTIVE, ACTIVE, FORGOTTEN)),
        metadata=orjson.dumps({"a": chance.choice(VALUES)}).decode(),
        version=chance.randint(1, 1_000_000),
    )


def looked_through(state: UserState, filters: dict[str, Any], at: datetime) -> set[str]:
    condition = condition_of(filters)
    return {
        one.memory_id
        for one in state.memories.values()
        if one.status == ACTIVE and condition.accepts(Subject(one, state.owner.user_id, at))
    }


def active(state: UserState) -> set[str]:
    return {one.memory_id for one in state.memories.values() if one.status == ACTIVE}


def assert_meets(columns: Columns, state: UserState, at: datetime) -> None:
    for filters in FILTERS:
        met = columns.meeting(condition_of(filters), at)
        assert (active(state) if met is None else met) == looked_through(state, filters, at), filters


@each("seed", range(5))
def test_they_meet_a_condition_as_a_look_at_each_does_whatever_has_changed(seed: int):
    chance = random.Random(seed)  # noqa: S311 - test data
    state = UserState(owner=Owner("t", "u1"), memories=Map({f"m{n}": memory(n, chance) for n in range(60)}))
    known = ColumnsByUser()
    for step in range(12):
        assert_meets(known.of(state), state, NOW + timedelta(days=step))
        memories, most = state.memories, len(state.memories)
        for _ in range(chance.choice((0, 1, 3, 30))):
            number = chance.randint(0, most + 1)
            memories = memories.set(f"m{number}", memory(number, chance))
        if chance.random() < 0.3:
            memories = memories.delete(next(iter(memories)))
        state = replace(state, memories=memories)


def test_a_few_changes_are_mended_and_what_did_not_change_is_not_read_again(monkeypatch: pytest.MonkeyPatch):
    chance = random.Random(1)  # noqa: S311 - test data
    state = UserState(owner=Owner("t", "u1"), memories=Map({f"m{n}": memory(n, chance) for n in range(100)}))
    columns, condition = Columns(state), condition_of({"metadata.a": "tea"})
    columns.meeting(condition, NOW)
    read: list[str] = []

    def subject(one: Memory, user_id: str, at: datetime) -> Subject:
        read.append(one.memory_id)
        return Subject(one, user_id, at)

    monkeypatch.setattr(module, "Subject", subject)
    changed = replace(state, memories=state.memories.set("m7", memory(7, chance)).set("m100", memory(100, chance)))
    assert columns.follow(changed)
    columns.meeting(condition, NOW)
    assert sorted(read) == ["m100", "m7"]
    assert not columns.follow(replace(state, memories=state.memories.delete("m1")))


def test_users_asked_about_longest_ago_make_room():
    chance = random.Random(2)  # noqa: S311 - test data
    known = ColumnsByUser(most_memories=25)
    states = [
        UserState(owner=Owner("t", name), memories=Map({f"m{n}": memory(n, chance) for n in range(10)}))
        for name in ("a", "b", "c")
    ]
    first = known.of(states[0])
    assert known.of(states[0]) is first
    for state in states:
        known.of(state)
    assert known.of(states[0]) is not first


def test_fields_asked_for_longest_ago_are_dropped(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "MOST_COLUMNS", 2)
    state = UserState(owner=Owner("t", "u1"), memories=Map({"m1": replace(ONE, metadata='{"a":1}')}))
    columns = Columns(state)
    for name in ("a", "b", "c", "a"):
        met = columns.meeting(condition_of({f"metadata.{name}": 1}), NOW)
        assert met == (None if name == "a" else frozenset())


def test_what_takes_long_is_read_once_of_each_memory_however_often_it_is_compared(monkeypatch: pytest.MonkeyPatch):
    chance = random.Random(3)  # noqa: S311 - test data
    state = UserState(owner=Owner("t", "u1"), memories=Map({f"m{n}": memory(n, chance) for n in range(10)}))
    often = condition_of(
        {"OR": [{"strength": n / 1_000} for n in range(20)] + [{f"metadata.k{n}": n} for n in range(16)]}
    )
    read: list[str] = []
    strength_at, loads = Memory.strength_at, orjson.loads

    def strength(self: Memory, at: datetime) -> float:
        read.append("strength")
        return strength_at(self, at)

    def metadata(text: str) -> Any:
        read.append("metadata")
        return loads(text)

    monkeypatch.setattr(Memory, "strength_at", strength)
    monkeypatch.setattr(orjson, "loads", metadata)
    Columns(state).meeting(often, NOW)
    assert sorted(read) == ["metadata"] * 10 + ["strength"] * 10
    read.clear()
    for one in state.memories.values():
        often.accepts(Subject(one, "u1", NOW))
    assert sorted(read) == ["metadata"] * 10 + ["strength"] * 10


def test_a_comparison_is_made_once_with_each_value_and_those_asked_for_longest_ago_are_dropped(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(module, "MOST_COMPARED", 2)
    compared: list[tuple[str, Any]] = []

    def each(operator: str, kind: FieldKind, values: Sequence[Any], nothing: int | None, wanted: Any) -> list[bool]:
        compared.extend((wanted, value) for value in values)
        return operators.each(operator, kind, values, nothing, wanted)

    monkeypatch.setattr(module, "each", each)
    state = UserState(owner=Owner("t", "u1"), memories=Map({"m1": replace(ONE, memory_id="m1", emotion="joy")}))
    columns = Columns(state)

    def ask(letter: str) -> frozenset[str] | None:
        return columns.meeting(condition_of({"emotion": {"contains": letter}}), NOW)

    assert ask("j") is None
    state = replace(state, memories=state.memories.set("m2", replace(ONE, memory_id="m2", emotion=None)))
    monkeypatch.setattr(module, "FEW", 1)
    assert columns.follow(state)
    assert ask("j") == frozenset({"m1"})
    assert compared == [("j", "joy"), ("j", None)]
    for letter in ("a", "b", "j"):
        ask(letter)
    assert compared.count(("j", "joy")) == 2


def test_texts_are_folded_once_of_each_memory_however_often_they_are_looked_into(monkeypatch: pytest.MonkeyPatch):
    chance = random.Random(4)  # noqa: S311 - test data
    state = UserState(owner=Owner("t", "u1"), memories=Map({f"m{n}": memory(n, chance) for n in range(10)}))
    often = condition_of({"OR": [{"content": {"icontains": f"TEA {n}"}} for n in range(50)]})
    read: list[object] = []
    fold = fields.folded

    def folded(value: object) -> object:
        read.append(value)
        return fold(value)

    monkeypatch.setattr(fields, "folded", folded)
    assert Columns(state).meeting(often, NOW) == frozenset()
    assert len(read) == 10
    assert not any(often.accepts(Subject(one, "u1", NOW)) for one in state.memories.values())
    assert len(read) == 20
