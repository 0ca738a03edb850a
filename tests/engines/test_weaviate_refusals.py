"""What Weaviate refuses, object by object, is not taken for written: it is tried again, and then said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx
import pytest
from contract.index_examples import FOOD, FOUR, query
from engines.test_weaviate_index import PATIENCE_S, empty_index

from projections.index.protocol import IndexUnavailable

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from support.weaviate_server import WeaviateServer


async def make_tenants(weaviate: WeaviateServer, *, by_itself: bool) -> None:
    """Let Weaviate make a tenant when it is first written to, or refuse what is for one that is not there."""
    http = weaviate.url.removeprefix("weaviate://").partition("?")[0]
    async with httpx.AsyncClient(base_url=f"http://{http}/v1/schema", timeout=PATIENCE_S) as client:
        collection = (await client.get("/Memory_v1")).json()
        collection["multiTenancyConfig"]["autoTenantCreation"] = by_itself
        (await client.put("/Memory_v1", json=collection)).raise_for_status()


async def test_what_it_refuses_is_said_and_can_be_put_when_it_takes_it(weaviate: WeaviateServer):
    async with empty_index(weaviate) as index:
        await index.collection.open()
        await make_tenants(weaviate, by_itself=False)
        with pytest.raises(IndexUnavailable, match=r"refuses 4 of 4 memories: .*tenant"):
            await index.put(FOUR)
        await make_tenants(weaviate, by_itself=True)
        await index.put(FOUR)
        assert len((await index.search(query(vector=FOOD))).semantic) == 4


async def test_what_it_refuses_at_first_is_tried_again(weaviate: WeaviateServer, monkeypatch: pytest.MonkeyPatch):
    pause = 3.0  # longer than Weaviate takes to change its mind
    async with empty_index(weaviate, retry_pause_seconds=pause) as index:
        await index.collection.open()
        await make_tenants(weaviate, by_itself=False)
        refused: list[Any] = []
        reach = index.collection.reach

        async def reach_and_allow(request: Awaitable[Any], seconds: float) -> Any:
            answer = await reach(request, seconds)
            if isinstance(answer, dict) and answer and not refused:
                refused.append(answer)
                await make_tenants(weaviate, by_itself=True)
            return answer

        monkeypatch.setattr(index.collection, "reach", reach_and_allow)
        await index.put(FOUR)
        assert len(refused[0]) == 4
        assert len((await index.search(query(vector=FOOD))).semantic) == 4
