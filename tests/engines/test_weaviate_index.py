"""The index in Weaviate keeps the index's contract, on the real server."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import httpx
import numpy as np
import pytest
from contract.alike import compare, world
from contract.followed import FakeShard, Followed
from contract.index_examples import ANIMALS, CAT, COFFEE, FOOD, FOUR, SPORT, WORK, entry, four, mixed, query
from contract.index_suite import IndexSuite
from support.weaviate_server import running_weaviate

from projections.index.embedded.index import EmbeddedIndex
from projections.index.protocol import IndexChanged, IndexUnavailable, Legs
from projections.index.weaviate.address import WeaviateAddress
from projections.index.weaviate.index import WeaviateIndex
from projections.text import analyser

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from support.weaviate_server import WeaviateServer

    from projections.index.protocol import IndexEntry, LoadEntries


def nothing(_tenant: str, _user_id: str) -> list[IndexEntry]:
    """Load what a shard has that holds no memory: words are found nowhere."""
    return []


@asynccontextmanager
async def empty_index(
    weaviate: WeaviateServer, load: LoadEntries = nothing, **options: Any
) -> AsyncIterator[WeaviateIndex]:
    """Open an index that holds nothing, whatever the tests before have left."""
    index = WeaviateIndex(WeaviateAddress.parse(weaviate.url), load, partitions=8, **options)
    try:
        first = WeaviateIndex(WeaviateAddress.parse(weaviate.url), load, partitions=8, generation=1)
        await first.collection.open()
        await first.close()
        await index.collection.activate(1)
        for generation in (await index.collection.generations())[1]:
            await index.collection.drop(generation)
        yield index
    finally:
        await index.close()


class PutAtOnce(Followed):
    """Several memories are one batch: each by itself would take as long."""

    def __init__(self, index, shard, *, loaded_early):
        super().__init__(lambda _load: index, loaded_early=loaded_early)
        self.shard = shard

    async def put(self, entries):
        for one in entries:
            self.shard.put(one)
        await self.index.put(entries)
        if self.loaded_early:
            for tenant, user_id in {(one.tenant, one.user_id) for one in entries}:
                await self.index.search(query("x", user_id=user_id, tenant=tenant))


class TestWeaviateIndex(IndexSuite):
    @pytest.fixture(params=["words loaded at the first search", "words kept up to date"])
    async def index(self, weaviate: WeaviateServer, request) -> AsyncIterator[Followed]:
        shard = FakeShard()
        async with empty_index(weaviate, shard.load) as index:
            yield PutAtOnce(index, shard, loaded_early=request.param == "words kept up to date")


QUESTIONS = 200
"""Of which one point is two, in Chinese, English or both, most of them with filters."""


@pytest.mark.parametrize("size", [60, 1500])
async def test_its_answers_are_those_of_the_embedded_index(weaviate: WeaviateServer, size: int):
    mine, theirs = world(size, size, QUESTIONS, "mine"), world(7, 400, 1, "theirs")
    embedded = EmbeddedIndex(lambda _tenant, _user: mine.memories)
    async with empty_index(weaviate, lambda _tenant, _user: mine.memories) as index:
        await index.put([*mine.memories, *theirs.memories])
        overlap, recall, recall_embedded = await compare(index, embedded, mine)
    assert overlap >= 0.9
    assert abs(recall - recall_embedded) <= 0.01
    assert recall_embedded > 0.3
    assert recall_embedded < 0.8 or size == 60  # where all is found, nothing tells them apart


async def test_the_words_of_a_user_are_loaded_once_and_again_when_another_worker_had_the_user(weaviate: WeaviateServer):
    shard = FakeShard()
    async with empty_index(weaviate, shard.load) as index:
        followed = PutAtOnce(index, shard, loaded_early=True)
        await followed.put(FOUR)
        await followed.put([replace(CAT, version=2, tokens=analyser.tokens("Anna keeps a cat"))])
        assert len((await followed.search(query("Anna"))).keyword) == 3
        assert shard.loads == [("default", "u1")]
        index.release("default", "u1")
        shard.put(replace(CAT, version=3, tokens=analyser.tokens("a cat")))
        assert len((await followed.search(query("Anna"))).keyword) == 2


async def test_a_question_deeper_than_weaviate_answers_is_answered_all_the_same(weaviate: WeaviateServer):
    """10,000 is the most that Weaviate returns; a search goes so deep where filters hide what is nearest."""
    many = [entry(f"m{n}", "Anna", mixed(FOOD, WORK)) for n in range(10_050)]
    last = entry("last", "Boris", ANIMALS)
    async with empty_index(weaviate, lambda _tenant, _user: [*many, last]) as index:
        await index.put([*many, last])
        deep = await index.search(query("Anna Boris", FOOD, limit=12_000))
        assert (len(deep.keyword), len(deep.semantic)) == (10_051, 10_051)
        assert deep.semantic[-1].memory_id == last.memory_id
        expected = sorted(one.memory_id for one in many)[:3]
        equals = await index.search(query(vector=FOOD, limit=3))
        assert expected == [hit.memory_id for hit in equals.semantic]


async def test_what_it_holds_is_there_after_a_restart(weaviate: WeaviateServer, tmp_path: Path):
    assert weaviate  # another node: this one is stopped
    with running_weaviate(tmp_path) as node:
        async with empty_index(node) as index:
            await index.put(FOUR)
            before = await index.search(query(vector=FOOD))
            node.stop()
            with pytest.raises(IndexUnavailable):
                await index.search(query(vector=FOOD))
            node.start()
            assert before == await index.search(query(vector=FOOD))
            await index.put([replace(CAT, version=2)])
            assert len((await index.search(query(vector=FOOD))).semantic) == 4


async def test_a_model_of_another_length_is_held_beside_the_first(weaviate: WeaviateServer):
    longer = np.eye(7, dtype=np.float32)
    async with empty_index(weaviate) as index:
        await index.put([COFFEE, replace(CAT, vector=longer[0])])
        assert four((await index.search(query(vector=FOOD))).semantic) == ["coffee"]
        assert four((await index.search(query(vector=longer[0]))).semantic) == ["cat"]


async def test_another_generation_is_filled_beside_the_active_one_and_then_takes_its_place(weaviate: WeaviateServer):
    address = WeaviateAddress.parse(weaviate.url)
    fresh = WeaviateIndex(address, nothing, partitions=8, generation=2)
    async with empty_index(weaviate) as index:
        await index.put([COFFEE])
        await fresh.put([CAT])
        assert four((await index.search(query(vector=FOOD))).semantic) == ["coffee"]
        assert await index.collection.generations() == (1, [1, 2])
        await index.collection.activate(2)
        assert four((await index.search(query(vector=FOOD))).semantic) == ["cat"]
        await index.collection.activate(1)
        await index.collection.drop(2)
        assert four((await index.search(query(vector=FOOD))).semantic) == ["coffee"]
    await fresh.close()


class Frozen(WeaviateIndex):
    """A worker's index that stands still at one step until it is woken."""

    def __init__(self, address, step):
        super().__init__(address, nothing, partitions=8)
        self.step, self.reached, self.woken = step, asyncio.Event(), asyncio.Event()

    async def pause(self, step):
        if step == self.step:
            self.reached.set()
            await self.woken.wait()

    async def _write(self, tenant, entries):
        await self.pause("before the write")
        await super()._write(tenant, entries)

    async def _delete(self, tenant, ids):
        await self.pause("before the deletion")
        await super()._delete(tenant, ids)


TEA = replace(COFFEE, version=2, tokens=analyser.tokens("用户喜欢喝茶"), vector=SPORT)
LATE = {
    "an older version": (lambda index: index.put([COFFEE]), "before the write"),
    "the same version": (lambda index: index.put([TEA]), "before the deletion"),
    "a removal of the older version": (
        lambda index: index.remove("default", "u1", {COFFEE.memory_id: 1}),
        "before the deletion",
    ),
}


@pytest.mark.parametrize("what", LATE)
async def test_a_writer_that_wakes_late_takes_nothing_from_who_wrote_meanwhile(weaviate: WeaviateServer, what: str):
    doing, step = LATE[what]
    late = Frozen(WeaviateAddress.parse(weaviate.url), step)
    async with empty_index(weaviate) as index:
        await index.put([COFFEE, CAT])
        if what == "the same version":
            await index.put([TEA])
        working = asyncio.create_task(doing(late))
        await late.reached.wait()
        await index.put([TEA])
        await index.put([TEA])
        late.woken.set()
        await working
        nearest = (await index.search(query(vector=SPORT, limit=1))).semantic
        assert [(TEA.memory_id, 2)] == [(hit.memory_id, hit.version) for hit in nearest]
        await index.put([TEA])  # as the reader has done who meets what a late writer left
        left = (await index.search(query(vector=FOOD))).semantic
        assert [(TEA.memory_id, 2), (CAT.memory_id, 1)] == sorted(
            ((hit.memory_id, hit.version) for hit in left), key=lambda one: -one[1]
        )
        await late.close()


async def test_a_writer_that_is_killed_late_leaves_what_others_wrote_meanwhile(weaviate: WeaviateServer):
    late = Frozen(WeaviateAddress.parse(weaviate.url), "before the write")
    async with empty_index(weaviate) as index:
        await index.put([COFFEE])
        working = asyncio.create_task(late.put([COFFEE]))
        await late.reached.wait()
        assert four((await index.search(query(vector=FOOD))).semantic) == ["coffee"]
        await index.put([COFFEE])
        working.cancel()
        assert four((await index.search(query(vector=FOOD))).semantic) == ["coffee"]
        await late.close()


async def test_what_two_workers_put_at_once_is_there_once(weaviate: WeaviateServer):
    other = WeaviateIndex(WeaviateAddress.parse(weaviate.url), nothing, partitions=8)
    async with empty_index(weaviate) as index:
        await index.put([CAT])
        await asyncio.gather(index.put(FOUR), other.put(FOUR))
        alone = await index.search(query(vector=FOOD))
        assert len({hit.memory_id for hit in alone.semantic}) == len(alone.semantic) == 4
        await index.put(FOUR)
        assert alone == await other.search(query(vector=FOOD))
        await other.close()


async def test_a_collection_that_was_made_anew_has_another_name_and_a_generation_beside_it_the_same(
    weaviate: WeaviateServer,
):
    address = WeaviateAddress.parse(weaviate.url)
    beside, other = (WeaviateIndex(address, nothing, partitions=8, generation=number) for number in (2, None))
    async with empty_index(weaviate) as index:
        await index.put([COFFEE])
        before = await index.identity()
        assert before == await beside.identity() == await other.identity()
        await beside.put([COFFEE])
        await index.collection.drop(1)
        assert await index.identity() != before
        assert await other.identity() == before  # it was not told
        with pytest.raises(IndexChanged, match="filled anew"):
            await other.search(query(vector=FOOD))
        assert await other.identity() == await index.identity()
        await index.collection.drop(2)
    await other.close()
    await beside.close()


async def test_a_collection_without_what_this_version_needs_is_named(weaviate: WeaviateServer):
    async with empty_index(weaviate) as index:
        await index.collection.drop(1)
        http = weaviate.url.removeprefix("weaviate://").partition("?")[0]
        async with httpx.AsyncClient() as client:
            made = await client.post(f"http://{http}/v1/schema", json={"class": "Memory_v1", "description": "old"})
            assert made.is_success
            with pytest.raises(IndexUnavailable, match="Memory_v1 is of an earlier mnemolog: delete it there"):
                await index.search(query(vector=FOOD))
            assert (await client.delete(f"http://{http}/v1/schema/Memory_v1")).is_success
        assert await index.search(query(vector=FOOD)) == Legs((), ())
