"""Erasures where several workers share Kafka and Weaviate: any of them lists all, and who takes over knows of them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from engines.several import SOON_SECONDS, Several, held_here, two_workers

from mnemolog.operations.erasing.receipts import is_signed

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from support.weaviate_server import WeaviateServer

pytestmark = pytest.mark.asyncio(loop_scope="module")
USERS = [f"gone-{n}" for n in range(6)]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def two(tmp_path_factory: pytest.TempPathFactory, weaviate: WeaviateServer) -> AsyncIterator[Several]:
    async with two_workers(tmp_path_factory.mktemp("erasing"), weaviate.url) as several:
        yield several


def named(listed: dict[str, Any]) -> set[str]:
    """Return the receipts that a list names."""
    return {one["receipt_id"] for one in listed["items"]}


async def test_every_worker_lists_every_erasure_also_those_of_a_worker_that_is_gone(two: Several):
    for n, user in enumerate(USERS):
        await two.remember(n % 2, user, f"keeps {n} bees")
    held = [await held_here(two, number) for number in (0, 1)]
    assert all(held), held
    erasing = (two.json(n % 2, "DELETE", f"/v1/users/{user}") for n, user in enumerate(USERS))
    receipts = await asyncio.gather(*erasing)
    for n, user in enumerate(USERS):
        assert await two.found(1 - n % 2, user, "bees") == []
    wanted = {receipt["receipt_id"] for receipt in receipts}
    two.workers[0].kill()  # before anybody has asked for its list: the other learns of them from the ledger
    async with asyncio.timeout(SOON_SECONDS):
        while named(listed := await two.json(1, "GET", "/v1/erasures")) != wanted:  # noqa: ASYNC110 - it is another process
            await asyncio.sleep(0.3)
    assert all(is_signed(receipt, listed["public_key"]) for receipt in receipts)
    assert not any(user in str(listed) for user in USERS)
    two.workers[0].start()
    await two.workers[0].ready()
    assert await two.json(0, "GET", "/v1/erasures") == await two.json(1, "GET", "/v1/erasures")
