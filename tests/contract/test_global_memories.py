"""Personal and global memories: each problem of the session and global memory that mnemolog takes the place of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from contract.front_door import FrontDoor, front_door, turn

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.asyncio(loop_scope="module")

OFFICE = "the office serves jasmine tea"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def door(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[FrontDoor]:
    async with front_door(tmp_path_factory.mktemp("worker")) as opened:
        yield opened


async def retrieved(door: FrontDoor, user_id: str, query: str, **more: object) -> list[str]:
    """Return what the automatic retrieval finds."""
    response = await door.post("/v1/search", {"user_id": user_id, "query": query, "recall": False} | more)
    assert response.status_code == 200, response.text
    return [one["memory"] for one in response.json()["results"]]


async def texts_in_context(door: FrontDoor, user_id: str, query: str, **more: object) -> list[str]:
    """Return what a context for the next answer has found."""
    response = await door.post("/v1/context", {"user_id": user_id, "query": query, "recall": False} | more)
    assert response.status_code == 200, response.text
    return [one["memory"] for one in response.json()["memories"]]


async def tool(door: FrontDoor, name: str, **arguments: object) -> Any:
    """Return what a tool answers to an agent."""
    response = await door.post(f"/v1/tools/{name}", arguments)
    assert response.is_success, response.text
    return response.json()


async def test_what_the_tool_adds_the_retrieval_finds_and_the_other_way_round(door: FrontDoor):
    """Its section 2: tools and retrieval work on one store."""
    await tool(door, "memory_add", user_id="one-store", content="rows on the lake every Sunday")
    await door.remember("skates on the lake every winter", "one-store")
    both = {"rows on the lake every Sunday", "skates on the lake every winter"}
    assert set(await retrieved(door, "one-store", "lake")) == both
    assert set(await texts_in_context(door, "one-store", "lake")) == both
    found = await tool(door, "memory_search", user_id="one-store", query="lake")
    assert {one["memory"] for one in found["results"]} == both
    listed = (await door.get("/v1/memories", user_id="one-store")).json()["items"]
    assert {one["content"] for one in listed} == both


async def test_a_search_of_the_tool_is_told_which_scope_to_look_in(door: FrontDoor):
    """Its section 2: scope is all, global or personal."""
    await door.remember("the pool opens at seven", "swimmer", scope="global")
    await door.remember("swims in the pool on Mondays", "swimmer")
    for scope, expected in [
        ("all", {"the pool opens at seven", "swims in the pool on Mondays"}),
        ("global", {"the pool opens at seven"}),
        ("personal", {"swims in the pool on Mondays"}),
    ]:
        found = await tool(door, "memory_search", user_id="swimmer", query="pool", scope=scope)
        assert {one["memory"] for one in found["results"]} == expected, scope


async def test_sessions_become_memories_by_themselves(door: FrontDoor):
    """Its sections 3 and 7: extraction had no caller; here whatever a session says is extracted from."""
    said = [
        turn("w-1", "I live in Berlin.", user_id="wired", session_id="s-wired"),
        turn("w-2", "Nice weather today.", user_id="wired", session_id="s-wired", role="assistant"),
    ]
    await door.post("/v1/events", said)
    await door.post("/v1/admin/drain")
    listed = (await door.get("/v1/memories", user_id="wired")).json()["items"]
    assert [(one["attribute"], one["value"], one["session_id"]) for one in listed] == [("city", "Berlin", "s-wired")]
    found = await tool(
        door,
        "memory_search",
        user_id="wired",
        query="Where does he live? Berlin?",
        scope="personal",
        include=["memories"],
    )
    assert [one["memory_id"] for one in found["results"]] == [listed[0]["memory_id"]]


async def test_retrieval_finds_single_memories_and_not_the_words_of_sessions(door: FrontDoor):
    """Its section 3: conversations are kept by session, and are not poured into what is searched."""
    for number, session in enumerate(("s-one", "s-two")):
        words = f"Well, zeppelins, you know. Number {number}."
        await door.post("/v1/events", turn(f"z-{number}", words, user_id="raw", session_id=session, role="assistant"))
    await door.post("/v1/admin/drain")
    assert await retrieved(door, "raw", "zeppelins", scope="personal", include=["memories"]) == []
    for number, session in enumerate(("s-one", "s-two")):
        turns = (await door.get(f"/v1/sessions/{session}/turns", user_id="raw")).json()["items"]
        assert [one["event_id"] for one in turns] == [f"z-{number}"]


async def test_global_memories_are_visible_to_all_and_personal_ones_to_that_person_only(door: FrontDoor):
    """Its section 3: scope and person decide who sees a memory, in searches, lists and by the tool."""
    memory = await tool(door, "memory_add", user_id="giver", content=OFFICE, scope="global")
    assert (memory["user_id"], memory["scope"]) == ("*", "global")
    home = "likes jasmine tea at home"
    await tool(door, "memory_add", user_id="giver", content=home)
    for person in ("giver", "taker", "nobody-yet"):
        own = [home] if person == "giver" else []
        assert await retrieved(door, person, "jasmine", include_global=False) == own
        assert await texts_in_context(door, person, "jasmine", include_global=False) == own
        called = await tool(door, "memory_search", user_id=person, query="jasmine")
        for found in (
            await retrieved(door, person, "jasmine"),
            await texts_in_context(door, person, "jasmine"),
            [one["memory"] for one in called["results"]],
        ):
            assert (OFFICE in found, home in found) == (True, person == "giver")
        listed = (await door.get("/v1/memories", user_id=person)).json()["items"]
        assert [one["content"] for one in listed] == own
        everything = (await door.get("/v1/memories", user_id=person, include_global="true")).json()
        assert {OFFICE, *own} <= {one["content"] for one in everything["items"]}
        assert {one["user_id"] for one in everything["items"]} <= {person, "*"}


async def test_a_list_with_global_memories_is_one_list(door: FrontDoor):
    for content, importance, scope in [("a", 0.91, "personal"), ("b", 0.92, "global"), ("c", 0.93, "personal")]:
        await door.remember(f"an order of {content}", "merged", importance=importance, scope=scope)
    first = (await door.get("/v1/memories", user_id="merged", include_global="true", page_size=3)).json()
    assert [one["content"][-1] for one in first["items"]] == ["c", "b", "a"]
    second = (await door.get("/v1/memories", user_id="merged", include_global="true", page_size=3, page=2)).json()
    shared = (await door.get("/v1/memories", scope="global")).json()["total"]
    assert first["total"] == second["total"] == shared + 2
    assert {one["user_id"] for one in second["items"]} == {"*"}
    scoped = (await door.get("/v1/memories", user_id="merged", include_global="true", scope="personal")).json()
    assert [one["content"][-1] for one in scoped["items"]] == ["c", "a"]


async def test_a_global_memory_is_of_no_agent_and_is_known_once(door: FrontDoor):
    first = await tool(door, "memory_add", user_id="u-1", agent_id="luna", content="the lift is slow", scope="global")
    again = await tool(door, "memory_add", user_id="u-2", agent_id="aria", content="The lift is slow.", scope="global")
    assert (first["agent_id"], again["memory_id"]) == (None, first["memory_id"])
    for agent_id in ("luna", "aria"):
        assert "the lift is slow" in await retrieved(door, "u-3", "lift", agent_id=agent_id)


async def test_the_person_is_the_owner_where_none_is_named(door: FrontDoor):
    """Its section 3: with one owner the person is `owner`."""
    said = turn("o-1", "I live in Madrid.")
    del said["user_id"]
    await door.post("/v1/events", said)
    await tool(door, "memory_add", content="keeps bees in Madrid")
    await door.post("/v1/admin/drain")
    listed = (await door.get("/v1/memories", user_id="owner")).json()["items"]
    assert {one["source_type"] for one in listed} == {"chat", "manual"}
    found = await tool(door, "memory_search", query="Madrid", scope="personal")
    assert {one["user_id"] for one in found["results"]} == {"owner"}
