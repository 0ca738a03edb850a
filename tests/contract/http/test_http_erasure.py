"""Erasure over HTTP: a user is gone from every answer, with a receipt, and the same id then starts empty."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from contract.front_door import FrontDoor, front_door, turn

from mnemolog.operations.erasing.receipts import is_signed
from schemas.identity import Owner
from schemas.topics import DEAD_LETTERS, INPUTS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

TIME = re.compile(r"\d{4}-\d\d-\d\dT[^\"]+")
WORDS = "My name is Quirinius and I live in Paris. I work at Siemens."


@pytest.fixture(params=["on", "off"])
async def door(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[FrontDoor]:
    async with front_door(tmp_path, encryption=request.param) as door:
        yield door


async def lives(door: FrontDoor, user: str, words: str = WORDS) -> None:
    """Publish, remember, remind and recall something of a user's."""
    assert (await door.post("/v1/events", turn(f"t-{user}", words, user_id=user))).status_code == 202
    fact = {"user_id": user, "content": f"{user} keeps a quokka", "metadata": {"note": "Quirinius"}}
    assert (await door.post("/v1/memories", fact)).status_code == 201
    assert (await door.post("/v1/admin/drain")).status_code == 200
    assert await total(door, user) > 1


async def total(door: FrontDoor, user: str) -> int:
    return int((await door.get("/v1/memories", user_id=user)).json()["total"])


async def digest(door: FrontDoor) -> str:
    return str((await door.get("/v1/admin/digest")).json()["total"])


async def erased(door: FrontDoor, user: str) -> dict[str, object]:
    answer = await door.http.delete(f"/v1/users/{user}")
    assert answer.status_code == 200, answer.text
    found: dict[str, object] = answer.json()
    return found


async def test_the_digest_is_that_of_a_world_without_the_user(door: FrontDoor):
    await lives(door, "yuri")
    before = await digest(door)
    await lives(door, "zara")
    assert await digest(door) != before
    await erased(door, "zara")
    assert await digest(door) == before
    assert (await door.post("/v1/admin/rebuild")).json()["equal"]
    assert await digest(door) == before


async def test_every_answer_is_as_for_somebody_who_never_was(door: FrontDoor):
    await lives(door, "zara")
    await erased(door, "zara")
    for path in (
        "/v1/memories?user_id={}",
        "/v1/users/{}/profile",
        "/v1/users/{}/stats",
        "/v1/users/{}/episodes",
        "/v1/users/{}/emotions",
        "/v1/users/{}/upcoming",
        "/v1/users/{}/report",
        "/v1/users/{}/entities",
        "/v1/users/{}/reminders",
        "/v1/sessions/s1/turns?user_id={}",
    ):
        erased_, never = await door.get(path.format("zara")), await door.get(path.format("noone"))
        assert erased_.status_code == never.status_code, path
        assert TIME.sub("", erased_.text).replace("zara", "noone") == TIME.sub("", never.text), path
    found = await door.post("/v1/search", {"user_id": "zara", "query": "quokka", "include": ["memories", "turns"]})
    assert found.json()["results"] == []
    assert (await door.get("/v1/events/t-zara?user_id=zara")).status_code == 404


async def test_the_key_that_checks_receipts_is_told_before_there_are_any(tmp_path: Path):
    async with front_door(tmp_path / "fresh") as door:
        listed = (await door.get("/v1/erasures")).json()
        assert listed["items"] == []
        await door.remember("keeps a quokka", "zara")
        assert is_signed((await door.http.delete("/v1/users/zara")).json(), listed["public_key"])


async def test_the_receipt_counts_what_went_and_is_signed(door: FrontDoor):
    await lives(door, "zara")
    held = await total(door, "zara")
    preview = (await door.http.delete("/v1/users/zara?preview=true")).json()
    assert await total(door, "zara") == held
    receipt = await erased(door, "zara")
    assert (receipt["user"], receipt["memories"], receipt["index"], receipt["remains"]) == ("zara", held, held, [])
    assert {name: receipt[name] for name in preview} == preview
    listed = (await door.get("/v1/erasures")).json()
    assert [one["receipt_id"] for one in listed["items"]] == [receipt["receipt_id"]]
    assert "zara" not in str(listed)
    assert is_signed(receipt, listed["public_key"])
    assert not is_signed(receipt | {"memories": 0}, listed["public_key"])


async def test_the_receipt_names_the_positions_up_to_which_the_user_is_erased(door: FrontDoor):
    await lives(door, "zara")
    log, owner = door.worker.log, Owner("default", "zara")
    partition = door.worker.shards.partition(owner)
    ends = {topic.name: await log.end(topic.name, partition) for topic in (*INPUTS, DEAD_LETTERS)}
    receipt = await erased(door, "zara")
    assert receipt["positions"] == [f"{topic}:{partition}:{end}" for topic, end in ends.items()]
    for topic, end in ends.items():
        records = await log.read(topic, partition, 0)
        assert not [r for r in records if r.position.offset < end and r.key == owner.key]


async def test_without_encryption_a_receipt_is_signed_by_a_key_that_the_list_names(tmp_path: Path):
    async with front_door(tmp_path, encryption="off") as door:
        assert (await door.get("/v1/erasures")).json()["public_key"]
        await door.remember("keeps a quokka", "zara")
        receipt = (await door.http.delete("/v1/users/zara")).json()
        [listed] = (await door.get("/v1/erasures")).json()["items"]
        assert is_signed(receipt, listed["public_key"])
    async with front_door(tmp_path) as door:  # encrypted from now on, and the installation has another key
        told = (await door.get("/v1/erasures")).json()
        assert is_signed(receipt, told["items"][0]["public_key"])
        assert not is_signed(receipt, told["public_key"])


async def test_the_same_key_is_the_same_erasure(door: FrontDoor):
    await lives(door, "zara")
    first = await door.http.delete("/v1/users/zara", headers={"Idempotency-Key": "once"})
    await lives(door, "zara")
    held = await total(door, "zara")
    again = await door.http.delete("/v1/users/zara", headers={"Idempotency-Key": "once"})
    assert (first.status_code, again.status_code) == (200, 200)
    assert again.json()["receipt_id"] == first.json()["receipt_id"]
    assert again.json()["erased_at"] == first.json()["erased_at"]
    assert await total(door, "zara") == held


async def test_a_key_of_before_erases_nobody_who_came_back(door: FrontDoor):
    for key in ("first", "second"):
        await lives(door, "zara")
        answer = await door.http.delete("/v1/users/zara", headers={"Idempotency-Key": key})
        assert answer.status_code == 200
    await lives(door, "zara")
    held = await total(door, "zara")
    late = await door.http.delete("/v1/users/zara", headers={"Idempotency-Key": "first"})
    assert late.status_code == 409
    assert await total(door, "zara") == held


async def test_who_returns_begins_anew_with_the_same_ids(door: FrontDoor):
    await lives(door, "zara")
    held = await total(door, "zara")
    await erased(door, "zara")
    await lives(door, "zara")
    assert await total(door, "zara") == held
    assert (await door.post("/v1/admin/rebuild")).json()["equal"]


async def test_an_export_of_before_can_be_imported_again_and_nothing_else_comes_back(door: FrontDoor):
    await lives(door, "zara")
    known = {one["content"] for one in (await door.get("/v1/memories", user_id="zara")).json()["items"]}
    exported = (await door.get("/v1/users/zara/export")).content
    await erased(door, "zara")
    lines = {"content-type": "application/x-ndjson"}
    imported = await door.http.post("/v1/import?wait=60", content=exported, headers=lines)
    assert (imported.status_code, imported.json()["imported"]) == (200, len(known)), imported.text
    found = (await door.get("/v1/memories", user_id="zara")).json()["items"]
    assert {one["content"] for one in found} == known
    assert (await door.get("/v1/events/t-zara", user_id="zara")).status_code == 404


async def test_a_user_of_whom_nothing_is_known_gets_no_receipt_unless_it_is_forced(door: FrontDoor):
    refused = await door.http.delete("/v1/users/noone")
    assert refused.status_code == 404
    assert "nothing is known of the user 'noone', so nothing" in refused.json()["detail"]
    assert (await door.get("/v1/erasures")).json()["items"] == []
    forced = (await door.http.delete("/v1/users/noone?force=true")).json()
    assert (forced["events"], forced["memories"], "signature" in forced) == (0, 0, True)


async def test_who_is_erased_already_gets_no_second_receipt_until_something_comes(door: FrontDoor):
    await lives(door, "zara")
    receipt = await erased(door, "zara")
    for _ in range(2):
        refused = await door.http.delete("/v1/users/zara")
        assert refused.status_code == 404
        assert f"since the erasure of {receipt['erased_at']}" in refused.json()["detail"]
        assert receipt["receipt_id"] in refused.json()["detail"]
    assert len((await door.get("/v1/erasures")).json()["items"]) == 1
    await door.post("/v1/events", turn("again", "I love quokkas.", user_id="zara"))
    assert (await erased(door, "zara"))["events"] == 1
    assert len((await door.get("/v1/erasures")).json()["items"]) == 2


async def test_an_open_window_is_dropped(door: FrontDoor):
    await lives(door, "yuri")
    before = await digest(door)
    await door.post("/v1/events", turn("open", "I love quokkas.", user_id="zara"))
    await erased(door, "zara")
    assert (await door.post("/v1/admin/drain")).status_code == 200
    assert await digest(door) == before


async def test_a_longer_path_erases_nobody_and_a_slash_in_an_id_is_escaped(door: FrontDoor):
    for user in ("zara", "a/profile"):
        await lives(door, user, f"I am {user} and I live in Paris.")
    before = await digest(door)
    for path in ("/v1/users/zara/profile", "/v1/users/a/profile", "/v1/users/zara/", "/v1/users/zara/x/y"):
        refused = await door.http.delete(path)
        assert refused.status_code in (404, 405), path
    assert await digest(door) == before
    assert (await door.http.delete("/v1/users/a%2Fprofile")).json()["user"] == "a/profile"
    assert await total(door, "a/profile") == 0
    assert await total(door, "zara") > 1
