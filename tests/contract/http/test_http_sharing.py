"""Sharing over HTTP: with another agent, another user, or everyone; once, and as a snapshot of what it was."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import pytest_asyncio
from contract.front_door import FrontDoor, front_door, turn

from mnemolog import AsyncClient
from mnemolog.http.app import make_http

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def door(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[FrontDoor]:
    async with front_door(tmp_path_factory.mktemp("worker")) as opened:
        yield opened


async def shared(door: FrontDoor, memory: dict[str, Any], status: int, **target: str) -> dict[str, Any]:
    """Share a memory, and return what the other has then."""
    response = await door.post(f"/v1/memories/{memory['memory_id']}/share", target)
    assert response.status_code == status, response.text
    answer: dict[str, Any] = response.json()
    return answer


async def seen(door: FrontDoor, user_id: str, query: str, **more: object) -> list[str]:
    """Return the ids of what a user, or an agent of theirs, finds."""
    asked = {"user_id": user_id, "query": query, "recall": False, "include_global": False} | more
    return [one["memory_id"] for one in (await door.post("/v1/search", asked)).json()["results"]]


async def test_another_agent_inherits_a_memory(door: FrontDoor):
    memory = await door.remember("likes jasmine tea", "heir", agent_id="luna", attribute="likes", value="jasmine tea")
    assert await seen(door, "heir", "jasmine", agent_id="aria") == []
    for _ in range(2):
        answer = await shared(door, memory, 200, agent_id="aria")
        assert (answer["memory_id"], answer["agent_id"]) == (memory["memory_id"], "luna")
        assert (answer["shared_with"], answer["version"]) == (["aria"], 2)
    for agent_id, expected in (("luna", [memory["memory_id"]]), ("aria", [memory["memory_id"]]), ("nova", [])):
        assert await seen(door, "heir", "jasmine", agent_id=agent_id) == expected, agent_id
        listed = (await door.get("/v1/memories", user_id="heir", agent_id=agent_id)).json()["items"]
        assert [one["memory_id"] for one in listed] == expected, agent_id
        context = (await door.post("/v1/context", {"user_id": "heir", "agent_id": agent_id, "query": "tea"})).json()
        assert ("jasmine" in context["block"], context["total_memories"]) == (bool(expected), len(expected)), agent_id
        likes = (await door.get("/v1/users/heir/profile", agent_id=agent_id)).json()["likes"]
        assert likes == ["jasmine tea"] * len(expected), agent_id
    events = (await door.get(f"/v1/memories/{memory['memory_id']}/history")).json()["events"]
    assert [(one["type"], one["reason"]) for one in events[1:]] == [("MemoryRevised", "shared")]
    assert (events[1]["before"]["shared_with"], events[1]["after"]["shared_with"]) == ([], ["aria"])


async def test_hidden_memories_do_not_take_the_place_of_those_an_agent_may_see(door: FrontDoor):
    """The index does not know with whom a memory was shared: what it finds for others must not use up the limit."""
    for number in range(12):
        memory = await door.remember(f"jasmine tea number {number}", "crowd", agent_id="luna")
        await shared(door, memory, 200, agent_id="nova")
    own = await door.remember("some green tea with jasmine", "crowd", agent_id="aria")
    assert await seen(door, "crowd", "jasmine tea", agent_id="aria", limit=3) == [own["memory_id"]]
    assert len(await seen(door, "crowd", "jasmine tea", agent_id="nova", limit=100)) == 12


async def test_sharing_with_a_user_is_a_copy_that_names_its_source(door: FrontDoor):
    await door.post("/v1/events", turn("g-1", "I live in Berlin.", user_id="giver", agent_id="luna"))
    await door.post("/v1/admin/drain")
    [memory] = (await door.get("/v1/memories", user_id="giver")).json()["items"]
    assert memory["attribute"] == "city"
    copy = await shared(door, memory, 201, user_id="taker")
    assert copy["memory_id"] != memory["memory_id"]
    expected = {
        "user_id": "taker", "agent_id": None, "scope": "personal", "content": memory["content"], "source_ids": [],
        "source_type": "import", "attribute": None, "value": None, "access_count": 0, "status": "active",
        "category": memory["category"], "importance": memory["importance"], "occurred_at": memory["occurred_at"],
        "metadata": {"shared_from": {"user_id": "giver", "memory_id": memory["memory_id"]}},
    }  # fmt: skip
    assert {name: copy[name] for name in expected} == expected
    assert await seen(door, "taker", "Berlin") == [copy["memory_id"]]
    assert (await door.get("/v1/users/taker/profile")).json()["city"] is None, "it is about somebody else"
    events = (await door.get(f"/v1/memories/{copy['memory_id']}/history")).json()["events"]
    assert [one["type"] for one in events] == ["MemoryImported"]


async def test_sharing_with_a_user_twice_is_once_however_the_source_went_on(door: FrontDoor):
    memory = await door.remember("the spare key is in the shed", "twice")
    copy = await shared(door, memory, 201, user_id="twice-taker")
    await door.http.patch(f"/v1/memories/{memory['memory_id']}", json={"importance": 0.9})
    assert (await shared(door, memory, 200, user_id="twice-taker"))["memory_id"] == copy["memory_id"]
    listed = (await door.get("/v1/memories", user_id="twice-taker")).json()
    assert [(one["memory_id"], one["importance"]) for one in listed["items"]] == [(copy["memory_id"], 0.5)]


async def test_what_the_source_forgets_stays_with_whom_it_was_shared(door: FrontDoor):
    memory = await door.remember("the code is in the drawer", "forgets")
    copy = await shared(door, memory, 201, user_id="keeps")
    await door.http.delete(f"/v1/memories/{memory['memory_id']}")
    assert (await door.get("/v1/memories", user_id="forgets")).json()["items"] == []
    assert await seen(door, "keeps", "drawer") == [copy["memory_id"]]


async def test_what_the_target_forgot_is_not_shared_again(door: FrontDoor):
    memory = await door.remember("the meeting is at nine", "sharer")
    copy = await shared(door, memory, 201, user_id="unwilling")
    await door.http.delete(f"/v1/memories/{copy['memory_id']}")
    assert "forgotten" in (await shared(door, memory, 409, user_id="unwilling"))["detail"]
    assert await seen(door, "unwilling", "meeting") == []


async def test_what_the_target_knows_word_for_word_is_left_alone(door: FrontDoor):
    memory = await door.remember("the pool opens at seven", "knows-a")
    own = await door.remember("The pool opens at seven.", "knows-b")
    answer = await shared(door, memory, 200, user_id="knows-b")
    assert (answer["memory_id"], answer["access_count"]) == (own["memory_id"], 0)
    assert (await shared(door, own, 200, user_id="knows-a"))["memory_id"] == memory["memory_id"]


async def test_an_agent_of_another_user_may_be_named(door: FrontDoor):
    memory = await door.remember("rides a red bicycle", "agents-a", agent_id="luna")
    assert (await shared(door, memory, 201, user_id="agents-b", agent_id="aria"))["agent_id"] == "aria"
    assert len(await seen(door, "agents-b", "bicycle", agent_id="aria")) == 1
    assert await seen(door, "agents-b", "bicycle", agent_id="luna") == []


async def test_a_copy_is_shared_with_each_agent_of_another_user_that_is_named(door: FrontDoor):
    memory = await door.remember("rides a green scooter", "each-a")
    copy = await shared(door, memory, 201, user_id="each-b", agent_id="aria")
    for _ in range(2):
        again = await shared(door, memory, 200, user_id="each-b", agent_id="nova")
        assert (again["memory_id"], again["agent_id"], again["shared_with"]) == (copy["memory_id"], "aria", ["nova"])
    for agent_id, count in (("aria", 1), ("nova", 1), ("luna", 0)):
        assert len(await seen(door, "each-b", "scooter", agent_id=agent_id)) == count, agent_id
    await door.http.delete(f"/v1/memories/{copy['memory_id']}")
    assert "forgotten" in (await shared(door, memory, 409, user_id="each-b", agent_id="luna"))["detail"]


async def test_a_memory_is_shared_with_everyone(door: FrontDoor):
    memory = await door.remember("the lift is out of order", "herald", agent_id="luna", metadata={"floor": 3})
    for status in (201, 200):
        everyones = await shared(door, memory, status, scope="global")
        assert (everyones["user_id"], everyones["scope"], everyones["agent_id"]) == ("*", "global", None)
        source = {"user_id": "herald", "memory_id": memory["memory_id"]}
        assert everyones["metadata"] == {"floor": 3, "shared_from": source}
    assert everyones["memory_id"] in await seen(door, "passer-by", "lift", include_global=True)
    for target in ({"user_id": "passer-by"}, {"agent_id": "nova"}, {"scope": "global"}):
        assert await shared(door, everyones, 200, **target) == everyones, "everyone has it already"


async def test_sharing_with_its_own_user_changes_nothing(door: FrontDoor):
    memory = await door.remember("plays the cello", "same")
    assert (await shared(door, memory, 200, user_id="same"))["version"] == 1
    own = await door.remember("plays the lute", "same", agent_id="luna")
    assert (await shared(door, own, 200, user_id="same", agent_id="aria"))["shared_with"] == ["aria"]


async def test_a_short_lived_memory_ends_for_both_at_the_same_time(door: FrontDoor):
    memory = await door.remember("is on a train", "traveller", memory_type="short_term")
    door.clock.ahead = timedelta(hours=40)
    try:
        copy = await shared(door, memory, 201, user_id="friend")
        door.clock.ahead = timedelta(hours=49)
        assert (copy["expires_at"], await seen(door, "friend", "train")) == (memory["expires_at"], [])
        refused = await door.post(f"/v1/memories/{memory['memory_id']}/share", {"user_id": "another"})
    finally:
        door.clock.ahead = timedelta()
    assert (refused.status_code, refused.json()["detail"].split(":")[0]) == (409, "the memory is expired")


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({}, "$"),
        ({"scope": "personal"}, "$.scope"),
        ({"scope": "global", "user_id": "u"}, "$"),
        ({"scope": "global", "agent_id": "luna"}, "$"),
        ({"user_id": "*"}, "$.user_id"),
        ({"agent_id": ""}, "$.agent_id"),
        ({"user": "u"}, "$.user"),
    ],
)
async def test_sharing_refuses_what_it_does_not_know(door: FrontDoor, body: dict[str, str], path: str):
    response = await door.post("/v1/memories/some/share", body)
    assert (response.status_code, [e["path"] for e in response.json()["errors"]]) == (422, [path])


async def test_only_its_own_users_memory_is_shared(door: FrontDoor):
    memory = await door.remember("likes oolong", "whose")
    path = f"/v1/memories/{memory['memory_id']}/share"
    assert (await door.post(f"{path}?user_id=another", {"agent_id": "aria"})).status_code == 404
    assert (await door.post("/v1/memories/none/share", {"agent_id": "aria"})).status_code == 404
    await door.http.delete(f"/v1/memories/{memory['memory_id']}")
    for target in ({"agent_id": "aria"}, {"user_id": "u2"}):
        refused = await door.post(path, target)
        assert (refused.status_code, refused.json()["detail"].split(":")[0]) == (409, "the memory is forgotten")


async def test_the_client_shares(door: FrontDoor):
    transport = httpx.ASGITransport(make_http(door.worker))
    async with AsyncClient("http://127.0.0.1", transport=transport) as memory:
        known = await memory.remember("grows tomatoes", "client", "luna")
        copy = await memory.share(known["memory_id"], with_user="client-2", user_id="client")
        assert (copy["user_id"], copy["content"]) == ("client-2", "grows tomatoes")
        assert (await memory.share(known["memory_id"], agent_id="aria"))["shared_with"] == ["aria"]
        assert (await memory.share(known["memory_id"], scope="global"))["scope"] == "global"


async def test_a_rebuild_comes_to_the_same(door: FrontDoor):
    assert (await door.post("/v1/admin/rebuild")).json()["equal"]
