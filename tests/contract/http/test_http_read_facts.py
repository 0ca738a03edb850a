"""What is remembered as it is, over HTTP: its key, its day and what it ends are read, and similar memories answered."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from contract.front_door import front_door
from contract.keyed_door import keyed_door

from mnemolog.access import key_file
from mnemolog.access.principal import Role
from streams.extraction.protocol import Outage

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from contract.front_door import FrontDoor

    from streams.extraction.own_words.statements import Reading
    from streams.extraction.protocol import Window

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def door(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[FrontDoor]:
    async with front_door(tmp_path_factory.mktemp("worker")) as opened:
        yield opened


async def active(door: FrontDoor, user_id: str) -> set[str]:
    listed = (await door.get("/v1/memories", user_id=user_id)).json()["items"]
    return {memory["content"] for memory in listed}


async def profile(door: FrontDoor, user_id: str) -> dict[str, Any]:
    found: dict[str, Any] = (await door.get(f"/v1/users/{user_id}/profile")).json()
    return {name: value for name, value in found.items() if value and name not in ("sources", "text")}


async def test_the_newest_home_is_the_only_one_however_the_user_is_named(door: FrontDoor):
    for content in ("I live in Berlin.", "I moved to Rome.", "The user lives in Oslo now."):
        memory = await door.remember(content, "home")
    assert (memory["content"], memory["attribute"], memory["value"]) == ("The user lives in Oslo now.", "city", "Oslo")
    assert await active(door, "home") == {"The user lives in Oslo now."}
    assert await profile(door, "home") == {"city": "Oslo"}


@pytest.mark.parametrize(
    ("content", "attribute", "value"),
    [
        ("User is allergic to peanuts.", "allergies", "peanuts"),
        ("The user's name is Anna.", "user_name", "Anna"),
        ("User currently lives in Paris.", "city", "Paris"),
        ("用户住在北京。", "city", "北京"),
        ("My name is Anna and I live in Berlin.", None, None),
        ("I like tea. I like coffee.", None, None),
        ("My mother lives in Berlin.", None, None),
        ("Forget that I live in Berlin.", None, None),
        ("I start at Globex next Monday.", None, None),
        ("The deploy key is in vault 3.", None, None),
        ("likes tea", None, None),
    ],
)
async def test_a_key_is_read_where_a_sentence_of_the_user_says_exactly_one_that_is_so_now(
    door: FrontDoor, content: str, attribute: str | None, value: str | None
):
    memory = await door.remember(content, f"key {content}")
    assert (memory["content"], memory["attribute"], memory["value"]) == (content, attribute, value)


async def test_a_relative_day_is_the_memorys_day_and_its_words_stay(door: FrontDoor):
    content = "I have a dentist appointment tomorrow at 3pm."
    memory = await door.remember(content, "day")
    tomorrow = datetime.fromisoformat(memory["formed_at"]).date() + timedelta(days=1)
    assert (memory["content"], memory["occurred_at"]) == (content, f"{tomorrow}T15:00:00Z")
    again = await door.post("/v1/memories", {"user_id": "day", "content": content})
    assert (again.status_code, again.json()["occurred_at"]) == (200, memory["occurred_at"])


async def test_what_the_caller_gives_is_not_read(door: FrontDoor):
    given = await door.remember("I live in Berlin.", "given", attribute="occupation", value="a poet")
    assert (given["attribute"], given["value"]) == ("occupation", "a poet")
    then = "2026-01-05T08:00:00Z"
    dated = await door.remember("I saw the dentist yesterday.", "given", occurred_at=then)
    assert dated["occurred_at"] == then
    about = await door.remember("I live in Rome.", "given", about="my mother")
    assert about["attribute"] is None
    everyones = await door.remember("I live in Rome.", "given", scope="global")
    assert (everyones["attribute"], everyones["similar"]) == (None, [])
    raw = await door.remember("I live in Oslo now.", "given", read=False)
    assert (raw["attribute"], raw["similar"]) == (None, [])
    put = await door.remember("I live in Oslo.", "given", kind="document", attribute="k", value="v")
    assert (put["attribute"], put["value"], put["similar"]) == ("k", "v", [])


async def test_what_is_no_longer_so_is_superseded_with_the_reason(door: FrontDoor):
    car = await door.remember("User owns a red car.", "ends")
    tabs = await door.remember("User prefers tabs.", "ends")
    sold = await door.remember("User sold the red car.", "ends")
    spaces = await door.remember("User prefers spaces, not tabs anymore.", "ends")
    assert await active(door, "ends") == {"User sold the red car.", "User prefers spaces, not tabs anymore."}
    for old, new in ((car, sold), (tabs, spaces)):
        events = (await door.get(f"/v1/memories/{old['memory_id']}/history")).json()["events"]
        assert (events[-1]["type"], events[-1]["after"]["superseded_by"]) == ("MemorySuperseded", new["memory_id"])
        assert events[-1]["reason"] == "it is no longer so"


async def test_a_new_like_ends_no_other_one(door: FrontDoor):
    for content in ("The user likes tea now.", "The user likes coffee now."):
        await door.remember(content, "likes")
    assert (await profile(door, "likes"))["likes"] == ["tea", "coffee"]


async def test_the_similar_memories_are_answered_and_nothing_that_is_not_active(door: FrontDoor):
    first = await door.remember("User drinks green tea in the morning", "alike")
    gone = await door.remember("User drinks green tea every morning", "alike")
    assert gone["similar"] == [{"memory_id": first["memory_id"], "content": first["content"]}]
    await door.http.delete(f"/v1/memories/{gone['memory_id']}")
    await door.remember("The car is parked behind the house", "alike")
    await door.remember("User drinks green tea in the morning", "somebody else")
    said = await door.remember("User drinks green tea in the late morning", "alike")
    assert [one["memory_id"] for one in said["similar"]] == [first["memory_id"]]
    home = await door.remember("The user now lives in Berlin", "alike")
    moved = await door.remember("The user now lives in Rome", "alike")
    assert home["attribute"] == "city"
    assert home["memory_id"] not in [one["memory_id"] for one in moved["similar"]]


async def test_at_most_three_of_the_agent_and_application_are_similar(door: FrontDoor):
    for number in range(5):
        await door.remember(f"the plan number {number} of the great summer garden", "few", agent_id="luna")
    await door.remember("the plan number 8 of the great summer garden", "few", agent_id="sol")
    said = await door.remember("the plan number 9 of the great summer garden", "few", agent_id="luna")
    assert len(said["similar"]) == 3
    other = await door.remember("the plan number 7 of the great summer garden", "few", agent_id="sol")
    assert [one["content"] for one in other["similar"]] == ["the plan number 8 of the great summer garden"]
    app = await door.remember("the plan number 6 of the great summer garden", "few", agent_id="luna", app_id="web")
    assert app["similar"] == []


async def test_a_repeated_command_is_the_same_though_more_is_known(door: FrontDoor):
    body = {"user_id": "once", "content": "User sold the red car."}
    first = await door.post("/v1/memories", body, **{"Idempotency-Key": "sold"})
    await door.remember("User owns a red car.", "once")
    again = await door.post("/v1/memories", body, **{"Idempotency-Key": "sold"})
    assert (again.status_code, again.json()["memory_id"]) == (201, first.json()["memory_id"])
    assert "User owns a red car." in await active(door, "once")


async def test_mem0_keeps_what_is_not_inferred_as_it_is(door: FrontDoor):
    message = {"role": "user", "content": "I live in Berlin."}
    added = await door.post("/memories", {"messages": [message], "user_id": "mem0", "infer": False})
    [result] = added.json()["results"]
    memory = (await door.get(f"/v1/memories/{result['id']}")).json()
    assert (memory["attribute"], memory["value"]) == (None, None)


async def test_a_key_that_the_policy_forbids_is_not_filled(door: FrontDoor):
    await door.http.put("/v1/policy?agent_id=discreet", json={"never_attributes": ["city"]})
    memory = await door.remember("I live in Berlin.", "policy", agent_id="discreet")
    assert memory["attribute"] is None


async def test_without_the_rules_it_is_remembered_all_the_same(door: FrontDoor, monkeypatch: pytest.MonkeyPatch):
    class Away:
        async def read(self, _window: Window) -> Reading:
            raise Outage("the rules' process cannot be started")

    reader = door.worker.commands._facts
    assert reader is not None
    monkeypatch.setattr(reader._own_words, "_reader", Away())
    memory = await door.remember("I live in Berlin.", "away")
    assert (memory["content"], memory["attribute"]) == ("I live in Berlin.", None)


async def test_a_profile_that_keeps_its_values_keeps_what_was_read_too(tmp_path_factory: pytest.TempPathFactory):
    async with front_door(tmp_path_factory.mktemp("keep"), profile_conflict="keep") as door:
        await door.remember("I live in Berlin.", "keep")
        moved = await door.remember("I moved to Rome.", "keep")
        assert (moved["attribute"], moved["status"]) == (None, "active")
        assert await profile(door, "keep") == {"city": "Berlin"}


async def test_it_is_not_read_where_nothing_is_extracted(tmp_path_factory: pytest.TempPathFactory):
    async with front_door(tmp_path_factory.mktemp("verbatim"), extractor="verbatim") as door:
        assert (await door.remember("I live in Berlin.", "verbatim"))["attribute"] is None


async def test_what_was_read_is_in_the_log_so_that_a_rebuild_asks_nobody(tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("rebuilt")
    async with front_door(folder) as door:
        for content in ("User owns a red car.", "User sold the red car.", "I live in Berlin.", "I saw Bob yesterday."):
            await door.remember(content, "log")
        before = (await door.get("/v1/memories", user_id="log", status="active")).json()["items"]
    async with front_door(folder, extractor="verbatim") as door:
        await door.post("/v1/admin/rebuild")
        after = (await door.get("/v1/memories", user_id="log", status="active")).json()["items"]
    kept = ("content", "attribute", "value", "occurred_at", "status")
    assert [[one[name] for name in kept] for one in after] == [[one[name] for name in kept] for one in before]


async def test_who_may_only_write_is_shown_nothing_similar(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(key_file, "LOOK_SECONDS", 0.0)  # what was written counts at once
    async with keyed_door(tmp_path_factory.mktemp("keys")) as keyed:
        body = {"user_id": "u1", "content": "User drinks green tea in the morning"}
        alike = body | {"content": "User drinks green tea every morning"}
        writer, reader = keyed.caller(Role.WRITE), keyed.caller(Role.READ, Role.WRITE)
        await writer.ask("POST", "/v1/memories", body)
        told = await writer.ask("POST", "/v1/memories", alike)
        assert (told.status_code, told.json()["similar"]) == (201, [])
        shown = (
            await reader.ask("POST", "/v1/memories", alike | {"content": "User drinks green tea in the late morning"})
        ).json()
        assert shown["similar"]
