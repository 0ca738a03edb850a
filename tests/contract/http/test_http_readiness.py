"""Readiness: a worker that says it is ready answers the next request."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import httpx
from contract.front_door import HashEmbedder, front_door
from support.free_ports import free_ports
from support.mnemolog_up import ForkedUp

from mnemolog.http.app import make_http
from mnemolog.operations.generations import active_folder
from mnemolog.settings import Settings
from mnemolog.worker.worker import Worker
from projections.partitions.generation import path_in

if TYPE_CHECKING:
    from pathlib import Path

LOOK_SECONDS = 0.005
READY_SECONDS = 240.0
"""Only what hangs takes so long."""
USERS = [f"u{number}" for number in range(12)]
"""Enough for some in each partition."""


async def refusal(http: httpx.AsyncClient, path: str, reason: str) -> None:
    """Ask again and again until the refusal gives the reason; meanwhile the worker may only be starting."""
    async with asyncio.timeout(READY_SECONDS):
        while True:
            answer = await http.get(path)
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
            if reason in answer.json()["detail"]:
                return
            assert "starting" in answer.json()["detail"]
            await asyncio.sleep(LOOK_SECONDS)


async def until_ready(http: httpx.AsyncClient) -> int:
    """Ask again and again; return how often it was refused."""
    refused = 0
    async with asyncio.timeout(READY_SECONDS):
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                answer = await http.get("/health/ready")
            except httpx.TransportError:
                continue
            if answer.status_code == 200:
                return refused
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
            refused += 1


async def searched(http: httpx.AsyncClient, user: str) -> list[str]:
    """Search once; who is refused fails."""
    body = {"user_id": user, "query": "coffee", "recall": False}
    answer = await http.post("/v1/search", json=body)
    assert answer.status_code == 200, answer.text
    return [one["memory"] for one in answer.json()["results"]]


async def test_at_the_moment_that_a_worker_turns_ready_every_request_is_answered(tmp_path: Path):
    [port] = free_ports(1)
    up = ForkedUp(tmp_path, port)
    try:
        async with httpx.AsyncClient(base_url=up.url, timeout=120) as http:
            refused = await until_ready(http)
            facts = [{"user_id": user, "content": f"{user} drinks coffee"} for user in USERS]
            for answer in await asyncio.gather(*(http.post("/v1/memories", json=fact) for fact in facts)):
                assert answer.status_code == 201, answer.text
    finally:
        up.process.kill()
        up.end()
    up = ForkedUp(tmp_path, port)
    try:
        async with httpx.AsyncClient(base_url=up.url, timeout=120) as http:
            refused += await until_ready(http)
            found = await asyncio.gather(*(searched(http, user) for user in USERS))
            assert found == [[fact["content"]] for fact in facts]
        assert refused > 0, "it listens before it is ready"
    finally:
        up.process.kill()
        _, said = up.end()
    first, *later = said.splitlines()
    assert f"mnemolog is starting: the whole system in this process, with its data in {tmp_path}" in first
    assert f"mnemolog answers at {up.url}" in later[-1]


async def test_a_worker_whose_partitions_move_is_not_ready_until_it_holds_them_again(tmp_path: Path):
    async with front_door(tmp_path) as door:
        for user in USERS:
            await door.remember(f"{user} drinks coffee", user)
        held = door.worker.shards.held()
        door.worker.group.revoked(held)
        refused = await door.get("/health/ready")
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        assert "partitions are moving" in refused.json()["detail"]
        assert (await door.get("/health/live")).status_code == 200
        door.worker.group.assigned(held)
        assert (await door.get("/health/ready")).status_code == 503, "nothing is folded yet"
        await until_ready(door.http)
        assert await asyncio.gather(*(searched(door.http, user) for user in USERS)) == [
            [f"{user} drinks coffee"] for user in USERS
        ]


async def test_a_worker_that_cannot_write_a_shard_while_it_starts_says_why_and_starts_when_it_can(tmp_path: Path):
    async with front_door(tmp_path) as door:
        files = [path_in(active_folder(tmp_path), partition) for partition in door.worker.shards.held()]
    aside = [file.rename(file.with_suffix(".aside")) for file in files]
    for file in files:  # all: where another partition can be served, the worker starts
        file.mkdir()  # a folder in its place stands for a disk that is full, and for a file that may not be written
    worker = Worker(Settings(data_dir=tmp_path, partitions=2), embedder=HashEmbedder())
    transport = httpx.ASGITransport(make_http(worker))
    starting = asyncio.create_task(worker.start())
    try:
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
            for path in ("/health/ready", "/v1/memories?user_id=u1"):
                await refusal(http, path, "unable to open database file")
            assert not starting.done()
            for file, moved in zip(files, aside, strict=True):
                file.rmdir()
                moved.rename(file)
            await until_ready(http)
    finally:
        starting.cancel()
        await asyncio.gather(starting, return_exceptions=True)
        await worker.stop()
