"""The ledger on Kafka for consumers without mnemolog: schemas from the registry, words by the master key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from engines.several import Several, two_workers
from support.ledger_reader import LedgerReader
from support.master_key import MASTER_KEY

if TYPE_CHECKING:
    from pathlib import Path

    from support.registry_server import RegistryServer

FEED_LIMIT = 500


async def fed(two: Several) -> list[tuple[str, str, str | None]]:
    """Return the changes that our own feed says."""
    page = await two.json(0, "GET", f"/v1/changes?limit={FEED_LIMIT}")
    assert not page["more"]
    return [(item["type"], item["user_id"], item["memory_id"]) for item in page["items"]]


def in_order(changes: list[Any]) -> dict[str, list[Any]]:
    """Return the changes of each user."""
    return {user: [one for one in changes if one[1] == user] for user in {one[1] for one in changes}}


@pytest.mark.parametrize("encryption", ["on", "off"])
async def test_a_reader_of_its_own_says_what_the_feed_says(registry: RegistryServer, tmp_path: Path, encryption: str):
    settings = {"SCHEMA_REGISTRY_URL": registry.url, "ENCRYPTION": encryption}
    async with two_workers(tmp_path, "embedded", **settings) as two:
        broker = two.workers[0]._environment["MNEMOLOG_BROKER"].removeprefix("kafka://")
        made = {}
        for n in range(6):
            first = await two.remember(n % 2, f"u{n}", f"likes number {n}", attribute="likes", value=f"number {n}")
            made[f"u{n}"] = first["memory_id"]
            await two.remember(n % 2, f"u{n}", f"has a dog called Rex {n}")
        path = f"/v1/memories/{made['u0']}"
        await two.json(1, "PATCH", f"{path}?user_id=u0", {"content": "likes number zero"})
        await two.json(1, "DELETE", f"{path}?user_id=u0")
        if encryption == "on":  # without, Kafka cannot erase one memory
            await two.json(1, "DELETE", f"/v1/memories/{made['u1']}?user_id=u1&forever=true")
        await two.json(1, "DELETE", "/v1/users/u2")
        await two.remember(0, "u2", "is new here")
        found = await LedgerReader(broker, registry.url, MASTER_KEY).events()
        words = {one[3] for one in found}
        assert in_order([one[:3] for one in found]) == in_order(await fed(two))
        assert {b"likes number zero", b"has a dog called Rex 1", b"is new here"} <= words
        if encryption == "on":
            assert not {b"likes number 1", b"likes number 2", b"has a dog called Rex 2"} & words
