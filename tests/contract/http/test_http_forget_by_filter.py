"""Memories forgotten, or erased for good, by what they are: as the list chooses them, with a preview first."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from contract.front_door import FrontDoor, front_door, turn

from mnemolog.diagnostics.residue import find_residue
from mnemolog.operations.erasing.receipts import is_signed
from mnemolog.operations.erasing.words_of_memories import OverwrittenWords
from mnemolog.settings import from_environment

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Sequence
    from pathlib import Path

    from schemas.identity import Owner
    from schemas.messages.erasure import MemoryErased

pytestmark = pytest.mark.asyncio
SAID: tuple[tuple[str, str, dict[str, str]], ...] = (
    ("owes the bank 900", "finance", {"topic": "debt"}),
    ("saves 50 a month", "finance", {"topic": "saving"}),
    ("likes jasmine tea", "preference", {}),
)


@pytest.fixture
async def door(tmp_path: Path) -> AsyncIterator[FrontDoor]:
    async with front_door(tmp_path) as opened:
        for content, category, metadata in SAID:
            body = {"user_id": "u1", "content": content, "category": category, "metadata": metadata}
            assert (await opened.post("/v1/memories", body)).status_code == 201
        assert (await opened.post("/v1/memories", {"user_id": "u2", "content": "owes nothing"})).status_code == 201
        yield opened


async def delete(door: FrontDoor, **query: str) -> Any:
    answer = await door.http.request("DELETE", "/v1/memories", params=query)
    return answer.json() | {"status": answer.status_code}


async def contents(door: FrontDoor, user: str = "u1", status: str = "active") -> set[str]:
    listed = (await door.get("/v1/memories", user_id=user, status=status)).json()
    return {memory["content"] for memory in listed["items"]}


async def test_a_preview_says_which_would_go_and_changes_nothing(door: FrontDoor):
    found = await delete(door, user_id="u1", category="finance", preview="true")
    assert (found["status"], len(found["items"]), found["left"], found["receipts"]) == (200, 2, 0, [])
    assert len(await contents(door)) == 3


async def test_for_good_those_go_too_that_were_forgotten_before(door: FrontDoor):
    assert len((await delete(door, user_id="u1", category="finance"))["items"]) == 2
    found = await delete(door, user_id="u1", category="finance", forever="true")
    assert len(found["receipts"]) == 2
    assert await contents(door, status="forgotten") == set()
    assert await contents(door) == {"likes jasmine tea"}


async def test_those_that_meet_a_field_are_forgotten_and_can_be_restored(door: FrontDoor):
    found = await delete(door, user_id="u1", category="finance")
    assert (found["status"], len(found["items"]), found["waiting"]) == (200, 2, [])
    assert await contents(door) == {"likes jasmine tea"}
    assert await contents(door, "u2") == {"owes nothing"}
    assert (await door.post(f"/v1/memories/{found['items'][0]}/restore")).status_code == 200
    assert len(await contents(door)) == 2


async def test_a_filter_chooses_and_so_many_go_at_once(door: FrontDoor):
    wanted = json.dumps({"OR": [{"metadata.topic": "debt"}, {"content": {"icontains": "TEA"}}]})
    first = await delete(door, user_id="u1", filters=wanted, limit="1")
    assert (len(first["items"]), first["left"]) == (1, 1)
    second = await delete(door, user_id="u1", filters=wanted, limit="1")
    assert (len(second["items"]), second["left"]) == (1, 0)
    assert await contents(door) == {"saves 50 a month"}


async def test_for_good_each_has_its_receipt_and_no_history(door: FrontDoor):
    preview = await delete(door, user_id="u1", category="finance", forever="true", preview="true")
    found = await delete(door, user_id="u1", category="finance", forever="true")
    assert found["items"] == preview["items"]
    key = (await door.get("/v1/erasures")).json()["public_key"]
    assert [receipt["memory_id"] for receipt in found["receipts"]] == found["items"]
    assert all(is_signed(receipt, key) for receipt in found["receipts"])
    for memory_id in found["items"]:
        assert (await door.get(f"/v1/memories/{memory_id}")).status_code == 404
    assert await contents(door) == {"likes jasmine tea"}
    assert (await delete(door, user_id="u1", category="finance", forever="true"))["items"] == []


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ({}, "$.user_id"),
        ({"user_id": "u1", "filters": "{"}, "is not JSON"),
        ({"user_id": "u1", "filters": '{"nothing_like_it": 1}'}, "is no field of a memory"),
        ({"user_id": "u1", "filters": "[]"}, "is no filter"),
        ({"user_id": "u1", "filters": "[" * 5_000}, "filters"),
        ({"user_id": "u1", "limit": "1001"}, "$.limit"),
        ({"user_id": "u1", "scope": "global"}, "$.scope"),
    ],
)
async def test_what_it_cannot_do_is_refused_and_nothing_goes(door: FrontDoor, query: dict[str, str], told: str):
    refused = await delete(door, **query)
    assert (refused["status"], told in json.dumps(refused)) == (422, True), refused
    assert len(await contents(door)) == 3


async def test_for_good_the_words_of_all_are_nowhere_and_the_log_is_gone_through_once(
    door: FrontDoor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for n in range(3):
        said = turn(f"t{n}", f"My name is Quirinius{n}. I live in Mirvandel{n}.", user_id="u1", session_id=f"s{n}")
        assert (await door.post("/v1/events", said)).status_code == 202
        assert (await door.post("/v1/admin/drain")).status_code == 200
    words = [f"Mirvandel{n}" for n in range(3)]
    wanted = json.dumps({"content": {"contains": "Mirvandel"}})
    counts = await rewrites(monkeypatch, delete(door, user_id="u1", filters=wanted, status="active", forever="true"))
    superseded = await delete(door, user_id="u1", filters=wanted, status="superseded", forever="true")
    gone = counts.answer["items"] + superseded["items"]
    assert (len(gone), counts.number) == (3, 1)
    assert await find_residue(from_environment({}, data_dir=tmp_path), words) == []
    export = (await door.get("/v1/users/u1/export")).text
    assert not any(word in export for word in words)
    assert (await door.get("/v1/admin/digest")).json()["total"]
    assert (await door.post("/v1/admin/rebuild")).json()["equal"]
    assert await find_residue(from_environment({}, data_dir=tmp_path), words) == []


@pytest.mark.parametrize("at_once", [1, 2])
async def test_those_of_one_turn_go_together(door: FrontDoor, tmp_path: Path, at_once: int):
    """Whether in one request or one after the other, they leave the same."""
    said = turn("t1", "My name is Quirinius. I live in Mirvandel.", user_id="u3")
    assert (await door.post("/v1/events", said)).status_code == 202
    assert (await door.post("/v1/admin/drain")).status_code == 200
    assert len(await contents(door, "u3")) == 2
    receipts = []
    while (found := await delete(door, user_id="u3", limit=str(at_once), forever="true"))["items"]:
        receipts += found["receipts"]
    assert [receipt["event_ids"] for receipt in receipts] == [["t1"], ["t1"]]
    assert (await door.get("/v1/events/t1", user_id="u3")).status_code == 404
    assert await find_residue(from_environment({}, data_dir=tmp_path), ["Quirinius", "Mirvandel"]) == []
    assert len({one["subject"] for one in (await door.get("/v1/erasures")).json()["items"]}) == 2


@dataclass(frozen=True)
class Rewrites:
    """An answer, and how often the log was gone through for it."""

    answer: dict[str, Any]
    number: int


async def rewrites(monkeypatch: pytest.MonkeyPatch, asked: Awaitable[dict[str, Any]]) -> Rewrites:
    calls, remove = [], OverwrittenWords.remove

    async def counted(words: OverwrittenWords, owner: Owner, events: Sequence[MemoryErased]) -> list[str]:
        calls.append(owner)
        return await remove(words, owner, events)

    monkeypatch.setattr(OverwrittenWords, "remove", counted)
    answer = await asked
    monkeypatch.undo()
    return Rewrites(answer, len(calls))


async def test_a_field_and_a_filter_that_say_the_same_are_refused(door: FrontDoor):
    refused = await delete(door, user_id="u1", category="finance", filters='{"category": "preference"}')
    assert (refused["status"], refused["errors"][0]["path"]) == (422, "$.category")
    assert len(await contents(door)) == 3
