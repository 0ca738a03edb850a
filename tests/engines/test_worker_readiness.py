"""Readiness on Kafka: whoever turns ready answers about every user that it took over, at that very moment."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING

import httpx
import pytest
import pytest_asyncio
from engines.several import SOON_SECONDS, Several, two_workers

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

USERS = [f"u{number}" for number in range(16)]
"""Enough for some in each partition."""
LOOK_SECONDS = 0.01
ALL, SOME = range(8, 9), range(1, 8)
"""How many partitions one may have: all eight, or not all."""


async def until_ready(several: Several, number: int) -> None:
    """Wait until a worker says that it is ready."""
    url = f"{several.workers[number].url}/health/ready"
    async with asyncio.timeout(SOON_SECONDS):
        while not (await several.http.get(url)).is_success:  # noqa: ASYNC110 - it is another process
            await asyncio.sleep(LOOK_SECONDS)


async def until_moving(several: Several, number: int, held: range) -> None:
    """Wait until a worker is not ready, for partitions move, or has so many of them already: a busy test looks late."""
    url, sender = several.workers[number].url, several.workers[1 - number].url
    async with asyncio.timeout(SOON_SECONDS):
        while (await several.http.get(f"{url}/health/ready")).is_success:
            named = {"mnemolog-forwarded-by": sender}
            told = await several.http.post(f"{url}/v1/internal/generations", json={}, headers=named)
            if told.status_code == httpx.codes.NOT_FOUND and held == ALL:
                return  # the other worker is in the group no more, so this one has all
            if told.is_success and len(told.json()["partitions"]) in held:
                return
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
    await until_moving(two, 0, ALL)
    await until_ready(two, 0)
    await answers_all(two, 0, "lives in Bern")

    two.workers[1].start()
    await until_moving(two, 0, SOME)
    await two.workers[1].ready()
    await until_ready(two, 0)
    for number, fact in enumerate(("reads books", "plays chess")):
        await answers_all(two, number, fact)


async def test_a_worker_that_was_frozen_for_longer_than_its_session_is_not_ready_before_it_answers_again(two: Several):
    two.workers[1].freeze()
    try:
        await until_moving(two, 0, ALL)
        await until_ready(two, 0)
        await answers_all(two, 0, "likes the sea")
        with socket.create_connection(
            ("127.0.0.1", int(two.workers[1].url.rpartition(":")[2])), SOON_SECONDS
        ) as asking:
            asking.sendall(b"GET /health/ready HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
            two.workers[1].thaw()  # now, and not when it has come back, it is asked
            answer = await asyncio.to_thread(asking.recv, 1_000)
    finally:
        two.workers[1].thaw()
    assert answer.startswith(b"HTTP/1.1 503 ")
    for number in (1, 0):
        await until_ready(two, number)
    for number, fact in enumerate(("has a cat", "has a dog")):
        await answers_all(two, number, fact)
