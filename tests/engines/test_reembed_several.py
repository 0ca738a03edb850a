"""Another encoder on two workers with one Weaviate: built, compared, switched to and back, and no search is empty."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from engines.several import Several, two_workers
from support.tiny_encoder import write_encoder

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from support.weaviate_server import WeaviateServer

USERS = 12
FACTS = ("likes coffee", "works in Berlin", "我喜欢喝咖啡")


@pytest_asyncio.fixture
async def two(tmp_path: Path, node: WeaviateServer) -> AsyncIterator[Several]:
    async with two_workers(tmp_path, node.url) as several:
        yield several


async def semantic(two: Several, number: int, user: str, query: str = "likes coffee") -> dict[str, float]:
    body = {"user_id": user, "query": query, "recall": False, "limit": 20}
    found = (await two.json(number, "POST", "/v1/search", body))["results"]
    return {hit["content"]: hit["scores"]["semantic"] for hit in found}


async def of_all(two: Several, number: int) -> list[dict[str, float]]:
    return [await semantic(two, number, f"r-{n}") for n in range(USERS)]


async def reembed(two: Several, number: int, **body: object) -> Any:
    return await two.json(number, "POST", "/v1/admin/reembed", body)


async def search_by_meaning(two: Several) -> None:
    """Search again and again: what means the same is found by meaning all the while."""
    while True:
        for number in (0, 1):
            for n in range(USERS):
                found = await semantic(two, number, f"r-{n}")
                assert found["likes coffee"] > 0.99, (number, n, found)


async def test_an_encoder_is_built_on_both_workers_and_switched_to_and_back(two: Several, tmp_path: Path):
    tiny = f"onnx:{write_encoder(tmp_path / 'tiny')}"
    ids = {f"r-{n}": (await two.remember(n % 2, f"r-{n}", FACTS[0]))["memory_id"] for n in range(USERS)}
    for user in ids:
        for fact in FACTS[1:]:
            await two.remember(0, user, fact)
    await two.json(0, "POST", "/v1/memories", {"user_id": "r-0", "content": "tea is at five", "scope": "global"})
    await two.json(0, "POST", "/v1/admin/drain", {})
    digest = await two.json(0, "GET", "/v1/admin/digest")
    before = await of_all(two, 1)
    forecast = await reembed(two, 1, encoder=tiny, what="forecast")
    assert forecast["memories"] == USERS * len(FACTS) + 2  # each worker embeds the global one
    built = await reembed(two, 0, encoder=tiny)
    assert built["memories"] == forecast["memories"]
    assert (await reembed(two, 1, encoder=tiny))["memories"] == 0
    assert await of_all(two, 0) == before
    asked = [{"user_id": user, "query": FACTS[0], "expected": [memory_id]} for user, memory_id in ids.items()]
    asked.append({"user_id": "r-0", "query": FACTS[0], "expected": ["unknown"]})
    compared = await two.json(1, "POST", "/v1/admin/reembed/compare", {"encoder": tiny, "questions": asked})
    assert (compared["questions"], compared["active"]["encoder"]) == (USERS + 1, "builtin")
    for one in (compared["active"], compared["other"]):
        assert one["recall_at_5"] == pytest.approx(USERS / (USERS + 1))
    searching = asyncio.create_task(search_by_meaning(two))
    await reembed(two, 1, encoder=tiny, what="activate")
    after = await of_all(two, 0)
    assert after == await of_all(two, 1) != before
    for number in (0, 1):
        serving = await two.json(number, "GET", "/v1/admin/reembed")
        assert (serving["active"], serving["running"]) == (tiny, None)
    assert await two.json(0, "GET", "/v1/admin/digest") == digest
    await reembed(two, 0, encoder="builtin", what="activate")
    assert await of_all(two, 0) == before
    searching.cancel()
    with suppress(asyncio.CancelledError):
        await searching  # it fails with the first search that did
    assert await two.json(1, "GET", "/v1/admin/digest") == digest
