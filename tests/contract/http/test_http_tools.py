"""The two tools over HTTP: what a model is told, and what becomes of its calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx
import pytest
import pytest_asyncio
from contract.front_door import FrontDoor, front_door

from mnemolog import AsyncClient, Refused
from mnemolog.http.app import make_http
from mnemolog.http.routes.tools import MemoryAdd, MemorySearch

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from pydantic import BaseModel

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def door(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[FrontDoor]:
    async with front_door(tmp_path_factory.mktemp("worker")) as opened:
        yield opened


async def call(door: FrontDoor, tool: str, **body: object) -> Any:
    response = await door.post(f"/v1/tools/{tool}", body)
    assert response.is_success, response.text
    return response.json()


async def functions(door: FrontDoor) -> dict[str, dict[str, Any]]:
    """Return what a model is told, by the tool's name."""
    tools = (await door.get("/v1/tools")).json()["tools"]
    assert [tool["type"] for tool in tools] == ["function", "function"]
    return {tool["function"]["name"]: tool["function"] for tool in tools}


@pytest.mark.parametrize(
    ("name", "asked", "required"),
    [("memory_add", MemoryAdd, ["content"]), ("memory_search", MemorySearch, ["query"])],
)
async def test_a_model_is_told_the_arguments_that_the_route_takes(
    door: FrontDoor, name: str, asked: type[BaseModel], required: list[str]
):
    function = (await functions(door))[name]
    assert function["description"]
    parameters = function["parameters"]
    assert (parameters["type"], parameters["required"], parameters["additionalProperties"]) == (
        "object",
        required,
        False,
    )
    taken = {n: f for n, f in asked.model_fields.items() if n not in ("user_id", "agent_id", "app_id")}
    assert set(parameters["properties"]) == set(taken)
    for argument, told in parameters["properties"].items():
        assert told["description"]
        assert told.get("default") == (None if argument in required else taken[argument].default)
        for word in told.get("enum", ()):
            assert asked(**{required[0]: "x", argument: word}), (argument, word)


async def test_adding_answers_as_remembering_does(door: FrontDoor):
    added = await door.post("/v1/tools/memory_add", {"user_id": "add", "content": "likes tea", "session_id": "s-1"})
    assert added.status_code == 201
    memory = added.json()
    expected: dict[str, object] = {
        "user_id": "add", "agent_id": None, "scope": "personal", "kind": "semantic", "memory_type": "long_term",
        "category": "fact", "importance": 0.5, "session_id": "s-1", "source_type": "manual", "metadata": {},
    }  # fmt: skip
    assert {name: memory[name] for name in expected} == expected
    assert memory.pop("similar") == []
    assert (await door.get(f"/v1/memories/{memory['memory_id']}")).json() == memory
    again = await door.post("/v1/memories", {"user_id": "add", "content": "Likes tea."})
    assert (again.status_code, again.json()["memory_id"]) == (200, memory["memory_id"])


async def test_without_a_user_the_tools_are_the_owners(door: FrontDoor):
    assert (await call(door, "memory_add", content="the spare key is in the shed"))["user_id"] == "owner"
    found = await call(door, "memory_search", query="spare key")
    assert [one["memory"] for one in found["results"]] == ["the spare key is in the shed"]


async def test_a_tool_belongs_to_the_agent_that_calls_it(door: FrontDoor):
    memory = await call(door, "memory_add", user_id="agents", agent_id="luna", content="likes jasmine tea")
    assert memory["agent_id"] == "luna"
    for agent_id, count in (("luna", 1), ("aria", 0), (None, 1)):
        found = await call(
            door, "memory_search", user_id="agents", agent_id=agent_id, query="jasmine", scope="personal"
        )
        assert len(found["results"]) == count, agent_id


@pytest.mark.parametrize(
    ("word", "category", "metadata"),
    [("people", "people", {}), ("preference", "preference", {}), ("recipe", "fact", {"type": "recipe"})],
)
async def test_the_type_is_the_category_and_another_word_is_kept(
    door: FrontDoor, word: str, category: str, metadata: dict[str, str]
):
    memory = await call(door, "memory_add", user_id=f"type-{word}", content="likes tea", type=word)
    assert (memory["category"], memory["metadata"]) == (category, metadata)


async def test_what_is_short_term_expires(door: FrontDoor):
    memory = await call(door, "memory_add", user_id="short", content="is on a train", memory_type="short_term")
    assert memory["expires_at"] is not None


async def test_searching_answers_as_a_search_does_and_is_a_recall_as_that_is(door: FrontDoor):
    for number in range(7):
        await call(door, "memory_add", user_id="found", content=f"likes tea number {number}")
    searched = await door.post("/v1/search", {"user_id": "found", "query": "tea", "recall": False})
    found = await call(door, "memory_search", user_id="found", query="tea")
    assert [one["memory_id"] for one in found["results"]] == [one["memory_id"] for one in searched.json()["results"]]
    assert [set(one) for one in found["results"]] == [set(one) for one in searched.json()["results"]]
    assert len(found["results"]) == 5
    assert len((await call(door, "memory_search", user_id="found", query="tea", limit=7))["results"]) == 7
    await door.post("/v1/admin/drain")
    best = (await door.get(f"/v1/memories/{found['results'][0]['memory_id']}")).json()
    assert best["recall_count"] == 1


@pytest.mark.parametrize(
    ("tool", "body", "path"),
    [
        ("memory_add", {}, "$.content"),
        ("memory_add", {"content": " "}, "$.content"),
        ("memory_add", {"content": "x", "scope": "all"}, "$.scope"),
        ("memory_add", {"content": "x", "memory_type": "for ever"}, "$.memory_type"),
        ("memory_add", {"content": "x", "type": ""}, "$.type"),
        ("memory_add", {"content": "x", "importance": 1}, "$.importance"),
        ("memory_search", {"query": ""}, "$.query"),
        ("memory_search", {"query": "x", "scope": "everything"}, "$.scope"),
        ("memory_search", {"query": "x", "limit": 101}, "$.limit"),
        ("memory_search", {"query": "x", "user_id": "*"}, "$.user_id"),
    ],
)
async def test_a_tool_refuses_what_it_does_not_know(door: FrontDoor, tool: str, body: dict[str, object], path: str):
    response = await door.post(f"/v1/tools/{tool}", body)
    assert (response.status_code, [e["path"] for e in response.json()["errors"]]) == (422, [path])


async def test_the_client_carries_a_models_call_and_lets_it_not_choose_whose_memory_it_is(door: FrontDoor):
    transport = httpx.ASGITransport(make_http(door.worker))
    async with AsyncClient("http://127.0.0.1", transport=transport) as memory:
        told = await memory.tools()
        assert {tool["function"]["name"] for tool in told["tools"]} == {"memory_add", "memory_search"}
        written = '{"content": "likes oolong", "type": "preference", "user_id": "somebody", "agent_id": "else"}'
        added = await memory.call_tool("memory_add", written, "client", "luna")
        assert (added["user_id"], added["agent_id"], added["category"]) == ("client", "luna", "preference")
        found = await memory.call_tool("memory_search", {"query": "oolong", "limit": None}, "client")
        assert [one["memory"] for one in found["results"]] == ["likes oolong"]
        for odd in ("{content: likes tea}", "[]", ["likes tea"]):
            with pytest.raises(Refused, match="the arguments of"):
                await memory.call_tool("memory_add", odd, "client")  # type: ignore[arg-type]
