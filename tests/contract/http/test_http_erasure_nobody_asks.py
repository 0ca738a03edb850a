"""An erasure that is decided when nobody waits for it any more is completed all the same."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from contract.front_door import FrontDoor, front_door

from mnemolog.commands import commands
from schemas.identity import Owner
from schemas.topics import INBOX
from streams.agents.remember import Remember

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

OWNER = Owner("default", "zara")
HEADERS = {"Idempotency-Key": "once"}


@pytest.fixture
async def door(tmp_path: Path) -> AsyncIterator[FrontDoor]:
    async with front_door(tmp_path) as door:
        yield door


@pytest.fixture
def may_decide(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Have decisions wait, and those who ask for them give up soon, once the event is cleared."""
    event, decide = asyncio.Event(), Remember._remember
    event.set()

    async def when_it_may(self: Remember, items: Any) -> None:
        await event.wait()
        await decide(self, items)

    monkeypatch.setattr(Remember, "_remember", when_it_may)
    return event


async def listed(door: FrontDoor) -> list[dict[str, Any]]:
    async with asyncio.timeout(120):
        while not (items := (await door.get("/v1/erasures")).json()["items"]):  # noqa: ASYNC110 - over HTTP
            await asyncio.sleep(0.05)
    return list(items)


@pytest.mark.parametrize("what", ["user", "memory"])
async def test_it_is_on_the_list_without_being_asked_for_again(
    door: FrontDoor, may_decide: asyncio.Event, monkeypatch: pytest.MonkeyPatch, what: str
):
    memory = await door.remember("zara keeps a quokka", "zara")
    path = "/v1/users/zara" if what == "user" else f"/v1/memories/{memory['memory_id']}?forever=true"
    monkeypatch.setattr(commands, "DECISION_SECONDS", 0.1)
    may_decide.clear()
    assert (await door.http.delete(path, headers=HEADERS)).status_code == 503
    may_decide.set()
    [item] = await listed(door)
    assert (await door.get("/v1/memories", user_id="zara")).json()["items"] == []
    again = await door.http.delete(path, headers=HEADERS)
    assert (again.status_code, again.json()["receipt_id"]) == (200, item["receipt_id"])


async def test_a_request_that_is_repeated_before_the_first_is_decided_is_the_same_one(
    door: FrontDoor, may_decide: asyncio.Event, monkeypatch: pytest.MonkeyPatch
):
    await door.remember("zara keeps a quokka", "zara")
    may_decide.clear()
    with monkeypatch.context() as patched:
        patched.setattr(commands, "DECISION_SECONDS", 0.1)
        assert (await door.http.delete("/v1/users/zara", headers=HEADERS)).status_code == 503
    partition = door.worker.shards.partition(OWNER)
    end = await door.worker.log.end(INBOX.name, partition)
    await door.post("/v1/events", {"type": "SessionEnded", "event_id": "e", "user_id": "zara", "session_id": "s"})
    repeated = asyncio.create_task(door.http.delete("/v1/users/zara", headers=HEADERS))
    async with asyncio.timeout(120):
        while await door.worker.log.end(INBOX.name, partition) == end:  # noqa: ASYNC110 - nobody tells of it
            await asyncio.sleep(0.01)
    may_decide.set()
    answer = await repeated
    assert answer.status_code == 200, answer.text
    [item] = await listed(door)
    assert answer.json()["receipt_id"] == item["receipt_id"]
