"""No search is answered from an index that does not have the user's last change."""

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


async def test_a_search_waits_for_what_is_in_flight(index: FallibleIndex, index_sync: IndexSync):
    index.goes_on.clear()
    index_sync.mark_dirty(OWNER, [COFFEE.memory_id])
    flushing = asyncio.create_task(index_sync.flush())
    await index.going.wait()
    searching = asyncio.create_task(index_sync.search(OWNER, query("coffee")))
    await asyncio.sleep(0)
    assert index.calls == []
    index.goes_on.set()
    await asyncio.gather(flushing, searching)
    assert index.calls == [[COFFEE.memory_id], "searched"]


async def test_a_search_writes_its_users_changes_ahead_of_all_others(index: FallibleIndex, index_sync: IndexSync):
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
    assert index.calls.index([COFFEE.memory_id]) == 1, "after the batch that was in flight, this user"
    assert index.calls.count([CAT.memory_id]) == 3
    assert "searched" in index.calls


async def test_a_search_leaves_the_changes_of_others_pending(index: FallibleIndex, index_sync: IndexSync):
    index_sync.mark_dirty(Owner("default", "other"), [CAT.memory_id])
    index_sync.mark_dirty(OWNER, [COFFEE.memory_id])
    await index_sync.search(OWNER, query("coffee"))
    assert index.calls == [[COFFEE.memory_id], "searched"]
    await index_sync.flush()
    assert index.calls[2:] == [[CAT.memory_id]]


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


async def test_an_index_that_holds_something_else_than_before_is_filled_again(index, shard_sync, shard):
    shard.kept["the fallible one"] = 7
    for _ in range(2):
        await shard_sync.flush()
    assert index.calls == []
    index.holds = "an empty one"
    for _ in range(2):
        await shard_sync.flush()
    assert index.calls == [[COFFEE.memory_id, CAT.memory_id]]


async def test_a_search_does_not_answer_from_an_index_that_was_emptied_under_it(index, shard_sync, shard):
    shard.kept["the fallible one"] = 7
    await shard_sync.flush()
    searches = []

    async def emptied(asked):
        searches.append(asked)
        index.holds = "an empty one"

    index.search = emptied
    await shard_sync.search(OWNER, query("coffee"))
    assert index.calls == [[COFFEE.memory_id, CAT.memory_id]]
    assert len(searches) == 2


async def test_a_shard_that_is_held_before_the_index_is_reached_is_written_when_it_is(index, shard_sync, shard):
    index.is_down = True
    shard_sync.mark_missed(shard)
    with pytest.raises(IndexUnavailable):
        await shard_sync.flush()
    index.is_down = False
    await shard_sync.flush()
    assert index.calls == [[COFFEE.memory_id, CAT.memory_id]]


async def test_a_writer_does_not_wait_until_another_index_is_filled(index, shard_sync, shard):
    shard.memories_since = lambda _: {OWNER: [COFFEE.memory_id, *map(str, range(BATCH)), CAT.memory_id]}
    await shard_sync.try_flush()
    await shard_sync.try_flush()
    assert index.calls == [[COFFEE.memory_id]]
    await shard_sync.flush()
    assert index.calls == [[COFFEE.memory_id], [CAT.memory_id]]


async def test_a_writer_does_not_wait_for_what_the_index_missed_of_a_shard_that_comes(index, shard_sync, shard):
    shard.kept["the fallible one"] = 7
    await shard_sync.flush()
    shard.kept.clear()
    shard_sync.mark_missed(shard)
    await shard_sync.try_flush()
    assert index.calls == []
    await shard_sync.search(OWNER, query("coffee"))
    assert index.calls == [[COFFEE.memory_id, CAT.memory_id], "searched"]


async def test_a_shard_that_cannot_be_read_when_the_index_turns_out_to_be_another_is_written_later(
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
    assert index.calls == [[COFFEE.memory_id, CAT.memory_id]]
