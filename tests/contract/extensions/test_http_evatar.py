"""Evatar's own routes over HTTP: its names, its paging, and all devices at once where none is named."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from contract.front_door import FrontDoor, front_door, turn

from schemas.identity import Owner

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.asyncio(loop_scope="module")

FIELDS = {
    "id", "content", "memory_type", "source_type", "source_id", "category", "importance", "access_count", "device_id",
    "created_at", "last_accessed", "expires_at",
}  # fmt: skip


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def door(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[FrontDoor]:
    """Six devices on two partitions, each with three memories; one of them is forgotten, and one is for everyone."""
    async with front_door(tmp_path_factory.mktemp("worker"), partitions=2) as opened:
        for number in range(18):
            memory_type = "short_term" if number % 3 == 0 else "long_term"
            category = "people" if number % 2 else "finance"
            more = {"memory_type": memory_type, "category": category, "importance": (number * 7 % 10) / 10}
            await opened.remember(f"fact number {number}", f"device-{number % 6}", **more)
        gone = await opened.remember("this is forgotten", "device-1", importance=0.99)
        assert (await opened.http.delete(f"/v1/memories/{gone['memory_id']}")).status_code == 200
        await opened.remember("the office is in Berlin", "device-2", scope="global", importance=0.65)
        yield opened


async def all_pages(door: FrontDoor, size: int, **narrowed: object) -> list[dict[str, Any]]:
    """Return the items of all pages; each page but the last is full, and tells the same total."""
    items: list[dict[str, Any]] = []
    while True:
        page = len(items) // size + 1
        found = (await door.get("/api/memories", page=page, page_size=size, **narrowed)).json()
        items += found["items"]
        assert (found["page"], found["page_size"]) == (page, size)
        if len(items) == found["total"]:
            return items
        assert len(found["items"]) == size


async def test_a_memory_has_evatars_names_and_no_others(door: FrontDoor):
    known = (await door.get("/v1/memories", user_id="device-0")).json()["items"][0]
    [shown, *_] = (await door.get("/api/memories", device_id="device-0")).json()["items"]
    assert set(shown) == FIELDS
    assert shown == {
        "id": known["memory_id"],
        "source_id": known["source_ref"],
        "device_id": "device-0",
        "created_at": known["formed_at"],
        "last_accessed": known["last_accessed_at"],
    } | {name: known[name] for name in FIELDS & set(known)}


async def test_the_source_is_the_photo_the_article_or_the_conversation(door: FrontDoor):
    await door.post("/v1/events", turn("e-1", "I live in Berlin.", user_id="sources", session_id="s-7"))
    photo = {"type": "ScreenshotAnalysed", "event_id": "p-1", "user_id": "sources", "screenshot_id": "IMG_1"}
    await door.post("/v1/events", photo | {"text": "Payment of 42.50 euros to Stadtwerke", "relevance": "high"})
    await door.post("/v1/admin/drain")
    items = (await door.get("/api/memories", device_id="sources")).json()["items"]
    assert {(item["source_type"], item["source_id"]) for item in items} == {("chat", "s-7"), ("photo", "IMG_1")}
    for item in items:
        assert (await door.http.delete(f"/api/memories/{item['id']}")).status_code == 200


async def test_without_a_device_all_users_are_listed_in_the_order_of_every_list(door: FrontDoor):
    items = await all_pages(door, 5)
    assert len(items) == 19
    by_id = sorted(items, key=lambda item: item["id"])
    assert items == sorted(by_id, key=lambda item: (item["importance"], item["last_accessed"]), reverse=True)
    assert {item["device_id"] for item in items} == {*(f"device-{n}" for n in range(6)), "*"}
    assert "this is forgotten" not in {item["content"] for item in items}
    assert items == await all_pages(door, 200)


@pytest.mark.parametrize("narrowed", [{"memory_type": "short_term"}, {"category": "people"}])
async def test_a_list_of_all_devices_is_narrowed_as_that_of_one_is(door: FrontDoor, narrowed: dict[str, str]):
    everything = await all_pages(door, 200)
    [(name, value)] = narrowed.items()
    assert await all_pages(door, 2, **narrowed) == [item for item in everything if item[name] == value]
    of_one = await all_pages(door, 2, device_id="device-3", **narrowed)
    assert of_one == [i for i in everything if i[name] == value and i["device_id"] == "device-3"]


async def test_a_document_is_on_no_list_of_devices(door: FrontDoor):
    before = (await door.get("/api/memories")).json()["total"]
    body = {"user_id": "device-0", "content": "a value", "kind": "document", "attribute": "a-key", "value": "1"}
    assert (await door.post("/v1/memories", body)).status_code == 201
    assert (await door.get("/api/memories")).json()["total"] == before
    assert "a value" not in (await door.get("/api/memories", device_id="device-0")).text


async def test_what_is_for_everyone_is_the_device_star(door: FrontDoor):
    items = (await door.get("/api/memories", device_id="*")).json()["items"]
    assert [(item["device_id"], item["content"]) for item in items] == [("*", "the office is in Berlin")]
    assert (await door.get("/api/memories/stats", device_id="*")).json()["total"] == 1


async def test_stats_count_by_type_and_category_for_one_device_and_for_all(door: FrontDoor):
    for narrowed in ({}, {"device_id": "device-4"}):
        items = await all_pages(door, 200, **narrowed)
        stats = (await door.get("/api/memories/stats", **narrowed)).json()
        assert stats["total"] == len(items) > 0
        for name, counted in (("memory_type", stats["by_type"]), ("category", stats["by_category"])):
            assert counted == {word: sum(i[name] == word for i in items) for word in {i[name] for i in items}}


async def test_deleting_makes_a_memory_unfindable_and_may_be_repeated(door: FrontDoor):
    memory = await door.remember("likes tea", "deleted")
    path = f"/api/memories/{memory['memory_id']}"
    before = (await door.get("/api/memories/stats")).json()["total"]
    first, second = await door.http.delete(path), await door.http.delete(path)
    assert (first.status_code, second.status_code, first.json()) == (200, 200, second.json())
    assert (first.json()["id"], set(first.json())) == (memory["memory_id"], FIELDS)
    assert (await door.get("/api/memories", device_id="deleted")).json()["items"] == []
    assert (await door.get("/api/memories/stats")).json()["total"] == before - 1
    assert (await door.get("/v1/memories", user_id="deleted", status="forgotten")).json()["total"] == 1
    unknown = await door.http.delete("/api/memories/none")
    assert (unknown.status_code, unknown.json()["detail"]) == (404, "there is no memory 'none'")


async def test_the_same_words_on_two_devices_are_two_memories_and_on_one_device_one(door: FrontDoor):
    """Its dedupe asks for device and hash together, and so does the unique constraint of its table."""
    kept = [await door.remember("喜欢喝咖啡", device) for device in ("twin-1", "twin-2")]
    again = (await door.post("/v1/memories", {"user_id": "twin-1", "content": " 喜欢喝咖啡。"})).json()
    assert (again["memory_id"], again["content_hash"]) == (kept[0]["memory_id"], kept[1]["content_hash"])
    counted = [(await door.get("/api/memories", device_id=f"twin-{n}")).json()["items"] for n in (1, 2)]
    assert [[item["access_count"] for item in items] for items in counted] == [[1], [0]]
    for memory in kept:
        assert (await door.http.delete(f"/api/memories/{memory['memory_id']}")).status_code == 200


async def test_what_has_expired_is_not_shown_whatever_the_last_tick_was(door: FrontDoor):
    before = await all_pages(door, 200)
    door.clock.ahead = timedelta(hours=49)
    try:
        after = await all_pages(door, 200)
        counted = (await door.get("/api/memories/stats")).json()
    finally:
        door.clock.ahead = timedelta()
    assert after == [item for item in before if item["memory_type"] == "long_term"]
    assert counted["by_type"] == {"long_term": len(after)}


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("page_size=201", "$.page_size"),
        ("page_size=0", "$.page_size"),
        ("page=0", "$.page"),
        ("page=501&page_size=200", "$.page"),
        ("memory_type=odd", "$.memory_type"),
        ("category=odd", "$.category"),
        ("device_id=", "$.device_id"),
        ("importance=2", "$.importance"),
    ],
)
async def test_evatars_list_refuses_what_it_does_not_know(door: FrontDoor, query: str, path: str):
    response = await door.http.get(f"/api/memories?{query}")
    assert (response.status_code, [e["path"] for e in response.json()["errors"]]) == (422, [path])


async def test_the_pages_of_one_device_have_no_end_to_reach(door: FrontDoor):
    found = (await door.get("/api/memories", device_id="device-0", page=1_000_000, page_size=200)).json()
    assert (found["items"], found["total"]) == ([], 3)


async def test_a_part_that_is_missing_refuses_the_whole_list(door: FrontDoor):
    """A worker that has lost a partition knows of no worker that has it."""
    partition = door.worker.shards.partition(Owner("default", "device-0"))
    door.worker.shards.assignment.release(partition)
    try:
        answers = [await door.get(f"/api/memories{path}") for path in ("", "/stats")]
    finally:
        await door.worker.shards.takeover.hold(partition)
    for refused in answers:
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        assert f"no worker holds [{partition}]" in refused.json()["detail"]
    assert (await door.get("/api/memories/stats")).json()["total"] == 19
