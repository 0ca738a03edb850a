"""The index in Weaviate keeps the index's contract, on the real server."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from contract.alike import compare, world
from contract.index_examples import CAT, COFFEE, FOOD, FOUR, four, query
from contract.index_suite import IndexSuite
from weaviate_server import running_weaviate

from projections.embedded_index import EmbeddedIndex
from projections.index import IndexUnavailable
from projections.weaviate_address import WeaviateAddress
from projections.weaviate_index import WeaviateIndex

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from weaviate_server import WeaviateServer


@asynccontextmanager
async def empty_index(weaviate: WeaviateServer) -> AsyncIterator[WeaviateIndex]:
    """Open an index that holds nothing, whatever the tests before have left."""
    index = WeaviateIndex(WeaviateAddress.parse(weaviate.url), partitions=8)
    try:
        active, _ = await index.collection.generations()
        await index.collection.drop(active)
        yield index
    finally:
        await index.close()


class TestWeaviateIndex(IndexSuite):
    @pytest.fixture
    async def index(self, weaviate: WeaviateServer) -> AsyncIterator[WeaviateIndex]:
        async with empty_index(weaviate) as index:
            yield index


@pytest.mark.parametrize("size", [60, 1500])
async def test_its_answers_are_those_of_the_embedded_index(weaviate: WeaviateServer, size: int):
    """The smaller user's keyword leg is exact; the larger one's has more memories with a word than are looked at."""
    mine, theirs = world(size, size, 60, "mine"), world(7, 400, 1, "theirs")
    embedded = EmbeddedIndex(lambda _tenant, _user: mine.memories)
    async with empty_index(weaviate) as index:
        await index.put([*mine.memories, *theirs.memories])
        overlap, recall, recall_embedded = await compare(index, embedded, mine)
    assert overlap >= 0.9
    assert abs(recall - recall_embedded) <= 0.01
    assert recall_embedded > 0.3


async def test_what_it_holds_is_there_after_a_restart(weaviate: WeaviateServer, tmp_path: Path):
    assert weaviate  # another node: this one is stopped
    with running_weaviate(tmp_path) as node:
        async with empty_index(node) as index:
            await index.put(FOUR)
            before = await index.search(query("Anna 咖啡", FOOD))
            node.stop()
            with pytest.raises(IndexUnavailable):
                await index.search(query("Anna"))
            node.start()
            assert before == await index.search(query("Anna 咖啡", FOOD))
            await index.put([replace(CAT, version=2)])
            assert len((await index.search(query(vector=FOOD))).semantic) == 4


async def test_a_model_of_another_length_is_held_beside_the_first(weaviate: WeaviateServer):
    longer = np.eye(7, dtype=np.float32)
    async with empty_index(weaviate) as index:
        await index.put([COFFEE, replace(CAT, vector=longer[0])])
        assert four((await index.search(query("用户", FOOD))).semantic) == ["coffee"]
        assert four((await index.search(query("用户", longer[0]))).semantic) == ["cat"]


async def test_another_generation_is_filled_beside_the_active_one_and_then_takes_its_place(weaviate: WeaviateServer):
    address = WeaviateAddress.parse(weaviate.url)
    fresh = WeaviateIndex(address, partitions=8, generation=2)
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
