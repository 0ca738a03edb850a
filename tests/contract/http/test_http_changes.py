"""The feed of changes over HTTP: every change once, in the order of its user, from any cursor on."""

from __future__ import annotations

import asyncio
import re
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from contract.front_door import FrontDoor, from_a_worker, front_door
from contract.wake_stream_client import open_wake_stream

from mnemolog.changes import feed, stream

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def door(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[FrontDoor]:
    async with front_door(tmp_path_factory.mktemp("worker"), partitions=4) as opened:
        yield opened


async def page(door: FrontDoor, **query: object) -> dict[str, Any]:
    response = await door.get("/v1/changes", **query)
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


async def pages(door: FrontDoor, after: str, **query: object) -> list[dict[str, Any]]:
    """Return all changes after a cursor, page after page."""
    items: list[dict[str, Any]] = []
    more = True
    while more:
        answer = await page(door, after=after, **query)
        items, after, more = items + answer["items"], answer["next"], answer["more"]
    return items


async def test_a_change_says_what_happened_and_the_memory_as_it_is_now(door: FrontDoor):
    start = (await page(door, after="now"))["next"]
    memory = await door.remember("likes tea", "says", agent_id="luna")
    [change] = (await page(door, after=start))["items"]
    history = (await door.get(f"/v1/memories/{memory['memory_id']}/history")).json()["events"]
    assert (change["type"], change["user_id"], change["memory_id"]) == ("MemoryFormed", "says", memory["memory_id"])
    shared = ("event_id", "position", "occurred_at", "recorded_at")
    assert [change[name] for name in shared] == [history[0][name] for name in shared]
    assert change["memory"]["content"] == "likes tea"


async def test_of_what_was_forgotten_the_words_are_not_shown(door: FrontDoor):
    start = (await page(door, after="now"))["next"]
    memory = await door.remember("likes juice", "forgets")
    assert (await door.http.delete(f"/v1/memories/{memory['memory_id']}")).status_code == 200
    items = await pages(door, start)
    assert [(item["type"], item["memory"]) for item in items] == [("MemoryFormed", None), ("MemoryForgotten", None)]


async def test_of_what_was_erased_only_that_is_left(door: FrontDoor):
    start = (await page(door, after="now"))["next"]
    memory = await door.remember("likes cider", "erases")
    gone = await door.http.delete(f"/v1/memories/{memory['memory_id']}?forever=true")
    assert gone.status_code == 200, gone.text
    items = await pages(door, start)
    assert [(item["type"], item["memory"]) for item in items] == [("MemoryErased", None)]
    await door.remember("likes perry", "leaves")
    assert (await door.http.delete("/v1/users/leaves")).status_code == 200
    [erasure] = await pages(door, start, user_id="leaves")
    assert (erasure["type"], erasure["user_id"], erasure["memory_id"], erasure["memory"]) == (
        "UserErased",
        "leaves",
        None,
        None,
    )
    await door.remember("likes mead", "leaves")
    assert [item["type"] for item in await pages(door, start, user_id="leaves")] == ["UserErased", "MemoryFormed"]


async def test_who_listens_for_an_agent_hears_of_erasures_too(door: FrontDoor):
    start = (await page(door, after="now"))["next"]
    memory = await door.remember("likes stout", "hears", agent_id="mia")
    assert (await door.http.delete(f"/v1/memories/{memory['memory_id']}?forever=true")).status_code == 200
    assert (await door.http.delete("/v1/users/hears")).status_code == 200
    found = [(item["type"], item["memory_id"]) for item in await pages(door, start, user_id="hears", agent_id="luna")]
    assert found == [("UserErased", None)]  # the first erasure went with the user


@pytest.mark.parametrize("limit", [1, 2, 100])
async def test_pages_of_any_length_have_each_change_once_and_each_user_in_order(door: FrontDoor, limit: int):
    start = (await page(door, after="now"))["next"]
    users = [f"page-{limit}-{number}" for number in range(5)]
    made = [(user, (await door.remember(f"saw a {n}", user))["memory_id"]) for n in range(3) for user in users]
    items = await pages(door, start, limit=limit)
    assert len(items) == len(made)
    for user in users:
        assert [i["memory_id"] for i in items if i["user_id"] == user] == [m for whose, m in made if whose == user]
        assert await pages(door, start, limit=limit, user_id=user) == [i for i in items if i["user_id"] == user]
    assert (await page(door, after=start, limit=limit))["more"] is (limit < len(made))


async def test_a_page_that_has_read_enough_leads_on(door: FrontDoor, monkeypatch: pytest.MonkeyPatch):
    start = (await page(door, after="now"))["next"]
    memory = await door.remember("likes rum", "reads")
    for importance in (0.7, 0.8, 0.9):
        path = f"/v1/memories/{memory['memory_id']}"
        assert (await door.http.patch(path, json={"importance": importance})).status_code == 200
    monkeypatch.setattr(feed, "DECISIONS_AT_ONCE", 1)
    first = await page(door, after=start, types="MemoryRevised")
    assert (first["items"], first["more"]) == ([], True)
    assert len(await pages(door, first["next"], types="MemoryRevised")) == 3


async def test_several_types_may_be_wanted(door: FrontDoor):
    start = (await page(door, after="now"))["next"]
    memory = await door.remember("likes rye", "types")
    await door.http.patch(f"/v1/memories/{memory['memory_id']}", json={"importance": 0.9})
    await door.http.delete(f"/v1/memories/{memory['memory_id']}")
    items = await pages(door, start, types="MemoryFormed,MemoryForgotten")
    assert [item["type"] for item in items] == ["MemoryFormed", "MemoryForgotten"]


async def test_an_agent_gets_what_it_knows(door: FrontDoor):
    own = await door.remember("likes figs", "agents", agent_id="luna")
    await door.remember("likes dates", "agents", agent_id="mia")
    items = (await page(door, user_id="agents", agent_id="luna"))["items"]
    assert [item["memory_id"] for item in items] == [own["memory_id"]]


@pytest.mark.parametrize(
    "query",
    [
        {"after": "x"},
        {"after": "MDow"},
        {"types": "Odd"},
        {"types": "MemoryFormed,Odd"},
        {"types": ""},
        {"limit": 0},
        {"user_id": "*"},
    ],
)
async def test_a_query_is_checked(door: FrontDoor, query: dict[str, object]):
    """The second cursor is one of the first partition only."""
    assert (await door.get("/v1/changes", **query)).status_code == 422


async def test_a_cursor_ahead_of_the_log_stays_where_it_is(door: FrontDoor):
    ahead = feed._cursor(dict.fromkeys(range(4), 10**9))
    answer = await page(door, after=ahead)
    assert (answer["items"], answer["next"], answer["more"]) == ([], ahead, False)


async def test_another_worker_asks_for_partitions(door: FrontDoor):
    memory = await door.remember("likes plums", "asked")
    body: dict[str, Any] = {"tenant": "default", "user_id": "asked", "agent_id": None, "types": [], "limit": 9}
    parts = (await from_a_worker(door, "/v1/internal/changes", body | {"since": {str(n): 0 for n in range(9)}})).json()
    assert parts.keys() == {"0", "1", "2", "3"}
    found = [item["change"]["memory_id"] for part in parts.values() for item in part["items"]]
    assert found == [memory["memory_id"]]


STREAM = "/v1/changes/stream"


async def test_a_stream_tells_what_happens_from_now_on_in_order(door: FrontDoor):
    await door.remember("was there before", "streams")
    async with open_wake_stream(door.app, "user_id=streams", path=STREAM) as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        memory = await door.remember("likes tea", "streams")
        await door.remember("is not wanted", "others")
        await door.http.patch(f"/v1/memories/{memory['memory_id']}", json={"importance": 0.9})
        told = await stream.changed(2)
        assert [(one["type"], one["user_id"]) for one in told] == [
            ("MemoryFormed", "streams"),
            ("MemoryRevised", "streams"),
        ]
        assert "event: MemoryFormed\n" in stream.text
        again = await pages(door, await stream.beginning(), user_id="streams")
        # Without the memory, which each shows as it was when it was asked.
        assert [one | {"memory": None} for one in told] == [one | {"memory": None} for one in again]


async def test_who_comes_back_is_told_what_was_missed_and_nothing_twice(door: FrontDoor):
    async with open_wake_stream(door.app, "", path=STREAM) as stream:
        for number in range(3):
            await door.remember(f"saw number {number}", f"back-{number}")
        first = await stream.changed(3)
        assert len(first) == 3
        await door.remember("a fourth one, whose page is complete", "back-4")
        seen = await stream.changed(4)
        behind = stream.last_id
    missed = [await door.remember(f"missed {number}", "back-5") for number in range(2)]
    async with open_wake_stream(door.app, "", behind, path=STREAM) as stream:
        told = await stream.changed(2)
        assert [one["memory_id"] for one in told] == [one["memory_id"] for one in missed]
    assert not {one["event_id"] for one in told} & {one["event_id"] for one in seen}


async def test_a_stream_begins_at_the_cursor_of_a_page_and_narrows(door: FrontDoor):
    start = (await page(door, after="now"))["next"]
    memory = await door.remember("likes cocoa", "narrow", agent_id="ada")
    await door.http.delete(f"/v1/memories/{memory['memory_id']}")
    async with open_wake_stream(door.app, f"after={start}&types=MemoryForgotten", path=STREAM) as stream:
        [told] = await stream.changed(1)
        assert (told["type"], told["memory"]) == ("MemoryForgotten", None)
    refused = await door.get(STREAM, after="nonsense")
    assert refused.status_code == 422


async def test_a_stream_without_news_shows_that_it_lives_and_how_far_it_is(door: FrontDoor):
    wanted, streams = feed.ChangesWanted(tenant="default", user_id="silent"), door.worker.change_streams
    cursor = await streams.begin(wanted, None)

    async def may_go_on() -> bool:
        return True

    events = streams.stream(wanted, cursor, may_go_on=may_go_on, heartbeat_seconds=0)
    assert b"id: " in await anext(events)
    assert (await anext(events)).startswith(b": nothing")
    await events.aclose()


async def test_many_who_catch_up_take_turns_and_the_worker_goes_on_in_between(
    door: FrontDoor, monkeypatch: pytest.MonkeyPatch
):
    for n in range(8):
        await door.remember("likes rain", f"turns {n}")
    here = feed.ChangeFeed.changes_here
    in_one_go, most = 0, 0

    def counted(self: feed.ChangeFeed, *given: Any) -> dict[str, Any]:
        nonlocal in_one_go, most
        parts = here(self, *given)
        in_one_go += sum(bool(part["items"]) for part in parts.values())
        most = max(most, in_one_go)
        return parts

    async def goes_on() -> None:
        nonlocal in_one_go
        while True:
            in_one_go = 0
            await asyncio.sleep(0)

    monkeypatch.setattr(feed.ChangeFeed, "changes_here", counted)
    other = asyncio.create_task(goes_on())
    found = await asyncio.gather(*(page(door) for _ in range(20)))
    other.cancel()
    assert (most, {len(one["items"]) > 0 for one in found}) == (1, {True})


async def test_a_stream_holds_little_for_who_reads_slowly_and_tells_everything(
    door: FrontDoor, monkeypatch: pytest.MonkeyPatch
):
    start = (await page(door, after="now"))["next"]
    for n in range(12):
        await door.remember(f"number {n}: " + "rain " * 400, f"slow {n}")
    monkeypatch.setattr(stream, "BYTES_AT_ONCE", 10_000)
    streams, told = door.worker.change_streams, ""
    events = streams.stream(
        feed.ChangesWanted(tenant="default"), start, may_go_on=lambda: asyncio.sleep(0, result=True)
    )
    async with aclosing(events), asyncio.timeout(120):
        while told.count("event: ") < 12:
            block = await anext(events)
            assert len(block) <= 10_000 or block.count(b"event: ") == 1
            told += block.decode()
    assert sorted(int(number) for number in re.findall(r"number (\d+):", told)) == list(range(12))
    assert told.count("event: MemoryFormed") == 12
