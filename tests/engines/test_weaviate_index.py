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
from contract.index_examples import ANIMALS, CAT, COFFEE, FOOD, FOUR, SPORT, WORK, entry, four, mixed, query
from contract.index_store import IndexStore, no_memories
from contract.index_suite import IndexSuite
from contract.index_with_shard import FakeShard, IndexWithShard
from contract.shared_index_suite import SharedIndexSuite

from projections.index.adapter import IndexConfig
from projections.index.embedded.index import EmbeddedIndex
from projections.index.protocol import IndexChanged, IndexUnavailable, Legs
from projections.index.weaviate.adapter import WEAVIATE
from projections.index.weaviate.address import WeaviateAddress
from projections.index.weaviate.index import WeaviateIndex
from projections.text import analyser

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from support.weaviate_server import WeaviateServer

    from projections.index.protocol import LoadEntries

PATIENCE_S = 120.0
"""Only a node that hangs takes so long to answer."""


@asynccontextmanager
async def empty_index(
    weaviate: WeaviateServer, load: LoadEntries = no_memories, **options: Any
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


class PutAtOnce(IndexWithShard):
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


class WeaviateStore(IndexStore):
    """A node as the suite has it."""

    def __init__(self, node: WeaviateServer) -> None:
        super().__init__(WEAVIATE, IndexConfig(url=node.url, secret=None, partitions=8))
        self._node = node

    async def step(self) -> None:
        await asyncio.sleep(0.002)

    async def stop(self) -> None:
        await asyncio.to_thread(self._node.stop)

    async def start(self) -> None:
        await asyncio.to_thread(self._node.start)

    async def wipe(self) -> None:
        http = self._node.url.removeprefix("weaviate://").partition("?")[0]
        async with httpx.AsyncClient(base_url=f"http://{http}/v1", timeout=PATIENCE_S) as client:
            for alias in (await client.get("/aliases")).json()["aliases"]:
                (await client.delete(f"/aliases/{alias['alias']}")).raise_for_status()
            for made in (await client.get("/schema")).json()["classes"]:
                (await client.delete(f"/schema/{made['class']}")).raise_for_status()


class TestSharedWeaviateIndex(SharedIndexSuite):
    @pytest.fixture
    async def store(self, weaviate: WeaviateServer) -> AsyncIterator[WeaviateStore]:
        store = WeaviateStore(weaviate)
        await store.wipe()
        yield store
        await store.close()


class TestWeaviateIndex(IndexSuite):
    @pytest.fixture(params=["words loaded at the first search", "words kept up to date"])
    async def index(self, weaviate: WeaviateServer, request) -> AsyncIterator[IndexWithShard]:
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


async def test_a_model_of_another_length_is_held_beside_the_first(weaviate: WeaviateServer):
    longer = np.eye(7, dtype=np.float32)
    async with empty_index(weaviate) as index:
        await index.put([COFFEE, replace(CAT, vector=longer[0])])
        assert four((await index.search(query(vector=FOOD))).semantic) == ["coffee"]
        assert four((await index.search(query(vector=longer[0]))).semantic) == ["cat"]


class Frozen(WeaviateIndex):
    """A worker's index that stands still at one step until it is woken."""

    def __init__(self, address, step):
        super().__init__(address, no_memories, partitions=8)
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


async def test_a_collection_that_was_deleted_below_its_alias_is_made_anew_under_another_name(weaviate: WeaviateServer):
    other = WeaviateIndex(WeaviateAddress.parse(weaviate.url), no_memories, partitions=8)
    async with empty_index(weaviate) as index:
        await index.put([COFFEE])
        before = await index.identity()
        assert await other.identity() == before
        await index.collection.drop(1)
        assert await index.identity() != before
        with pytest.raises(IndexChanged, match="filled anew"):
            await other.search(query(vector=FOOD))
        assert await other.identity() == await index.identity()
    await other.close()


async def test_a_collection_without_what_this_version_needs_is_named(weaviate: WeaviateServer):
    async with empty_index(weaviate) as index:
        await index.collection.drop(1)
        http = weaviate.url.removeprefix("weaviate://").partition("?")[0]
        async with httpx.AsyncClient(timeout=PATIENCE_S) as client:
            made = await client.post(f"http://{http}/v1/schema", json={"class": "Memory_v1", "description": "old"})
            assert made.is_success
            with pytest.raises(IndexUnavailable, match="Memory_v1 is of an earlier mnemolog: delete it there"):
                await index.search(query(vector=FOOD))
            assert (await client.delete(f"http://{http}/v1/schema/Memory_v1")).is_success
        assert await index.search(query(vector=FOOD)) == Legs((), ())
