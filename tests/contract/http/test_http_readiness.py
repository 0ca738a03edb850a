"""Readiness: a worker that says it is ready answers the next request."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import httpx
from contract.front_door import front_door
from support.free_ports import free_ports
from support.mnemolog_up import Up

if TYPE_CHECKING:
    from pathlib import Path

LOOK_SECONDS = 0.005
READY_SECONDS = 240.0
"""Only what hangs takes so long."""
USERS = [f"u{number}" for number in range(12)]
"""Enough for some in each partition."""


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
    up = Up(tmp_path, port)
    try:
        async with httpx.AsyncClient(base_url=up.url, timeout=120) as http:
            refused = await until_ready(http)
            facts = [{"user_id": user, "content": f"{user} drinks coffee"} for user in USERS]
            for answer in await asyncio.gather(*(http.post("/v1/memories", json=fact) for fact in facts)):
                assert answer.status_code == 201, answer.text
    finally:
        up.process.kill()
        up.end()
    up = Up(tmp_path, port)
    try:
        async with httpx.AsyncClient(base_url=up.url, timeout=120) as http:
            refused += await until_ready(http)
            found = await asyncio.gather(*(searched(http, user) for user in USERS))
            assert found == [[fact["content"]] for fact in facts]
        assert refused > 0, "it listens before it is ready"
    finally:
        up.process.kill()
        up.end()


async def test_a_worker_whose_partitions_move_is_not_ready_until_it_holds_them_again(tmp_path: Path):
    async with front_door(tmp_path) as door:
        for user in USERS:
            await door.remember(f"{user} drinks coffee", user)
        held = door.worker.shards.held()
        door.worker.revoked(held)
        refused = await door.get("/health/ready")
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        assert "partitions are moving" in refused.json()["detail"]
        assert (await door.get("/health/live")).status_code == 200
        door.worker.assigned(held)
        assert (await door.get("/health/ready")).status_code == 503, "nothing is folded yet"
        await until_ready(door.http)
        assert await asyncio.gather(*(searched(door.http, user) for user in USERS)) == [
            [f"{user} drinks coffee"] for user in USERS
        ]
