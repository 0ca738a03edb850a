"""Who did it: the key that a request was sent with stands in the history of the memories that it changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx
import pytest
import pytest_asyncio
from contract.front_door import FrontDoor, front_door, turn
from contract.keyed_door import keyed_door

from mnemolog.access import key_file
from mnemolog.access.principal import PRINCIPAL, Principal, Role
from mnemolog.cluster.trust import FORWARDED
from mnemolog.http.app import make_http
from mnemolog.http.peer_door import FROM_PEER
from schemas.identity import DEFAULT_TENANT, Owner

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from starlette.types import Receive, Scope, Send

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def door(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[FrontDoor]:
    async with front_door(tmp_path_factory.mktemp("worker")) as opened:
        yield opened


def with_key(door: FrontDoor, key_id: str) -> httpx.AsyncClient:
    """Return a client whose requests come with a key, as the edge leaves it in their scope."""
    return with_scope(door, {PRINCIPAL: Principal(DEFAULT_TENANT, frozenset(Role), key_id)})


def with_scope(door: FrontDoor, more: dict[str, object]) -> httpx.AsyncClient:
    """Return a client whose requests have more in their scope."""
    app = make_http(door.worker)

    async def keyed(scope: Scope, receive: Receive, send: Send) -> None:
        await app({**scope, **more}, receive, send)

    return httpx.AsyncClient(transport=httpx.ASGITransport(keyed), base_url="http://127.0.0.1")


async def authors(door: FrontDoor, memory_id: str) -> list[tuple[str, str | None]]:
    """Return the type of each event about a memory, and whose it was."""
    answer = (await door.get(f"/v1/memories/{memory_id}/history")).json()
    return [(event["type"], event["by"]) for event in answer["events"]]


async def remembered(client: httpx.AsyncClient, user_id: str, content: str, **more: object) -> str:
    answer = await client.post("/v1/memories", json={"user_id": user_id, "content": content} | more)
    assert answer.status_code == 201, answer.text
    memory_id: str = answer.json()["memory_id"]
    return memory_id


async def formed_of(client: httpx.AsyncClient, *events: dict[str, Any]) -> str:
    """Publish events, and return the first memory that the first one led to."""
    answer = await client.post("/v1/events", json=list(events), params={"wait": "10"})
    assert answer.status_code == 200, answer.text
    memory_id: str = answer.json()["accepted"][0]["memory_ids"][0]
    return memory_id


async def test_each_command_is_by_the_key_that_it_came_with(door: FrontDoor):
    async with with_key(door, "k-ann") as ann, with_key(door, "k-ben") as ben:
        memory_id = await remembered(ann, "two-keys", "likes tea", agent_id="nova")
        path = f"/v1/memories/{memory_id}"
        for done in (
            await ben.patch(path, json={"importance": 0.9}),
            await ann.post(f"{path}/share", json={"agent_id": "luna"}),
            await ben.delete(path),
            await ann.post(f"{path}/restore"),
        ):
            assert done.status_code == 200, done.text
    found = await authors(door, memory_id)
    assert found == [
        ("MemoryFormed", "k-ann"), ("MemoryRevised", "k-ben"), ("MemoryRevised", "k-ann"),
        ("MemoryForgotten", "k-ben"), ("MemoryRestored", "k-ann"),
    ]  # fmt: skip


async def test_without_a_key_it_is_by_nobody(door: FrontDoor):
    memory = await door.remember("likes tea", "no-key")
    assert await authors(door, memory["memory_id"]) == [("MemoryFormed", None)]


async def test_a_command_repeated_with_another_key_is_the_same_command_and_by_the_first(door: FrontDoor):
    """A key that was exchanged between a request and its repeat must not make the repeat another command."""
    sent: dict[str, Any] = {
        "json": {"user_id": "rotated", "content": "plays go"},
        "headers": {"Idempotency-Key": "r"},
    }
    async with with_key(door, "k-old") as old, with_key(door, "k-new") as new:
        first, second = await old.post("/v1/memories", **sent), await new.post("/v1/memories", **sent)
    assert (first.status_code, second.status_code) == (201, 201)
    assert await authors(door, first.json()["memory_id"]) == [("MemoryFormed", "k-old")]


async def test_a_memory_of_published_turns_is_by_their_key(door: FrontDoor):
    said = turn("by-1", "My birthday is May 4.", user_id="said", session_id="by-1")
    ended = {"type": "SessionEnded", "event_id": "by-end", "user_id": "said", "session_id": "by-1"}
    async with with_key(door, "k-ann") as ann:
        memory_id = await formed_of(ann, said, ended)
    assert await authors(door, memory_id) == [("MemoryFormed", "k-ann")]


async def test_a_turn_cannot_say_whose_it_is(door: FrontDoor):
    refused = await door.post("/v1/events", turn("claims", "My birthday is May 4.", by="k-ann"))
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["path"] == "$.by"


async def test_a_conversation_and_its_repeat_with_another_key_are_the_same_turns(door: FrontDoor):
    body = {"user_id": "talk", "messages": [{"role": "user", "content": "My birthday is May 4."}]}
    async with with_key(door, "k-ann") as ann, with_key(door, "k-ben") as ben:
        first, second = [await one.post("/v1/conversations", json=body, params={"wait": "10"}) for one in (ann, ben)]
    assert (first.status_code, second.status_code) == (200, 200)
    [memory_id] = first.json()["accepted"][0]["memory_ids"]
    assert second.json()["accepted"][0]["position"] == first.json()["accepted"][0]["position"]
    assert await authors(door, memory_id) == [("MemoryFormed", "k-ann")]


async def test_an_import_is_by_who_imports_and_an_export_says_so(door: FrontDoor):
    async with with_key(door, "k-ann") as ann:
        await remembered(ann, "moves", "plays the cello")
    exported = await door.get("/v1/users/moves/export")
    async with with_key(door, "k-ben") as ben:
        answer = await ben.post(
            "/v1/import", content=exported.content, params={"user_id": "moved-in"},
            headers={"Content-Type": "application/x-ndjson"},
        )  # fmt: skip
    assert answer.status_code == 200, answer.text
    assert '"by":"k-ann"' in exported.text
    assert await authors(door, answer.json()["items"][0]["memory_id"]) == [("MemoryImported", "k-ben")]


async def test_what_another_worker_was_asked_to_import_is_by_its_caller(door: FrontDoor):
    """Between workers lines stay as they were sent: the caller stands beside them."""
    lines = [{"type": "Memory", "content": "plays the harp", "user_id": "afar", "memory_id": "m-1"}]
    body = {"tenant": DEFAULT_TENANT, "user_id": None, "snapshots": lines, "wait": 5}
    ann = Principal(DEFAULT_TENANT, frozenset(Role), "k-ann")
    async with with_scope(door, {FROM_PEER: ann, PRINCIPAL: ann}) as worker:
        answer = await worker.post("/v1/internal/import", json=body, headers={FORWARDED: "http://127.0.0.1:1"})
    assert answer.status_code == 200, answer.text
    assert await authors(door, answer.json()["items"][0]["memory_id"]) == [("MemoryImported", "k-ann")]


async def test_the_key_of_a_caller_is_the_one_in_the_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """From the header of a request to the history, with keys from their file."""
    monkeypatch.setattr(key_file, "LOOK_SECONDS", 0.0)  # what was written counts at once
    async with keyed_door(tmp_path) as door:
        ann, ben = (door.caller(Role.READ, Role.WRITE) for _ in range(2))
        formed = await ann.ask("POST", "/v1/memories", {"user_id": "u1", "content": "likes tea"})
        assert formed.status_code == 201, formed.text
        memory_id = formed.json()["memory_id"]
        assert (await ben.ask("DELETE", f"/v1/memories/{memory_id}")).status_code == 200
        answer = await ann.ask("GET", f"/v1/memories/{memory_id}/history")
    assert [event["by"] for event in answer.json()["events"]] == [ann.key.key_id, ben.key.key_id]


async def test_a_copy_for_another_user_is_by_who_shared_it(door: FrontDoor):
    async with with_key(door, "k-ann") as ann, with_key(door, "k-ben") as ben:
        memory_id = await remembered(ann, "gives", "plays the flute")
        copied = await ben.post(f"/v1/memories/{memory_id}/share", json={"user_id": "takes", "agent_id": "luna"})
        assert copied.status_code == 201, copied.text
        again = await ann.post(f"/v1/memories/{memory_id}/share", json={"user_id": "takes", "agent_id": "sol"})
        assert again.status_code == 200, again.text
    assert await authors(door, copied.json()["memory_id"]) == [("MemoryImported", "k-ben"), ("MemoryRevised", "k-ann")]


async def test_reminders_and_wakes_are_by_their_key(door: FrontDoor):
    async with with_key(door, "k-ann") as ann:
        reminder = {"due_at": "2099-01-05T08:00:00Z", "content": "water the plants", "channel": "dm"}
        assert (await ann.post("/v1/users/wakes/reminders", json=reminder)).status_code == 201
        assert (await ann.put("/v1/users/wakes/wake", json={"every_seconds": 3600})).status_code == 200
    wakes = door.worker.shards.state(Owner(DEFAULT_TENANT, "wakes")).wakes
    assert wakes.configured is not None
    assert [one.envelope.by for one in (*wakes.reminders.values(), wakes.configured)] == ["k-ann", "k-ann"]
