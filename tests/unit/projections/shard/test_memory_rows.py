"""Rows of the shard take little, and give back what was put."""

from __future__ import annotations

from dataclasses import replace
from sys import intern

import orjson
import pytest
from support.examples import remember
from support.given import given

from projections.embedding.stored_vector import vector_bytes
from projections.shard.rows.memories import (
    decision_naming,
    decision_of_row,
    memory_of_row,
    row_of_decision,
    row_of_memory,
)
from projections.state.evolve import events_of
from schemas import codec
from schemas.messages.envelope import Sealed
from schemas.messages.events import MemoryFormed

REMEMBERED = given().when(remember("用户喜欢喝咖啡", "c-1"))


def test_the_row_of_a_decision_has_no_vector_and_all_else():
    [decision] = REMEMBERED.decisions
    [formed] = [event for event in events_of(decision) if isinstance(event, MemoryFormed)]
    vector = vector_bytes([n % 17 - 8 for n in range(512)])
    event = replace(formed, vector=Sealed.clear(vector))
    value = codec.encode(replace(decision, events=[codec.encode(event)]))

    row = row_of_decision(value, [vector])

    assert len(row) < len(value) - 500
    [found] = events_of(decision_of_row(row))
    assert found == replace(event, vector=Sealed.clear(bytes(len(vector))))
    assert replace(decision_of_row(row), events=[]) == replace(decision, events=[])


def test_a_vector_that_two_memories_of_a_decision_have_is_left_out_of_both():
    [decision] = REMEMBERED.decisions
    [formed] = [event for event in events_of(decision) if isinstance(event, MemoryFormed)]
    vector = vector_bytes([n % 17 - 8 for n in range(512)])
    event = codec.encode(replace(formed, vector=Sealed.clear(vector)))
    value = codec.encode(replace(decision, events=[event, event]))

    found = events_of(decision_of_row(row_of_decision(value, [vector, vector])))

    assert list(found) == [replace(formed, vector=Sealed.clear(bytes(len(vector))))] * 2


def test_a_large_decision_is_compressed_and_a_small_one_is_not():
    [decision] = REMEMBERED.decisions
    [formed] = [event for event in events_of(decision) if isinstance(event, MemoryFormed)]
    vector = vector_bytes([n % 17 - 8 for n in range(512)])
    for text, is_compressed in (("short", False), ("long " * 1_000, True)):
        event = replace(formed, content=Sealed.clear(text), vector=Sealed.clear(vector))
        value = codec.encode(replace(decision, events=[codec.encode(event)]))

        row = row_of_decision(value, [vector])

        assert len(row) < (1_000 if is_compressed else len(value) - 500)
        assert (text.encode() in row) is not is_compressed
        assert decision_naming(row, formed.memory_id) == decision_of_row(row)
        [found] = events_of(decision_of_row(row))
        assert found == replace(event, vector=Sealed.clear(bytes(len(vector))))


def test_a_decision_with_many_vectors_keeps_all_else():
    [decision] = REMEMBERED.decisions
    [formed] = [event for event in events_of(decision) if isinstance(event, MemoryFormed)]
    vectors = [vector_bytes([(n + number) % 17 - 8 for n in range(64)]) for number in range(12)]
    events = [codec.encode(replace(formed, vector=Sealed.clear(vector))) for vector in vectors]
    for few in (events[:1], events[:2], events):
        row = row_of_decision(codec.encode(replace(decision, events=few)), vectors[: len(few)])
        found = events_of(decision_of_row(row))
        assert list(found) == [replace(formed, vector=Sealed.clear(bytes(len(vectors[0]))))] * len(few)


def test_bytes_that_stand_in_a_decision_twice_are_no_vector_to_leave_out():
    [decision] = REMEMBERED.decisions
    words = b"a text that is a vector's bytes too, by chance"
    value = codec.encode(replace(decision, events=[words, words]))
    assert decision_of_row(row_of_decision(value, [words])).events == [words, words]


def test_what_is_no_row_of_a_decision_is_refused():
    with pytest.raises(codec.Undecodable):
        decision_of_row(b"of a newer version")


def test_a_row_leaves_out_what_most_say():
    memory = REMEMBERED.only
    assert not orjson.loads(row_of_memory(memory)).keys() & {"superseded_by", "access_count", "metadata", "said_at"}
    assert memory_of_row(row_of_memory(memory)) == memory


def test_what_many_memories_of_a_user_say_is_one_string_in_memory():
    known: dict[str, str] = {}
    said = replace(REMEMBERED.only, agent_id="luna", session_id="a session of this user alone")
    one, other = (memory_of_row(row_of_memory(said), known) for _ in range(2))
    assert one.session_id is other.session_id
    assert one.agent_id is other.agent_id
    assert one.kind is other.kind


def test_what_any_caller_may_say_is_not_kept_as_long_as_the_process():
    """The first releases of Python 3.12 keep for ever what is interned: each session would leave its id."""
    said = replace(REMEMBERED.only, session_id="a session of this user alone")
    assert memory_of_row(row_of_memory(said)).session_id is not intern("a session of this user alone")


def test_a_number_comes_back_as_the_kind_that_it_was():
    odd = replace(REMEMBERED.only, strength=1, access_count=3)
    kept = memory_of_row(row_of_memory(odd))
    assert (kept.strength, type(kept.strength)) == (1, int)


def test_a_row_that_lacks_what_every_memory_has_is_damage():
    row = orjson.loads(row_of_memory(REMEMBERED.only))
    del row["status"]
    with pytest.raises((KeyError, TypeError)):
        memory_of_row(orjson.dumps(row))
