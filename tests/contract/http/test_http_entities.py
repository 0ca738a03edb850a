"""Entities: whom and what a user's memories name, with the facts of each over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from contract.front_door import FrontDoor, front_door

if TYPE_CHECKING:
    from pathlib import Path

FACTS = [
    "The user's sister Nora lives in Bergen.",
    "The user met Nora and Sam in Oslo.",
    "用户的妹妹叫小雨。",
    "用户和小雨去京都玩。",
]


async def entities(door: FrontDoor, user_id: str = "u1", **query: Any) -> dict[str, dict[str, Any]]:
    answer = await door.get(f"/v1/users/{user_id}/entities", **query)
    assert answer.status_code == 200, answer.text
    return {item["name"]: item for item in answer.json()["items"]}


async def entity(door: FrontDoor, entity_id: str, **query: Any) -> dict[str, Any]:
    answer = await door.get(f"/v1/users/u1/entities/{entity_id}", **query)
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body


async def test_people_places_and_organisations_are_listed_with_their_memories(tmp_path: Path):
    async with front_door(tmp_path) as door:
        for fact in FACTS:
            await door.remember(fact)
        await door.remember("works at Brightwater", attribute="employer", value="Brightwater")
        found = await entities(door)
        kinds = {name: item["kind"] for name, item in found.items()}
        assert kinds == {
            "Nora": "person",
            "Bergen": "place",
            "Sam": "person",
            "Oslo": "place",
            "小雨": "person",
            "京都": "place",
            "Brightwater": "organisation",
        }
        assert (found["Nora"]["memories"], found["小雨"]["memories"]) == (2, 2)
        assert set(await entities(door, kind="organisation")) == {"Brightwater"}
        page = (await door.get("/v1/users/u1/entities", page_size=2, page=2)).json()
        assert (page["total"], len(page["items"])) == (len(found), 2)
        nora = await entity(door, found["Nora"]["entity_id"])
        assert [fact["content"] for fact in nora["facts"]] == FACTS[:2]
        assert {other["name"] for other in nora["related"]} == {"Bergen", "Sam", "Oslo"}
        digest = (await door.post("/v1/admin/rebuild", {})).json()
        assert digest["equal"]
        assert await entities(door) == found


@pytest.mark.parametrize("value", ["??", "!!!", "-", "x", "  A  ", "Ω", "𝕏𝕐", "a" * 200, "\u202eabc", "(.*)+"])
async def test_a_name_of_any_characters_breaks_no_list(tmp_path: Path, value: str):
    async with front_door(tmp_path) as door:
        body = {"user_id": "u1", "content": f"works at {value}", "attribute": "employer", "value": value}
        assert (await door.post("/v1/memories", body)).status_code in (201, 422)
        await door.remember(FACTS[0])
        found = await entities(door)
        assert {"Nora", "Bergen"} <= set(found)
        for item in found.values():
            assert (await entity(door, item["entity_id"]))["memories"] >= 1


async def test_of_a_relation_with_a_name_the_name_is_the_entity(tmp_path: Path):
    async with front_door(tmp_path) as door:
        await door.remember("User's sister is called Ines", attribute="family", value="sister Ines")
        await door.remember("用户的妹妹叫小雨", attribute="family", value="妹妹小雨")
        assert {name: item["kind"] for name, item in (await entities(door)).items()} == {
            "Ines": "person",
            "小雨": "person",
        }


async def test_the_facts_of_an_entity_say_when_they_were_true(tmp_path: Path):
    async with front_door(tmp_path) as door:
        await door.remember("works at Brightwater", attribute="employer", value="Brightwater")
        await door.remember("works at Nordbank now, no more at Brightwater", attribute="employer", value="Nordbank")
        found = await entities(door)
        facts = (await entity(door, found["Brightwater"]["entity_id"]))["facts"]
        assert [fact["status"] for fact in facts] == ["superseded", "active"]
        assert facts[0]["valid_to"] == facts[1]["valid_from"]
        assert facts[1]["valid_to"] is None


async def test_what_is_forgotten_or_of_another_user_or_agent_is_not_there(tmp_path: Path):
    async with front_door(tmp_path) as door:
        memory = await door.remember(FACTS[0])
        await door.remember("The user's friend Lena lives in Riga.", agent_id="nova")
        await door.remember("The user's friend Otto lives in Graz.", user_id="u2")
        found = await entities(door)
        assert set(found) == {"Nora", "Bergen", "Lena", "Riga"}
        assert set(await entities(door, agent_id="luna")) == {"Nora", "Bergen"}
        assert set(await entities(door, "u2")) == {"Otto", "Graz"}
        lena = found["Lena"]["entity_id"]
        assert (await door.get(f"/v1/users/u1/entities/{lena}", agent_id="luna")).status_code == 404
        assert (await door.get(f"/v1/users/u2/entities/{lena}")).status_code == 404
        await door.http.delete(f"/v1/memories/{memory['memory_id']}?user_id=u1")
        assert set(await entities(door)) == {"Lena", "Riga"}
        assert (await door.get(f"/v1/users/u1/entities/{found['Nora']['entity_id']}")).status_code == 404


@pytest.mark.parametrize("entity_id", ["nora", "x" * 36])
async def test_an_id_that_is_none_is_refused(tmp_path: Path, entity_id: str):
    async with front_door(tmp_path) as door:
        assert (await door.get(f"/v1/users/u1/entities/{entity_id}")).status_code in (404, 422)
