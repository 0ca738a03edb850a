"""Several workers of which one stands still, differs from the others, or is none: each is told apart and named."""

from __future__ import annotations

import asyncio
import time
from http import HTTPStatus
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio
from engines.several import SOON_SECONDS, Several, held_here, two_workers, until_shared
from support.free_ports import free_ports

from mnemolog.cluster.peers import LIVE_SECONDS, PROBE_AFTER_SECONDS
from schemas.topics import partition_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from support.weaviate_server import WeaviateServer

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def two(tmp_path_factory: pytest.TempPathFactory, weaviate: WeaviateServer) -> AsyncIterator[Several]:
    # Longer than a frozen worker is waited for: else the group moves its partitions first, and the answer says that.
    async with two_workers(tmp_path_factory.mktemp("apart"), weaviate.url, SESSION_SECONDS="30") as several:
        yield several


async def test_what_workers_ask_each_other_is_refused_to_strangers(two: Several):
    for sender in ({}, {"mnemolog-forwarded-by": "http://127.0.0.1:9"}):
        answer = await two.http.post(f"{two.workers[0].url}/v1/internal/drain", json={}, headers=sender)
        assert answer.status_code == HTTPStatus.NOT_FOUND
        assert "for the group's other workers" in answer.json()["detail"]


async def test_who_waits_for_a_frozen_worker_is_told_so_within_seconds(two: Several):
    theirs = set(await held_here(two, 1))
    user = next(f"frozen-{n}" for n in range(100) if partition_of(f"default/frozen-{n}".encode(), 8) in theirs)
    await two.remember(0, user, "lives in Bern")
    two.workers[1].freeze()
    try:
        began = time.monotonic()
        answer = await two.http.get(f"{two.workers[0].url}/v1/memories?user_id={user}")
        assert (answer.status_code, answer.headers["Retry-After"]) == (HTTPStatus.SERVICE_UNAVAILABLE, "1")
        assert time.monotonic() - began < PROBE_AFTER_SECONDS + LIVE_SECONDS + 10  # and the machine may be busy
        assert two.workers[1].url in answer.json()["detail"]
    finally:
        two.workers[1].thaw()
    await until_shared(two)
    assert "lives in Bern" in await two.found(0, user, "Bern")


async def test_a_worker_with_another_index_is_named_and_drain_and_rebuild_are_refused(two: Several, tmp_path: Path):
    [port] = free_ports(1)
    other = two.workers[0].beside(tmp_path / "other", port, INDEX="embedded", ADVERTISED_URL=f"http://127.0.0.1:{port}")
    try:
        other.start()
        await other.ready()
        for path in ("/v1/admin/drain", "/v1/admin/rebuild"):
            refused = await two.ask(0, "POST", path, {})
            assert refused.status_code == HTTPStatus.CONFLICT
            assert "MNEMOLOG_INDEX is" in refused.json()["detail"]
            assert f"embedded at {other.url}" in refused.json()["detail"]
        async with asyncio.timeout(SOON_SECONDS):
            while f"embedded at {other.url}" not in other.said():  # noqa: ASYNC110 - it is another process
                await asyncio.sleep(0.3)
        await other.terminate()
    finally:
        other.kill()
    assert (await two.json(1, "POST", "/v1/admin/drain", {"timeout": 60}))["memories"] > 0
