"""Webhooks of two workers with Kafka: either registers, one posts, and the other goes on when that one is killed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from engines.several import SOON_SECONDS, Several, held_here, two_workers
from support.webhook_receiver import webhook_receiver

from schemas.topics import partition_of

if TYPE_CHECKING:
    from pathlib import Path

USERS = 12
PARTITIONS = 8


async def poster_of(two: Several, webhook_id: str) -> int:
    """Return which worker posts for a webhook."""
    return 0 if partition_of(webhook_id.encode(), PARTITIONS) in await held_here(two, 0) else 1


async def add(two: Several, number: int, url: str) -> dict[str, Any]:
    webhook: dict[str, Any] = await two.json(number, "POST", "/v1/webhooks", {"url": url, "types": ["MemoryFormed"]})
    return webhook


async def test_the_other_worker_goes_on_where_a_killed_one_was(tmp_path: Path):
    async with webhook_receiver() as receiver, two_workers(tmp_path, "embedded", WEBHOOK_HOSTS="127.0.0.1") as two:
        webhook = await add(two, 0, receiver.url)
        poster = await poster_of(two, webhook["webhook_id"])
        stays = 1 - poster
        async with asyncio.timeout(SOON_SECONDS):  # the other one follows the topic too
            while not (await two.json(stays, "GET", "/v1/webhooks"))["items"]:  # noqa: ASYNC110 - another process
                await asyncio.sleep(0.2)
        made = {f"u{n}": [(await two.remember(n % 2, f"u{n}", "first"))["memory_id"]] for n in range(USERS)}
        await receiver.until(lambda: len({item["event_id"] for item in receiver.items}) == USERS, SOON_SECONDS)
        receiver.status = 500  # what follows is tried, refused, and not lost with the worker
        for user, ids in made.items():
            ids.append((await two.remember(0, user, "second"))["memory_id"])
        came = len(receiver.came)
        await receiver.until(lambda: len(receiver.came) > came, SOON_SECONDS)
        two.workers[poster].kill()
        receiver.status = 204
        await receiver.until(lambda: len({item["event_id"] for item in receiver.items}) == 2 * USERS, SOON_SECONDS)
        for user, ids in made.items():
            heard = dict.fromkeys(item["memory_id"] for item in receiver.items if item["user_id"] == user)
            assert list(heard) == ids
        state = await two.json(stays, "GET", f"/v1/webhooks/{webhook['webhook_id']}")
        assert state["given_up"] == 0
