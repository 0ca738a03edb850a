"""Places over HTTP: what is told again in another run, session or with other metadata is found there, and answered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson
import pytest
import pytest_asyncio
from contract.front_door import FrontDoor, front_door

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.asyncio(loop_scope="module")
GHENT = "I live in Ghent."


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def door(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[FrontDoor]:
    async with front_door(tmp_path_factory.mktemp("worker")) as opened:
        yield opened


async def add(door: FrontDoor, **whose: Any) -> list[dict[str, Any]]:
    """Return the results of an add by mem0's protocol."""
    answer = await door.post("/v3/memories/add/", {"messages": [{"role": "user", "content": GHENT}]} | whose)
    assert answer.status_code == 200, answer.text
    event_id = answer.json()["event_id"]
    await door.http.post("/v1/admin/drain")
    event = (await door.get(f"/v1/event/{event_id}/")).json()
    assert event["status"] == "SUCCEEDED", event
    results: list[dict[str, Any]] = event["results"]
    return results


async def listed(door: FrontDoor, **filters: Any) -> list[str]:
    answer = await door.post("/v3/memories/", {"filters": filters})
    assert answer.status_code == 200, answer.text
    return [one["id"] for one in answer.json()["results"]]


async def told(door: FrontDoor, user_id: str, **more: Any) -> dict[str, Any]:
    """Return what became of the sentence, told in a conversation."""
    body = {"user_id": user_id, "messages": [{"role": "user", "content": GHENT}]} | more
    answer = await door.http.post("/v1/conversations?wait=10", json=body)
    assert answer.status_code == 200, answer.text
    became: dict[str, Any] = answer.json()["accepted"][0]
    return became


async def test_a_run_finds_what_is_known_from_another_and_its_add_answers_it(door: FrontDoor):
    first = await add(door, user_id="m14", run_id="r1", metadata={"project": "x"})
    again = await add(door, user_id="m14", run_id="r2", metadata={"project": "y"})
    assert [one["event"] for one in (*first, *again)] == ["ADD", "NONE"]
    [memory_id] = {one["id"] for one in (*first, *again)}
    for filters in ({"run_id": "r1"}, {"run_id": "r2"}, {"project": "x"}, {"project": "y"}):
        assert await listed(door, user_id="m14", **filters) == [memory_id], filters
    for filters in ({"run_id": "r3"}, {"run_id": "r1", "project": "y"}):
        assert await listed(door, user_id="m14", **filters) == [], filters
    assert await listed(door, run_id="r2") == [memory_id], "of all users who have such a run"


async def test_a_session_lists_and_finds_what_was_told_again_in_it(door: FrontDoor):
    first, again = await told(door, "s14", session_id="s1"), await told(door, "s14", session_id="s2")
    assert (again["memory_ids"], first["known_ids"]) == (first["memory_ids"], [])
    assert again["known_ids"] == first["memory_ids"]
    [memory_id] = first["memory_ids"]
    for session, expected in (("s1", [memory_id]), ("s2", [memory_id]), ("s3", [])):
        items = (await door.get("/v1/memories", user_id="s14", session_id=session)).json()["items"]
        asked = {"user_id": "s14", "query": "Where does the user live?", "session_id": session}
        found = (await door.post("/v1/search", asked)).json()["results"]
        assert ([m["memory_id"] for m in items], [m["memory_id"] for m in found]) == (expected, expected)
    memory = (await door.get(f"/v1/memories/{memory_id}")).json()
    assert (memory["session_id"], memory["met_in"]) == ("s1", [{"session_id": "s2"}])


async def test_an_application_finds_what_is_known_from_another(door: FrontDoor):
    [memory_id] = (await told(door, "a14", session_id="s1", app_id="mail"))["memory_ids"]
    await told(door, "a14", session_id="s2", app_id="chat")
    for app in ("mail", "chat"):
        asked = {"user_id": "a14", "query": "home in Ghent", "app_id": app}
        assert [m["memory_id"] for m in (await door.post("/v1/search", asked)).json()["results"]] == [memory_id]


@pytest.mark.parametrize("name", ["session_id", "filters"])
async def test_what_a_session_forgets_stays_where_else_it_was_told(door: FrontDoor, name: str):
    user = f"d14-{name}"
    [memory_id] = (await told(door, user, session_id="s1"))["memory_ids"]
    await told(door, user, session_id="s2")
    for session, left in (("s1", ["s2"]), ("s2", [])):
        query = (
            {"session_id": session}
            if name == "session_id"
            else {"filters": orjson.dumps({"session_id": session}).decode()}
        )
        gone = await door.http.request("DELETE", "/v1/memories", params={"user_id": user} | query)
        assert gone.json()["items"] == [memory_id]
        items = (await door.get("/v1/memories", user_id=user)).json()["items"]
        assert [item["session_id"] for item in items] == left
        assert (await door.get("/v1/memories", user_id=user, session_id=session)).json()["items"] == []


async def test_deleting_a_run_leaves_what_another_run_was_told(door: FrontDoor):
    await add(door, user_id="m15", run_id="r1")
    await add(door, user_id="m15", run_id="r2")
    gone = await door.http.request("DELETE", "/v1/memories/", params={"user_id": "m15", "run_id": "r1"})
    assert gone.is_success, gone.text
    assert (await listed(door, user_id="m15", run_id="r1"), len(await listed(door, user_id="m15", run_id="r2"))) == (
        [],
        1,
    )


async def test_an_import_keeps_where_a_memory_was_met(door: FrontDoor):
    await told(door, "e14", session_id="s1")
    await told(door, "e14", session_id="s2")
    lines = (await door.get("/v1/users/e14/export")).text
    imported = await door.http.post("/v1/import?user_id=e15", content=lines)
    assert imported.is_success, imported.text
    items = (await door.get("/v1/memories", user_id="e15", session_id="s2")).json()["items"]
    assert [item["met_in"] for item in items] == [[{"session_id": "s2"}]]
