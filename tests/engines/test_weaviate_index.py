"""The index in Weaviate keeps the index's contract, on the real server."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
from contract.index_suite import IndexSuite

from projections.weaviate_address import WeaviateAddress
from projections.weaviate_index import WeaviateIndex

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from weaviate_server import WeaviateServer


@asynccontextmanager
async def empty_index(weaviate: WeaviateServer, load=lambda _tenant, _user: ()) -> AsyncIterator[WeaviateIndex]:
    """Open an index that holds nothing, whatever the tests before have left."""
    index = WeaviateIndex(WeaviateAddress.parse(weaviate.url), load, partitions=8)
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
