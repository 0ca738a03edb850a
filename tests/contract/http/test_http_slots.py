"""Slots of the profile over HTTP: what a value may be, and what a changed text makes of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson
import pytest
import pytest_asyncio
from contract.front_door import front_door

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from contract.front_door import FrontDoor


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def door(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[FrontDoor]:
    folder: Path = tmp_path_factory.mktemp("slots")
    async with front_door(folder) as door:
        yield door


async def profile(door: FrontDoor, user_id: str) -> dict[str, Any]:
    found: dict[str, Any] = (await door.get(f"/v1/users/{user_id}/profile")).json()
    return found


@pytest.mark.parametrize(
    ("attribute", "value", "accepted"),
    [
        ("birthday", "banana", "May 20"),
        ("important_dates", "bogus", "`name: date`"),
        ("age", "blue", "30岁"),
    ],
)
async def test_a_value_that_its_attribute_cannot_hold_is_refused_with_what_is_accepted(
    door: FrontDoor, attribute: str, value: str, accepted: str
):
    body = {"user_id": "odd", "content": f"{attribute} {value}", "attribute": attribute, "value": value}
    refused = await door.post("/v1/memories", body)
    [error] = refused.json()["errors"]
    assert (refused.status_code, error["path"], accepted in error["message"]) == (422, "$.value", True)
    assert (await door.get("/v1/memories", user_id="odd")).json()["total"] == 0


async def test_a_changed_value_is_looked_at_like_a_new_one(door: FrontDoor):
    memory = await door.remember("用户的生日是三月五日", "changed", attribute="birthday", value="03-05")
    path = f"/v1/memories/{memory['memory_id']}"
    refused = await door.http.patch(path, json={"value": "banana"})
    assert (refused.status_code, [e["path"] for e in refused.json()["errors"]]) == (422, ["$.value"])
    assert (await door.http.patch(path, json={"value": "May 20"})).status_code == 200
    assert (await profile(door, "changed"))["birthday"] == "May 20"


async def test_a_changed_text_changes_the_value_or_empties_the_slot(door: FrontDoor):
    memory = await door.remember("用户住在北京", "moved", attribute="city", value="北京")
    path = f"/v1/memories/{memory['memory_id']}"
    revised = (await door.http.patch(path, json={"content": "用户住在上海"})).json()
    assert (revised["attribute"], revised["value"], (await profile(door, "moved"))["city"]) == ("city", "上海", "上海")
    emptied = (await door.http.patch(path, json={"content": "用户养了一只猫"})).json()
    assert (emptied["attribute"], emptied["value"], (await profile(door, "moved"))["city"]) == (None, None, None)
    assert (await door.get("/v1/memories", user_id="moved", attribute="city")).json()["total"] == 0
    filled = (await door.http.patch(path, json={"value": "广州"})).json()
    assert (filled["attribute"], (await profile(door, "moved"))["city"]) == ("city", "广州")


async def test_a_value_that_fills_no_slot_is_shown_and_exported(door: FrontDoor):
    body = {"user_id": "plain", "content": "the plate is X-1", "value": "X-1"}
    shown = (await door.post("/v1/memories", body)).json()
    exported = orjson.loads((await door.get("/v1/users/plain/export")).content.splitlines()[0])
    assert [(m["attribute"], m["value"]) for m in (shown, exported)] == [(None, "X-1")] * 2
    assert (await profile(door, "plain"))["text"] == ""
