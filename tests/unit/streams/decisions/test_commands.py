"""What remember makes of commands: remember, revise, recall."""

from __future__ import annotations

from dataclasses import replace

import orjson
import pytest
from support.examples import MONDAY, XIAOMING, forget, later, recalled, remember, revise, said, share
from support.given import Given, given
from support.tables import each

from schemas.identity import commanded_memory_id
from schemas.messages.envelope import Sealed
from schemas.text import content_hash

COFFEE, TEA = "用户喜欢喝咖啡", "用户喜欢喝绿茶"
KNOWN = given(remember(COFFEE, "c-1"))
ID = KNOWN.only.memory_id


def test_a_fact_is_remembered_as_it_is_under_the_commands_id():
    memory = KNOWN.then("formed").only
    assert memory.memory_id == commanded_memory_id(XIAOMING, "c-1")
    assert (memory.content, memory.source_type, memory.source_ids, memory.pieces) == (COFFEE, "manual", (), ())
    assert (memory.memory_type, memory.category, memory.importance, memory.expires_at) == (
        "long_term",
        "fact",
        0.5,
        None,
    )


def test_an_exact_duplicate_is_an_access_of_the_known_one():
    memory = KNOWN.when(remember(COFFEE + "。", "c-2", later(hours=1))).then("reinforced").only
    assert (memory.access_count, memory.recall_count, memory.last_accessed_at) == (1, 0, later(hours=1))


def test_a_near_duplicate_is_remembered_as_it_is():
    assert len(KNOWN.when(remember("用户很喜欢喝咖啡", "c-2")).then("formed").memories) == 2


def test_a_short_term_fact_expires_after_48_hours():
    assert given().when(remember(COFFEE, "c-1", memory_type="short_term")).only.expires_at == later(hours=48)


def test_revising_changes_what_is_given_and_nothing_else():
    before = KNOWN.only
    after = KNOWN.when(revise(ID, "c-2", later(hours=1), content=TEA, importance=0.98765)).then("revised").only
    assert (after.content, after.content_hash, after.importance) == (TEA, content_hash(TEA), 0.9877)
    assert (after.category, after.memory_type, after.value) == (before.category, before.memory_type, before.value)
    assert (after.version, after.text_version, after.formed_at) == (2, 2, before.formed_at)


def test_members_of_metadata_are_set_and_those_that_are_null_are_taken_away():
    known = given(remember(COFFEE, "c-1", metadata=Sealed.clear(b'{"kept":1,"set":1,"gone":1}')))
    patch = Sealed.clear(b'{"set":{"a":[2]},"gone":null,"never":null,"new":3}')
    after = known.when(revise(ID, "c-2", later(hours=1), metadata=patch)).then("revised").only
    assert orjson.loads(after.metadata) == {"kept": 1, "set": {"a": [2]}, "new": 3}
    assert (after.content, after.expires_at, after.version) == (COFFEE, None, 2)


def test_metadata_that_would_be_too_long_is_refused():
    known = given(remember(COFFEE, "c-1", metadata=Sealed.clear(orjson.dumps({"a": "x" * 40_000}))))
    patch = Sealed.clear(orjson.dumps({"b": "x" * 40_000}))
    refused = known.when(revise(ID, "c-2", metadata=patch)).then("refused").only
    assert refused == known.only


def test_an_expiry_is_set_by_itself_taken_away_and_kept_where_nothing_is_said_of_it():
    known = given(remember(COFFEE, "c-1", expires_at=later(days=3)))
    assert known.only.expires_at == later(days=3)
    moved = known.when(revise(ID, "c-2", expires_at=later(days=9), sets_expiry=True)).then("revised")
    assert moved.only.expires_at == later(days=9)
    assert moved.when(revise(ID, "c-3", importance=0.9)).only.expires_at == later(days=9)
    assert moved.when(revise(ID, "c-3", sets_expiry=True)).then("revised").only.expires_at is None
    both = revise(ID, "c-3", memory_type="short_term", expires_at=later(days=1), sets_expiry=True)
    assert (moved.when(both).only.memory_type, moved.when(both).only.expires_at) == ("short_term", later(days=1))


def test_a_revision_of_metadata_alone_shares_nothing():
    known = given(remember(COFFEE, "c-1"))
    patch = replace(revise(ID, "c-2", metadata=Sealed.clear(b'{"a":1}')), envelope=share(ID, "mia", "c-2").envelope)
    assert known.when(patch).only.shared_with == ()


def test_a_revised_text_is_what_is_compared_from_now_on():
    revised = KNOWN.when(revise(ID, "c-2", content=TEA))
    revised.when(said(TEA, "t-1", later(hours=1))).then("reinforced")
    revised.when(said(COFFEE, "t-1", later(hours=1))).then("formed")


@pytest.mark.parametrize(("expected", "action"), [(1, "revised"), (2, "refused"), (0, "refused")])
def test_a_revision_that_expects_another_version_is_refused(expected: int, action: str):
    KNOWN.when(revise(ID, "c-2", expected_version=expected, importance=0.9)).then(action)


def test_a_revision_to_the_text_of_another_active_memory_is_refused():
    both = KNOWN.when(remember(TEA, "c-2"))
    assert both.when(revise(ID, "c-3", content=TEA)).then("refused").events == []
    both.when(forget(both.of(TEA).memory_id, "c-3")).when(revise(ID, "c-4", content=TEA)).then("revised")


def test_a_revision_to_its_own_text_is_none_of_anothers():
    KNOWN.when(revise(ID, "c-2", content=COFFEE + "。")).then("revised")


def test_becoming_short_term_sets_an_expiry_and_becoming_long_term_takes_it_away():
    short = KNOWN.when(revise(ID, "c-2", later(hours=1), memory_type="short_term"))
    assert short.only.expires_at == later(hours=49)
    long = short.when(revise(ID, "c-3", later(hours=2), memory_type="long_term"))
    assert (long.only.memory_type, long.only.expires_at) == ("long_term", None)


@pytest.mark.parametrize("memory_type", ["working", "long_term", "short_term"])
def test_another_memory_type_leaves_an_expiry_that_was_set(memory_type: str):
    known = given(remember(COFFEE, "c-1", expires_at=later(days=3)))
    revised = known.when(revise(ID, "c-2", later(hours=1), memory_type=memory_type)).then("revised").only
    assert (revised.memory_type, revised.expires_at) == (memory_type, later(days=3))


def test_only_active_memories_can_be_revised():
    given().when(revise("no-such", "c-1", importance=0.1)).then("refused")
    KNOWN.when(forget(ID, "c-2")).when(revise(ID, "c-3", importance=0.1)).then("refused")
    short = given(remember(COFFEE, "c-1", memory_type="short_term"))
    short.when(revise(ID, "c-2", later(days=3), importance=0.1)).then("refused")


def test_a_recall_counts_as_access_and_as_recall():
    memory = KNOWN.when(recalled(ID, command="r-1", at=later(hours=1))).then("reinforced").only
    assert (memory.access_count, memory.recall_count, memory.last_accessed_at) == (1, 1, later(hours=1))
    assert (memory.last_recalled_at, memory.version, memory.text_version) == (later(hours=1), 2, 1)


def recalled_at(*seconds: float) -> Given:
    state = KNOWN
    for number, second in enumerate(seconds):
        state = state.when(recalled(ID, command=f"r-{number}", at=later(seconds=second)))
    return state


@each(
    ("seconds", "count"),
    [((0, 59.999), 1), ((0, 60), 2), ((0, 30, 60), 2), ((60, 0), 2), ((60, 0, 90), 2), ((30, 0), 1)],
)
def test_recalls_count_at_most_once_a_minute_of_effective_time(seconds: tuple[float, ...], count: int):
    memory = recalled_at(*seconds).only
    assert (memory.recall_count, memory.access_count) == (count, count)


def test_a_recall_names_a_memory_twice_and_counts_it_once():
    assert KNOWN.when(recalled(ID, ID, command="r-1")).then("reinforced").only.recall_count == 1


def test_what_is_not_shown_any_more_is_not_recalled():
    KNOWN.when(forget(ID, "c-2")).when(recalled(ID, "no-such", command="r-1")).then("nothing", "nothing")


def test_recalls_do_not_make_a_value_newer():
    city = said("用户住在北京", "t-1", attribute="city", value="北京")
    known = given(city)
    known = known.when(recalled(known.only.memory_id, command="r-1", at=later(days=5)))
    known.when(said("用户住在上海", "t-2", later(days=1), attribute="city", value="上海")).then("formed", "superseded")


def test_more_recalls_than_a_decision_holds_come_in_parts():
    known = given(*(remember(f"储物柜{n}", f"c-{n}", MONDAY) for n in range(1001)))
    ids = [m.memory_id for m in known.memories]
    after = known.when(recalled(*ids, command="r-1", at=later(hours=1)))
    assert [(d.part, d.last_part, len(d.events)) for d in after.decisions] == [(1, False, 1000), (2, True, 1)]
    assert {m.recall_count for m in after.memories} == {1}
