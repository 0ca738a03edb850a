"""A shard that cannot be opened keeps the users of its partition from being answered, and no others."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from contract.front_door import front_door

from schemas.identity import Owner

if TYPE_CHECKING:
    from pathlib import Path

    from contract.front_door import FrontDoor

USERS = [f"u{number}" for number in range(1, 9)]
SAYS = "unable to open database file; make it and its folder readable and writable for this user, and folding goes on"


async def contents(door: FrontDoor, user: str) -> list[str]:
    items = (await door.get("/v1/memories", user_id=user)).json()["items"]
    return sorted(item["content"] for item in items)


async def test_at_a_start_users_of_other_partitions_are_answered_and_its_own_when_it_is_mended(tmp_path: Path):
    async with front_door(tmp_path / "data") as door:
        for user in USERS:
            await door.remember("likes coffee", user_id=user)
        hindered = door.worker.shards.partition(Owner("default", USERS[0]))
        elsewhere = [u for u in USERS if door.worker.shards.partition(Owner("default", u)) != hindered]
        digest = (await door.get("/v1/admin/digest")).json()
    file = tmp_path / "data" / "shards" / "1" / f"{hindered}.sqlite"
    file.rename(tmp_path / "aside")
    file.mkdir()
    async with asyncio.timeout(60), front_door(tmp_path / "data") as door:
        for user in elsewhere:
            assert await contents(door, user) == ["likes coffee"]
        for refused in (
            await door.get("/v1/memories", user_id=USERS[0]),
            await door.post("/v1/memories", {"user_id": USERS[0], "content": "likes tea"}),
            await door.post("/v1/search", {"user_id": USERS[0], "query": "coffee"}),
            await door.get("/v1/admin/digest"),
            await door.get("/v1/changes"),
            await door.get("/v1/wakes/stream"),
        ):
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
            assert f"partition {hindered} is not answered yet: {file}: {SAYS}" in refused.json()["detail"]
        ready = await door.get("/health/ready")
        assert (ready.status_code, SAYS in ready.json()["detail"]) == (503, True)
        await door.remember("likes tea", user_id=elsewhere[0])
        file.rmdir()
        (tmp_path / "aside").rename(file)
        while (await door.get("/health/ready")).status_code == 503:  # noqa: ASYNC110 - it goes on by itself
            await asyncio.sleep(0.1)
        assert await contents(door, USERS[0]) == ["likes coffee"]
        await door.remember("likes tea", user_id=USERS[0])
        assert await contents(door, USERS[0]) == ["likes coffee", "likes tea"]
        assert (await door.get("/v1/admin/digest")).json() != digest
