"""Forgetting and erasing by filter over HTTP: what meets it goes, and all else stays."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import pytest
from contract.front_door import FrontDoor, front_door, turn

from mnemolog.diagnostics.residue import find_residue
from mnemolog.http.routes import memories as routes
from mnemolog.operations.receipts import is_signed
from mnemolog.settings import from_environment

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    import httpx

USER: Final = "mover"
ATLAS: Final = {"metadata.project": "atlas"}


@pytest.fixture
async def door(tmp_path: Path) -> AsyncIterator[FrontDoor]:
    async with front_door(tmp_path) as opened:
        for n in range(12):
            project = ("atlas", "comet", "drift")[n % 3]
            await opened.remember(f"{project}{n} is Vexleyham{n}", USER, metadata={"project": project, "n": n})
        yield opened


async def gone(door: FrontDoor, filters: object, key: str | None = None, **query: object) -> httpx.Response:
    asked = {"user_id": USER, "filter": json.dumps(filters)} | {name: str(value) for name, value in query.items()}
    headers = {} if key is None else {"Idempotency-Key": key}
    return await door.http.delete("/v1/memories", params=asked, headers=headers)


async def contents(door: FrontDoor) -> list[str]:
    items = (await door.get("/v1/memories", user_id=USER, page_size=200)).json()["items"]
    return sorted(item["metadata"]["project"] for item in items)


async def digest(door: FrontDoor) -> str:
    return str((await door.get("/v1/admin/digest")).json()["total"])


async def test_what_meets_the_filter_is_forgotten_and_can_be_restored(door: FrontDoor):
    listed = (await door.get("/v1/memories", user_id=USER, filter=json.dumps(ATLAS))).json()["items"]
    expected = sorted(item["memory_id"] for item in listed)
    before = await digest(door)
    preview = await gone(door, ATLAS, preview="true")
    assert preview.json() == {"memory_ids": expected, "waiting": [], "left": 0}
    assert await digest(door) == before
    answer = await gone(door, ATLAS)
    assert (answer.status_code, answer.json()) == (200, preview.json())
    assert await contents(door) == ["comet"] * 4 + ["drift"] * 4
    assert "atlas" not in (await door.post("/v1/search", {"user_id": USER, "query": "atlas3 is"})).text
    assert (await gone(door, ATLAS)).json() == {"memory_ids": [], "waiting": [], "left": 0}
    restored = await door.post(f"/v1/memories/{expected[0]}/restore")
    assert (restored.status_code, restored.json()["status"]) == (200, "active")
    assert (await door.post("/v1/admin/rebuild")).json()["equal"]


async def test_the_same_key_is_the_same_command(door: FrontDoor):
    first = await gone(door, ATLAS, "k1")
    assert len(first.json()["memory_ids"]) == 4
    again = await gone(door, ATLAS, "k1")
    assert (again.status_code, again.json()) == (200, first.json())
    brought_back = first.json()["memory_ids"][0]
    assert (await door.post(f"/v1/memories/{brought_back}/restore")).status_code == 200
    assert (await gone(door, ATLAS, "k1")).json()["memory_ids"] == first.json()["memory_ids"][1:]
    assert (await gone(door, ATLAS, "k2")).json()["memory_ids"] == [brought_back]


async def test_what_is_over_goes_too_and_the_filter_may_say_otherwise(door: FrontDoor):
    await door.remember("lives in Oslo", USER, attribute="city", value="Oslo", metadata={"project": "home"})
    await door.remember("lives in Rome", USER, attribute="city", value="Rome", metadata={"project": "home"})
    home = {"metadata.project": "home"}
    assert len((await gone(door, home | {"status": "superseded"})).json()["memory_ids"]) == 1
    assert len((await gone(door, home)).json()["memory_ids"]) == 1
    assert "home" not in await contents(door)


async def test_an_agent_forgets_what_it_knows(door: FrontDoor):
    await door.remember("a secret of luna", USER, agent_id="luna", metadata={"project": "atlas"})
    assert len((await gone(door, ATLAS, agent_id="nova")).json()["memory_ids"]) == 4
    assert (await contents(door)).count("atlas") == 1


async def test_a_filter_has_to_be_said_and_everything_is_an_empty_one(door: FrontDoor):
    assert (await door.http.delete("/v1/memories", params={"user_id": USER})).status_code == 422
    assert (await door.http.delete("/v1/memories", params={"filter": "{}"})).status_code == 422
    assert (await gone(door, {"colour": 1})).status_code == 422
    assert len(await contents(door)) == 12
    assert len((await gone(door, {})).json()["memory_ids"]) == 12
    assert await contents(door) == []


async def test_more_than_go_at_once_are_left(door: FrontDoor, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(routes, "MOST_FORGOTTEN", 5)
    counts = [((await gone(door, {})).json()) for _ in range(4)]
    assert [(len(one["memory_ids"]), one["left"]) for one in counts] == [(5, 7), (5, 2), (2, 0), (0, 0)]


# -- for good


async def erased(door: FrontDoor, filters: object, key: str | None = None, **query: object) -> dict[str, Any]:
    answer = await gone(door, filters, key, forever="true", **query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def test_the_words_of_all_of_them_are_nowhere_and_one_receipt_says_so(door: FrontDoor, tmp_path: Path):
    for n in range(3):
        said = turn(f"t{n}", f"My name is Quirinius{n}. I live in Mirvandel{n}.", user_id=USER, session_id=f"s{n}")
        assert (await door.post("/v1/events", said)).status_code == 202
        assert (await door.post("/v1/admin/drain")).status_code == 200
    filters = {"OR": [ATLAS, {"attribute": {"contains": "city"}}, {"content": {"contains": "Mirvandel"}}]}
    preview = await erased(door, filters, preview="true")
    assert len(preview["memory_ids"]) >= 5
    assert set(preview["event_ids"]) == {"t0", "t1", "t2"}
    receipt = await erased(door, filters, "k1")
    assert {field: receipt[field] for field in preview} == preview
    assert await erased(door, filters, "k1") == receipt
    erasures = (await door.get("/v1/erasures")).json()
    assert is_signed(receipt, erasures["public_key"])
    assert {one["receipt_id"] for one in erasures["items"]} == {receipt["receipt_id"]}
    assert len({one["subject"] for one in erasures["items"]}) == receipt["memories"] == len(receipt["memory_ids"])
    words = [*(f"Mirvandel{n}" for n in range(3)), "Vexleyham0", "Vexleyham3"]
    for word in words:
        assert word not in (await door.get(f"/v1/users/{USER}/export")).text
    assert await find_residue(from_environment({}, data_dir=tmp_path), words) == []
    for memory_id in receipt["memory_ids"]:
        assert (await door.get(f"/v1/memories/{memory_id}")).status_code == 404
    assert (await door.post("/v1/admin/rebuild")).json()["equal"]
    assert (await contents_of_others(door)) == ["comet"] * 4 + ["drift"] * 4


async def contents_of_others(door: FrontDoor) -> list[str]:
    items = (await door.get("/v1/memories", user_id=USER, page_size=200)).json()["items"]
    return sorted(item["metadata"]["project"] for item in items if "project" in item["metadata"])


async def test_nothing_to_erase_changes_nothing(door: FrontDoor):
    before = await digest(door)
    receipt = await erased(door, {"content": "nobody said so"})
    assert (receipt["memory_ids"], receipt["memories"], receipt["left"]) == ([], 0, 0)
    assert (await door.get("/v1/erasures")).json()["items"] == []
    assert await digest(door) == before


async def test_more_than_are_erased_at_once_are_left(door: FrontDoor, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(routes, "MOST_ERASED", 5)
    counts = [await erased(door, {}) for _ in range(3)]
    assert [(one["memories"], one["left"]) for one in counts] == [(5, 7), (5, 2), (2, 0)]
    assert await contents(door) == []
