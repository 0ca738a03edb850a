"""A page of a shard that the disk has changed: its partition is folded anew, and the others are answered meanwhile."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

import httpx
import pytest
from faults.sample_worker import DRAIN_SECONDS, LIN, MAYA, PARTITIONS, live_through, publish, running, sample

from mnemolog.commands.commands import Fact
from mnemolog.http.app import make_http
from projections.encrypted_files import PAGE_BYTES
from projections.partitions.assignment import NotHeld
from projections.shard.errors import ShardDamaged

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path

    from mnemolog.worker.worker import Worker
    from projections.shard.shard import Shard

WAITS = "the shard is damaged, and is folded anew from the log"


def flip_pages(path: Path) -> None:
    """Change one bit in each page of a file but the first, with which it still opens."""
    with path.open("r+b") as file:
        whole = file.read()
        for place in range(PAGE_BYTES * 3 // 2, len(whole), PAGE_BYTES):
            file.seek(place)
            file.write(bytes([whole[place] ^ 1]))


def damage(shard: Shard) -> None:
    """Change the pages of a shard in use, of which nothing is in memory any more."""
    shard.writes.commit()
    shard.checkpoints.clear()
    flip_pages(shard.path)
    shard._connection.execute("pragma shrink_memory")
    shard.ledger.forget()


@asynccontextmanager
async def http_of(worker: Worker) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(make_http(worker))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
        yield http


async def memories(http: httpx.AsyncClient, user: str) -> httpx.Response:
    return await http.get("/v1/memories", params={"user_id": user})


async def until_answered(ask: Callable[[], Awaitable[httpx.Response]]) -> httpx.Response:
    """Ask until the answer is not that it is to be asked again."""
    async with asyncio.timeout(DRAIN_SECONDS):
        while (answer := await ask()).status_code == httpx.codes.SERVICE_UNAVAILABLE:  # noqa: ASYNC110 - as a client
            await asyncio.sleep(0.02)
    return answer


async def again(call: Callable[[], Awaitable[object]]) -> None:
    """Call as a client does that is told to ask again in a moment."""
    async with asyncio.timeout(DRAIN_SECONDS):
        while True:
            try:
                await call()
            except (NotHeld, ShardDamaged):
                await asyncio.sleep(0.05)
            else:
                return


async def whole_digests(worker: Worker) -> dict[str, str]:
    """Return the digests over all partitions, when everything in the log is decided, and no damage is left."""
    found: dict[str, str] = {}

    async def read() -> None:
        nonlocal found
        leases = worker.shards.assignment.leases()
        await worker.drain.run_local(DRAIN_SECONDS)
        found = await worker.shards.users.digests()
        if len(leases) < PARTITIONS or leases != worker.shards.assignment.leases():
            raise NotHeld(0)

    await again(read)
    return found


@pytest.mark.parametrize("encryption", ["on", "off"])
async def test_a_page_that_was_changed_before_a_start_hinders_its_partition_alone(tmp_path: Path, encryption: str):
    async with running(tmp_path, encryption=encryption) as worker:
        await live_through(worker)
        before, path = await worker.shards.users.digests(), worker.shards.of(LIN).path
    flip_pages(path)
    async with running(tmp_path, encryption=encryption) as worker, http_of(worker) as http:
        assert (await memories(http, MAYA.user_id)).status_code == httpx.codes.OK
        await until_answered(lambda: memories(http, LIN.user_id))
        assert await worker.shards.users.digests() == before
        assert worker.failure is not None
        assert not worker.failure.done()
    assert path.with_name(f"{path.name}.damaged").exists()


@pytest.mark.parametrize("encryption", ["on", "off"])
async def test_a_worker_starts_although_the_shard_of_global_memories_is_damaged(tmp_path: Path, encryption: str):
    async with running(tmp_path, encryption=encryption) as worker:
        await live_through(worker)
        before, path = await worker.shards.users.digests(), worker.shards.globals.path
    flip_pages(path)
    async with running(tmp_path, encryption=encryption) as worker, http_of(worker) as http:
        await until_answered(lambda: memories(http, LIN.user_id))
        assert await worker.shards.users.digests() == before


async def test_while_a_damaged_shard_is_folded_anew_the_others_are_answered_and_everything_names_it(tmp_path: Path):
    async with running(tmp_path) as worker, http_of(worker) as http:
        await live_through(worker)
        partition = worker.shards.partition(LIN)
        known = (await memories(http, LIN.user_id)).json()
        damage(worker.shards.of(LIN))
        async with worker.shards.takeover._opening[partition]:
            first = await memories(http, LIN.user_id)
            assert (first.status_code, WAITS in first.json()["detail"]) == (503, True)
            await asyncio.sleep(0)  # what is found in any thread is reported to the event loop
            second = await memories(http, LIN.user_id)
            assert second.json()["detail"].startswith(f"partition {partition} is not answered yet: {tmp_path}")
            assert (await memories(http, MAYA.user_id)).status_code == httpx.codes.OK
            remembered = await http.post("/v1/memories", json={"user_id": "maya", "content": "She plays the oboe."})
            assert remembered.status_code in (200, 201)
            ready = await http.get("/health/ready")
            assert (ready.status_code, WAITS in ready.json()["detail"]) == (503, True)
            checks = (await http.get("/v1/admin/checks")).json()["checks"]
            assert [c["name"] for c in checks if not c["ok"] and WAITS in c["detail"]] == ["partition"]
            scraped = (await http.get("/metrics")).text
            assert f'mnemolog_waiting_partitions{{partition="{partition}"}} 1.0' in scraped
        assert (await until_answered(lambda: memories(http, LIN.user_id))).json() == known
        assert (await http.get("/health/ready")).status_code == httpx.codes.OK
        assert "mnemolog_waiting_partitions{" not in (await http.get("/metrics")).text
        assert worker.failure is not None
        assert not worker.failure.done()
        assert (await worker.rebuild.run("all"))["equal"]


async def test_what_was_in_work_when_damage_was_found_is_decided_afterwards(tmp_path: Path):
    messages = sample()
    async with running(tmp_path / "whole") as worker:
        await publish(worker, messages)
        await worker.drain.run_local(DRAIN_SECONDS)
        expected = await worker.shards.users.digests()
    async with running(tmp_path / "damaged") as worker:
        for begin in range(0, len(messages), len(messages) // 4):
            part = messages[begin : begin + len(messages) // 4]
            await again(lambda part=part: publish(worker, part))  # type: ignore[misc]
            for shard in worker.shards.all():
                with suppress(ShardDamaged):  # found meanwhile
                    damage(shard)
        assert await whole_digests(worker) == expected
        answer = await worker.commands.remember(LIN, Fact(content="Lin collects stamps"), "stamps")
        assert answer.outcome is not None
        assert worker.failure is not None
        assert not worker.failure.done()
        assert (await worker.rebuild.run("all"))["equal"]


async def test_damage_in_the_global_memories_is_mended_under_the_worker(tmp_path: Path):
    async with running(tmp_path) as worker, http_of(worker) as http:
        await live_through(worker)
        before = await worker.shards.users.digests()
        damage(worker.shards.globals)
        question = {"user_id": LIN.user_id, "query": "when does the office close"}
        answer = await until_answered(lambda: http.post("/v1/search", json=question))
        assert "The office closes at six" in [one["memory"] for one in answer.json()["results"] if "memory" in one]
        assert await worker.shards.users.digests() == before
        assert worker.failure is not None
        assert not worker.failure.done()
