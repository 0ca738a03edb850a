"""Searching what follows: nobody is answered from an index that has not been told of the user's last change."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from contract.index_examples import CAT, COFFEE, query
from support.fallible_index import BATCH, OWNER, FallibleIndex, Seconds, sync_of

from projections.index.protocol import IndexUnavailable
from projections.shard.errors import ShardUnavailable
from schemas.identity import Owner

if TYPE_CHECKING:
    from projections.index.sync import IndexSync


@pytest.fixture
def index() -> FallibleIndex:
    return FallibleIndex()


@pytest.fixture
def index_sync(index: FallibleIndex) -> IndexSync:
    return sync_of(index, Seconds())


async def test_a_search_waits_for_what_is_being_told(index: FallibleIndex, index_sync: IndexSync):
    index.goes_on.clear()
    index_sync.mark_dirty(OWNER, [COFFEE.memory_id])
    flushing = asyncio.create_task(index_sync.flush())
    await index.going.wait()
    searching = asyncio.create_task(index_sync.search(OWNER, query("coffee")))
    await asyncio.sleep(0)
    assert index.told == []
    index.goes_on.set()
    await asyncio.gather(flushing, searching)
    assert index.told == [[COFFEE.memory_id], "searched"]


async def test_a_search_goes_before_what_the_index_is_to_be_told_of_others(index: FallibleIndex, index_sync: IndexSync):
    a_call_full = [CAT.memory_id, *(f"gone {number}" for number in range(BATCH))]
    index.goes_on.clear()
    for number in range(3):
        index_sync.mark_dirty(Owner("default", f"other {number}"), a_call_full)
    index_sync.mark_dirty(OWNER, [COFFEE.memory_id])
    flushing = asyncio.create_task(index_sync.flush())
    await index.going.wait()
    searching = asyncio.create_task(index_sync.search(OWNER, query("coffee")))
    await asyncio.sleep(0)
    index.goes_on.set()
    await asyncio.gather(flushing, searching)
    assert index.told.index([COFFEE.memory_id]) == 1, "the one being told when it was asked, then this user"
    assert index.told.count([CAT.memory_id]) == 3
    assert "searched" in index.told


async def test_a_search_alone_leaves_what_others_wait_for_to_be_told_later(index: FallibleIndex, index_sync: IndexSync):
    index_sync.mark_dirty(Owner("default", "other"), [CAT.memory_id])
    index_sync.mark_dirty(OWNER, [COFFEE.memory_id])
    await index_sync.search(OWNER, query("coffee"))
    assert index.told == [[COFFEE.memory_id], "searched"]
    await index_sync.flush()
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
def shard_sync(index, shard):
    return sync_of(index, Seconds(), shard)


async def test_an_index_that_holds_something_else_than_before_is_told_of_everything(index, shard_sync, shard):
    shard.kept["the fallible one"] = 7
    for _ in range(2):
        await shard_sync.flush()
    assert index.told == []
    index.holds = "an empty one"
    for _ in range(2):
        await shard_sync.flush()
    assert index.told == [[COFFEE.memory_id, CAT.memory_id]]


async def test_a_search_does_not_answer_from_an_index_that_was_emptied_under_it(index, shard_sync, shard):
    shard.kept["the fallible one"] = 7
    await shard_sync.flush()
    searches = []

    async def emptied(asked):
        searches.append(asked)
        index.holds = "an empty one"

    index.search = emptied
    await shard_sync.search(OWNER, query("coffee"))
    assert index.told == [[COFFEE.memory_id, CAT.memory_id]]
    assert len(searches) == 2


async def test_a_shard_that_is_held_before_the_index_is_reached_is_told_of_when_it_is(index, shard_sync, shard):
    index.is_down = True
    shard_sync.mark_missed(shard)
    with pytest.raises(IndexUnavailable):
        await shard_sync.flush()
    index.is_down = False
    await shard_sync.flush()
    assert index.told == [[COFFEE.memory_id, CAT.memory_id]]


async def test_who_writes_does_not_wait_for_all_that_another_index_is_to_be_told(index, shard_sync, shard):
    shard.memories_since = lambda _: {OWNER: [COFFEE.memory_id, *map(str, range(BATCH)), CAT.memory_id]}
    await shard_sync.try_flush()
    await shard_sync.try_flush()
    assert index.told == [[COFFEE.memory_id]]
    await shard_sync.flush()
    assert index.told == [[COFFEE.memory_id], [CAT.memory_id]]


async def test_who_writes_does_not_wait_for_what_a_shard_that_comes_has_to_be_told(index, shard_sync, shard):
    shard.kept["the fallible one"] = 7
    await shard_sync.flush()
    shard.kept.clear()
    shard_sync.mark_missed(shard)
    await shard_sync.try_flush()
    assert index.told == []
    await shard_sync.search(OWNER, query("coffee"))
    assert index.told == [[COFFEE.memory_id, CAT.memory_id], "searched"]


async def test_a_shard_that_cannot_be_read_when_the_index_turns_out_to_be_another_is_told_of_later(
    index, shard_sync, shard
):
    readable = shard.memories_since

    def fails_once(_offset):
        shard.memories_since = readable
        raise ShardUnavailable("the disk fails")

    shard.memories_since = fails_once
    with pytest.raises(ShardUnavailable):
        await shard_sync.flush()
    await shard_sync.flush()
    assert index.told == [[COFFEE.memory_id, CAT.memory_id]]
