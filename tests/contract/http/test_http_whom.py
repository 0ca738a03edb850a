"""Whom memories are about, and who said them, over HTTP: parameters of lists and searches, and fields of commands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from contract.front_door import FrontDoor, front_door

from mnemolog.extensions.mcp.tools import OF_MCP

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def door(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[FrontDoor]:
    async with front_door(tmp_path_factory.mktemp("worker")) as opened:
        await opened.remember("The user lives in Berlin", "w1", attribute="city", value="Berlin")
        mother = {"about": "my mother", "attribute": "city", "value": "Kyoto"}
        await opened.remember("The user's mother lives in Kyoto", "w1", **mother)
        await opened.remember("The user's mother plays shogi", "w1", about="Mother")
        line = {"user_id": "w1", "content": "Bob lives in Turin", "about": "Bob", "speaker": "Bob"}
        imported = await opened.post("/v1/import", line)
        assert imported.is_success, imported.text
        yield opened


async def listed(door: FrontDoor, **asked: Any) -> set[str]:
    """Return what the list, the query and the search answer, which is the same."""
    one = (await door.get("/v1/memories", user_id="w1", **asked)).json()["items"]
    two = (await door.post("/v1/memories/query", {"user_id": "w1"} | asked)).json()["items"]
    question = {"user_id": "w1", "query": "lives plays", "limit": 20}
    three = (await door.post("/v1/search", question | asked)).json()["results"]
    found: list[set[str]] = [{memory["content"] for memory in answer} for answer in (one, two, three)]
    assert found[0] == found[1] == found[2], asked
    return found[0]


BERLIN, KYOTO, SHOGI, TURIN = (
    "The user lives in Berlin",
    "The user's mother lives in Kyoto",
    "The user's mother plays shogi",
    "Bob lives in Turin",
)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({"about": "my mother"}, {KYOTO, SHOGI}),
        ({"about": "The user's MOTHER"}, {KYOTO, SHOGI}),
        ({"about": "user"}, {BERLIN}),
        ({"about": "Bob"}, {TURIN}),
        ({"about": "Lena"}, set()),
        ({"speaker": "bob"}, {TURIN}),
        ({"speaker": "user"}, {BERLIN, KYOTO, SHOGI}),
        ({"attribute": "city"}, {BERLIN, KYOTO}),
        ({"about": "mother", "attribute": "city"}, {KYOTO}),
    ],
)
async def test_lists_and_searches_ask_whom_and_by_whom(door: FrontDoor, asked: dict[str, str], expected: set[str]):
    assert await listed(door, **asked) == expected


async def test_what_is_forgotten_may_be_named_by_whom_it_is_about(door: FrontDoor):
    await door.remember("Lena has a dog", "w2", about="Lena")
    await door.remember("The user has a cat", "w2")
    gone = await door.http.request("DELETE", "/v1/memories", params={"user_id": "w2", "about": "lena"})
    assert len(gone.json()["items"]) == 1
    assert [m["content"] for m in (await door.get("/v1/memories", user_id="w2")).json()["items"]] == [
        "The user has a cat"
    ]


async def test_what_is_remembered_about_somebody_takes_the_place_of_their_older_value(door: FrontDoor):
    home = await door.remember("The user lives in Berlin", "w3", attribute="city", value="Berlin")
    first = await door.remember("Lives in Kyoto", "w3", about="my mother", attribute="city", value="Kyoto")
    second = await door.remember("Lives in Osaka", "w3", about="Mother", attribute="city", value="Osaka")
    assert (await door.get(f"/v1/memories/{first['memory_id']}")).json()["superseded_by"] == second["memory_id"]
    assert (await door.get(f"/v1/memories/{home['memory_id']}")).json()["status"] == "active"
    assert (await door.get("/v1/users/w3/profile")).json()["city"] == "Berlin"


async def test_a_revision_says_whom_a_memory_is_about(door: FrontDoor):
    wrong = await door.remember("Lives in Kyoto", "w4", attribute="city", value="Kyoto")
    path = f"/v1/memories/{wrong['memory_id']}"
    revised = (await door.http.patch(path, json={"about": "my mother"})).json()
    assert (revised["about"], revised["attribute"], revised["value"]) == ("my mother", "city", "Kyoto")
    assert not (await door.get("/v1/users/w4/profile")).json()["city"]
    home = await door.remember("Lives in Berlin", "w4", attribute="city", value="Berlin")
    back = (await door.http.patch(path, json={"about": None})).json()
    assert back["about"] is None
    assert (await door.get("/v1/users/w4/profile")).json()["city"] == "Kyoto"
    assert (await door.get(f"/v1/memories/{home['memory_id']}")).json()["superseded_by"] == wrong["memory_id"]


@pytest.mark.parametrize("about", ["user", "me", "我", " "])
async def test_a_name_of_the_user_is_nobody_else(door: FrontDoor, about: str):
    assert (await door.remember(f"said as {about}", "w5", about=about))["about"] is None


async def test_a_tool_remembers_and_finds_by_whom(door: FrontDoor):
    body = {"user_id": "w6", "content": "Lena is allergic to nuts", "about": "Lena"}
    assert (await door.post("/v1/tools/memory_add", body)).json()["about"] == "Lena"
    asked = {"user_id": "w6", "query": "allergies", "about": "user"}
    assert (await door.post("/v1/tools/memory_search", asked)).json()["results"] == []
    assert {"about", "speaker"} <= OF_MCP["memory_list"].parameters["properties"].keys()
