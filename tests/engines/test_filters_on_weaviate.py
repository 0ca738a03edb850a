"""The filter language over HTTP, with the index in Weaviate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import pytest_asyncio
from contract.filter_suite import FilterSuite, fill
from engines.weaviate_door import door_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from contract.front_door import FrontDoor
    from support.weaviate_server import WeaviateServer

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def door(tmp_path_factory: pytest.TempPathFactory, weaviate: WeaviateServer) -> AsyncIterator[FrontDoor]:
    async with door_of(tmp_path_factory.mktemp("filters"), weaviate) as opened:
        await fill(opened)
        yield opened


class TestWeaviate(FilterSuite):
    """On Weaviate."""
