"""Another encoder on two workers with one Weaviate: built, compared, switched to and back, and no search is empty."""

from __future__ import annotations

import asyncio
import shutil
from contextlib import suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from engines.several import SOON_SECONDS, Several, two_workers, until_shared
from support.embedding_endpoint import EmbeddingEndpoint, embedding_endpoint
from support.tiny_encoder import write_encoder

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from support.weaviate_server import WeaviateServer

USERS = 12
FACTS = ("likes coffee", "works in Berlin", "我喜欢喝咖啡")


@pytest.fixture
def endpoint() -> Iterator[EmbeddingEndpoint]:
    with embedding_endpoint() as one:
        yield one


@pytest_asyncio.fixture
async def two(tmp_path: Path, node: WeaviateServer, endpoint: EmbeddingEndpoint) -> AsyncIterator[Several]:
    async with two_workers(tmp_path, node.url, EMBEDDING_BASE_URL=endpoint.url) as several:
        yield several


async def semantic(two: Several, number: int, user: str, query: str = "likes coffee") -> dict[str, float]:
    body = {"user_id": user, "query": query, "include": ["memories"], "recall": False, "limit": 20}
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


async def test_a_worker_that_is_killed_goes_on_where_it_was_and_one_that_is_new_serves_what_the_others_serve(
    two: Several, endpoint: EmbeddingEndpoint
):
    for n in range(USERS):
        for fact in FACTS:
            await two.remember(0, f"r-{n}", fact)
    digest = await two.json(0, "GET", "/v1/admin/digest")
    every = USERS * len(FACTS)
    assert (await reembed(two, 0, encoder="model-x", what="forecast"))["memories"] == every
    endpoint.answered.clear()
    endpoint.still_for = "worker-1"  # it has made some of its vectors when it is killed, and never all
    url = f"{two.workers[0].url}/v1/admin/reembed"
    building = asyncio.create_task(two.http.post(url, json={"encoder": "model-x"}))
    assert await asyncio.to_thread(endpoint.is_still.wait, SOON_SECONDS)
    running = (await two.json(1, "GET", "/v1/admin/reembed"))["running"]
    assert (running["encoder"], running["total"]) == ("model-x", every)
    assert 0 < running["done"] < every
    two.workers[1].kill()
    endpoint.still_for = ""
    endpoint.goes_on.set()
    refused = await building
    assert refused.status_code == HTTPStatus.SERVICE_UNAVAILABLE, refused.text
    two.workers[1].start()
    await two.workers[1].ready()
    await until_shared(two)
    again = await reembed(two, 1, encoder="model-x")
    assert 0 < again["memories"] < every
    assert (await two.json(1, "GET", "/v1/admin/reembed"))["active"] == "builtin"
    await reembed(two, 0, encoder="model-x", what="activate")

    assert await two.workers[1].terminate() == 0
    shutil.rmtree(two.workers[1].folder / "data" / "encodings")
    two.workers[1].start()
    await two.workers[1].ready()
    await until_shared(two)
    async with asyncio.timeout(SOON_SECONDS):
        while (await two.json(1, "GET", "/v1/admin/reembed"))["active"] != "model-x":  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.3)
    async with asyncio.timeout(SOON_SECONDS):  # what it has no vector of is found by words until it has made one
        while not all(found["likes coffee"] > 0.99 for found in await of_all(two, 1)):  # noqa: ASYNC110 - likewise
            await asyncio.sleep(0.3)
    async with asyncio.timeout(SOON_SECONDS):
        while (await reembed(two, 0, encoder="model-x", what="forecast"))["memories"]:  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.3)
    for found in await of_all(two, 0):
        assert found["likes coffee"] > 0.99
    assert await two.json(1, "GET", "/v1/admin/digest") == digest
