"""Rows of the shard take little, and give back what was put."""

from __future__ import annotations

from dataclasses import replace

import orjson
import pytest
from support.examples import remember
from support.given import given

from projections.embedding.stored_vector import vector_bytes
from projections.shard.rows.memories import decision_of_row, memory_of_row, row_of_decision, row_of_memory
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


def test_a_number_comes_back_as_the_kind_that_it_was():
    odd = replace(REMEMBERED.only, strength=1, access_count=3)
    kept = memory_of_row(row_of_memory(odd))
    assert (kept.strength, type(kept.strength)) == (1, int)


def test_a_row_that_lacks_what_every_memory_has_is_damage():
    row = orjson.loads(row_of_memory(REMEMBERED.only))
    del row["status"]
    with pytest.raises((KeyError, TypeError)):
        memory_of_row(orjson.dumps(row))
