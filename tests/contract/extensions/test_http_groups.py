"""Talk in a group over mem0's route: what others say is theirs, by their name, and never the user's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from contract.front_door import FrontDoor, front_door

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.asyncio(loop_scope="module")
BLIND = Path(__file__).parents[2] / "data" / "groups_blind.jsonl"
"""Twenty talks by an author who had not seen the rules, half of them in Chinese."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def door(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[FrontDoor]:
    async with front_door(tmp_path_factory.mktemp("worker")) as opened:
        yield opened


async def add(door: FrontDoor, user_id: str, *turns: tuple[str | None, str]) -> list[dict[str, Any]]:
    """Have a talk remembered, and return the user's memories."""
    messages = [{"role": "user", "content": text} | ({"name": name} if name else {}) for name, text in turns]
    answer = await door.post("/v3/memories/add/", {"messages": messages, "user_id": user_id})
    assert answer.status_code == 200, answer.text
    await door.post("/v1/admin/drain")
    items: list[dict[str, Any]] = (await door.get("/v1/memories", user_id=user_id, page_size=200)).json()["items"]
    return items


async def profile(door: FrontDoor, user_id: str) -> dict[str, Any]:
    found: dict[str, Any] = (await door.get(f"/v1/users/{user_id}/profile")).json()
    return {name: value for name, value in found.items() if name not in ("sources", "text")}


async def called(door: FrontDoor, user_id: str, name: str) -> None:
    await door.remember(f"The user's name is {name}", user_id, attribute="user_name", value=name)


async def test_what_bob_says_is_bobs_and_takes_the_place_of_nothing_of_the_users(door: FrontDoor):
    await called(door, "g1", "Alice")
    talk = (("Alice", "I live in Porto."), ("Bob", "I live in Turin and I love steak."))
    told = {(m["speaker"], m["about"], m["attribute"], m["value"]) for m in await add(door, "g1", *talk)}
    assert told >= {(None, None, "city", "Porto"), ("Bob", "Bob", "city", "Turin"), ("Bob", "Bob", "likes", "steak")}
    shown = await profile(door, "g1")
    assert (shown["city"], shown["likes"]) == ("Porto", [])
    moved = await add(door, "g1", (None, "Cool."), ("Bob", "I moved to Rome last week."))
    assert {m["value"] for m in moved if m["attribute"] == "city"} == {"Porto", "Rome"}
    assert all(m["content"].startswith(("Bob ", "Bob:")) for m in moved if m["speaker"] == "Bob")


async def test_nobody_else_has_a_memory_of_the_users_forgotten(door: FrontDoor):
    await called(door, "g4", "Alice")
    await add(door, "g4", ("Alice", "I live in Porto."))
    asked = await add(door, "g4", ("Alice", "Hi."), ("Bob", "Forget that I live in Porto."))
    assert {m["value"] for m in asked} == {"Alice", "Porto"}
    assert {m["value"] for m in await add(door, "g4", ("Alice", "Forget that I live in Porto."))} == {"Alice"}


async def test_where_nobody_is_known_to_be_the_user_nobodys_facts_are_the_users(door: FrontDoor):
    items = await add(door, "g2", ("Alice", "I live in Porto."), ("Bob", "I live in Turin."))
    assert {(m["speaker"], m["value"]) for m in items} == {("Alice", "Porto"), ("Bob", "Turin")}
    assert not (await profile(door, "g2"))["city"]


async def test_the_one_name_of_a_talk_is_the_users(door: FrontDoor):
    items = await add(door, "g3", ("Alice", "I live in Porto."), ("Alice", "I love tea."))
    assert {m["speaker"] for m in items} == {None}
    assert (await profile(door, "g3"))["city"] == "Porto"


async def test_talks_of_a_group_that_nobody_has_tuned_the_rules_on(door: FrontDoor):
    """A floor of what the rules do; that nothing of others is the user's holds of all."""
    slots = others = 0
    of_others_in_users: list[str] = []
    for row in map(json.loads, BLIND.read_text("utf-8").splitlines()):
        await called(door, row["id"], row["user"])
        items = await add(door, row["id"], *((turn["name"], turn["text"]) for turn in row["turns"]))
        shown = await profile(door, row["id"])
        own = [
            json.dumps(shown, ensure_ascii=False),
            *(m["content"] for m in items if not (m["speaker"] or m["about"])),
        ]
        of_others_in_users += [f"{row['id']}: {no}" for no in row["not_user"] if any(has(text, no) for text in own)]
        slots += sum(
            has(json.dumps(shown.get(name), ensure_ascii=False), value) for name, value in row["user_has"].items()
        )
        others += sum(
            any(m["speaker"] == other["speaker"] and has(m["content"], value) for m in items)
            for other in row["others"]
            for value in other["has"]
        )
    assert of_others_in_users == []
    assert slots >= 22, "of 26"
    assert others >= 29, "of 32"


def has(text: str, value: str) -> bool:
    return value.casefold() in text.casefold()
