"""Readiness on Kafka: whoever turns ready answers about every user that it took over, at that very moment."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import httpx
import pytest
import pytest_asyncio
from engines.several import Several, two_workers

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

USERS = [f"u{number}" for number in range(16)]
"""Enough for some in each partition."""
LOOK_SECONDS = 0.01
MOVED_SECONDS = 60.0


async def until(several: Several, number: int, *, ready: bool) -> None:
    """Wait until a worker says that it is ready, or that it is not."""
    url = f"{several.workers[number].url}/health/ready"
    async with asyncio.timeout(MOVED_SECONDS):
        while (await several.http.get(url)).is_success != ready:  # noqa: ASYNC110 - it is another process
            await asyncio.sleep(LOOK_SECONDS)


async def answers_all(several: Several, number: int, fact: str) -> None:
    """Search for every user and remember a fact about each, once: who is refused fails."""
    url = several.workers[number].url

    async def ask(user: str) -> None:
        asked = {"user_id": user, "query": "drinks", "recall": False}
        found = await several.http.post(f"{url}/v1/search", json=asked)
        assert found.status_code == httpx.codes.OK, found.text
        assert f"{user} drinks tea" in [one["memory"] for one in found.json()["results"]]
        remembered = await several.http.post(f"{url}/v1/memories", json={"user_id": user, "content": f"{user} {fact}"})
        assert remembered.status_code == httpx.codes.CREATED, remembered.text

    await asyncio.gather(*map(ask, USERS))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def two(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Several]:
    """Run two workers over a fresh Kafka that know something of every user."""
    async with two_workers(tmp_path_factory.mktemp("readiness"), "embedded") as several:
        for user in USERS:
            await several.remember(0, user, f"{user} drinks tea")
        yield several


pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_worker_is_not_ready_while_partitions_move_and_answers_all_when_it_is(two: Several):
    two.workers[1].kill()
    await until(two, 0, ready=False)
    await until(two, 0, ready=True)
    await answers_all(two, 0, "lives in Bern")

    two.workers[1].start()
    await until(two, 0, ready=False)
    await two.workers[1].ready()
    await until(two, 0, ready=True)
    for number, fact in enumerate(("reads books", "plays chess")):
        await answers_all(two, number, fact)


async def test_a_worker_that_was_frozen_for_longer_than_its_session_is_not_ready_before_it_answers_again(two: Several):
    two.workers[1].freeze()
    await until(two, 0, ready=False)
    await until(two, 0, ready=True)
    await answers_all(two, 0, "likes the sea")
    two.workers[1].thaw()
    answer = await two.http.get(f"{two.workers[1].url}/health/ready")
    assert answer.status_code == httpx.codes.SERVICE_UNAVAILABLE
    for number in (1, 0):
        await until(two, number, ready=True)
    for number, fact in enumerate(("has a cat", "has a dog")):
        await answers_all(two, number, fact)
