"""Searching what follows: nobody is answered from an index that has not been told of the user's last change."""

from __future__ import annotations

import asyncio

import pytest
from contract.index_examples import CAT, COFFEE, query
from support.fallible_index import OWNER, FallibleIndex, Seconds, following_of, split

from projections.index.protocol import IndexUnavailable
from projections.index.sync import TOLD_AT_ONCE, IndexSync
from projections.shard.errors import ShardUnavailable
from schemas.identity import Owner


@pytest.fixture
def index() -> FallibleIndex:
    return FallibleIndex()


@pytest.fixture
def following(index: FallibleIndex) -> IndexSync:
    return following_of(index, Seconds())


async def test_a_search_waits_for_what_is_being_told(index: FallibleIndex, following: IndexSync):
    index.goes_on.clear()
    following.note(OWNER, [COFFEE.memory_id])
    telling = asyncio.create_task(following.tell())
    await index.going.wait()
    searching = asyncio.create_task(following.search(OWNER, query("coffee")))
    await asyncio.sleep(0)
    assert index.told == []
    index.goes_on.set()
    await asyncio.gather(telling, searching)
    assert index.told == [[COFFEE.memory_id], "searched"]


async def test_a_search_goes_before_what_the_index_is_to_be_told_of_others(index: FallibleIndex, following: IndexSync):
    a_call_full = [CAT.memory_id, *(f"gone {number}" for number in range(TOLD_AT_ONCE))]
    index.goes_on.clear()
    for number in range(3):
        following.note(Owner("default", f"other {number}"), a_call_full)
    following.note(OWNER, [COFFEE.memory_id])
    telling = asyncio.create_task(following.tell())
    await index.going.wait()
    searching = asyncio.create_task(following.search(OWNER, query("coffee")))
    await asyncio.sleep(0)
    index.goes_on.set()
    await asyncio.gather(telling, searching)
    assert index.told.index([COFFEE.memory_id]) == 1, "the one being told when it was asked, then this user"
    assert index.told.count([CAT.memory_id]) == 3
    assert "searched" in index.told


async def test_a_search_alone_leaves_what_others_wait_for_to_be_told_later(index: FallibleIndex, following: IndexSync):
    following.note(Owner("default", "other"), [CAT.memory_id])
    following.note(OWNER, [COFFEE.memory_id])
    await following.search(OWNER, query("coffee"))
    assert index.told == [[COFFEE.memory_id], "searched"]
    await following.tell()
    assert index.told[2:] == [[CAT.memory_id]]


class HeldShard:
    """Has folded memories of one user; keeps what an index is said to hold."""

    ledger_topic = "a ledger"

    def __init__(self):
        self.ledger, self.kept = self, {}

    def offset(self, _topic):
        return 7

    def indexed(self, index):
        return self.kept.get(index, 0)

    def memories_since(self, offset):
        return {OWNER: [COFFEE.memory_id, CAT.memory_id]} if offset < 7 else {}


@pytest.fixture
def shard():
    return HeldShard()


@pytest.fixture
def holding(index, shard):
    return IndexSync(index, split, lambda _: [], lambda: (shard,), lambda _: True)


async def test_an_index_that_holds_something_else_than_before_is_told_of_everything(index, holding, shard):
    shard.kept["the fallible one"] = 7
    for _ in range(2):
        await holding.tell()
    assert index.told == []
    index.holds = "an empty one"
    for _ in range(2):
        await holding.tell()
    assert index.told == [[COFFEE.memory_id, CAT.memory_id]]


async def test_a_search_does_not_answer_from_an_index_that_was_emptied_under_it(index, holding, shard):
    shard.kept["the fallible one"] = 7
    await holding.tell()
    searches = []

    async def emptied(asked):
        searches.append(asked)
        index.holds = "an empty one"

    index.search = emptied
    await holding.search(OWNER, query("coffee"))
    assert index.told == [[COFFEE.memory_id, CAT.memory_id]]
    assert len(searches) == 2


async def test_a_shard_that_is_held_before_the_index_is_reached_is_told_of_when_it_is(index, holding, shard):
    index.is_down = True
    holding.note_missed(shard)
    with pytest.raises(IndexUnavailable):
        await holding.tell()
    index.is_down = False
    await holding.tell()
    assert index.told == [[COFFEE.memory_id, CAT.memory_id]]


async def test_who_writes_does_not_wait_for_all_that_another_index_is_to_be_told(index, holding, shard):
    shard.memories_since = lambda _: {OWNER: [COFFEE.memory_id, *map(str, range(TOLD_AT_ONCE)), CAT.memory_id]}
    await holding.tell_if_it_answers()
    await holding.tell_if_it_answers()
    assert index.told == [[COFFEE.memory_id]]
    await holding.tell()
    assert index.told == [[COFFEE.memory_id], [CAT.memory_id]]


async def test_who_writes_does_not_wait_for_what_a_shard_that_comes_has_to_be_told(index, holding, shard):
    shard.kept["the fallible one"] = 7
    await holding.tell()
    shard.kept.clear()
    holding.note_missed(shard)
    await holding.tell_if_it_answers()
    assert index.told == []
    await holding.search(OWNER, query("coffee"))
    assert index.told == [[COFFEE.memory_id, CAT.memory_id], "searched"]


async def test_a_shard_that_cannot_be_read_when_the_index_turns_out_to_be_another_is_told_of_later(
    index, holding, shard
):
    readable = shard.memories_since

    def fails_once(_offset):
        shard.memories_since = readable
        raise ShardUnavailable("the disk fails")

    shard.memories_since = fails_once
    with pytest.raises(ShardUnavailable):
        await holding.tell()
    await holding.tell()
    assert index.told == [[COFFEE.memory_id, CAT.memory_id]]
