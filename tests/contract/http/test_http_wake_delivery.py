"""How wakes are delivered: by polling and by streams that go on where they were, also after a rebuild; and ticks."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio
from contract.front_door import FrontDoor, front_door
from contract.wake_calls import YEARS, remind, soon, wakes
from contract.wake_stream_client import StreamedWake, open_wake_stream
from support.examples import nested

from mnemolog.http.app import make_http
from mnemolog.http.models.wakes import Wakes
from mnemolog.wakes.stream import Listener, wake_event

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def door(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[FrontDoor]:
    async with front_door(tmp_path_factory.mktemp("worker")) as opened:
        yield opened


# -- polling


async def test_polling_goes_on_where_it_was_and_loses_nothing(door: FrontDoor):
    for number in range(5):
        await remind(door, "poll", soon(door) - YEARS, str(number))
    await wakes(door, "poll", 5)
    seen, after = [], "0"
    while items := (page := (await door.get("/v1/users/poll/wakes", after=after, limit=2)).json())["items"]:
        seen += [w["content"] for w in items]
        after = page["next"]
    assert (seen, after, page) == ([str(n) for n in range(5)], "5", {"items": [], "next": "5"})
    assert (await door.get("/v1/users/nobody/wakes")).json() == {"items": [], "next": "0"}
    for wrong in ({"after": "x"}, {"limit": "201"}, {"limit": "0"}):
        assert (await door.get("/v1/users/poll/wakes", **wrong)).status_code == 422
    assert Wakes(**(await door.get("/v1/users/poll/wakes")).json())


async def test_wakes_are_the_same_after_a_rebuild_and_after_a_restart(tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("rebuilt")
    async with front_door(folder) as door:
        await door.remember("likes tea")
        await door.http.put("/v1/users/u1/wake", json={"every_seconds": 60, "memory_limit": 5})
        await remind(door, "u1", soon(door) + YEARS)
        door.clock.ahead += timedelta(minutes=2)
        [wake] = await wakes(door, "u1", 1)
        await door.http.delete("/v1/users/u1/wake")
        report = (await door.post("/v1/admin/rebuild", {"what": "all"})).json()
        assert report["equal"]
        [again] = await wakes(door, "u1", 1)
        assert {**again, "memories": []} == {**wake, "memories": []}
        reminders = (await door.get("/v1/users/u1/reminders")).json()
    async with front_door(folder) as door:
        assert (await door.get("/v1/users/u1/reminders")).json() == reminders
        [again] = await wakes(door, "u1", 1)
        assert again["wake_id"] == wake["wake_id"]


# -- ticks


async def test_a_tick_of_wakes_raises_what_is_due_and_happens_once(tmp_path_factory: pytest.TempPathFactory):
    async with front_door(tmp_path_factory.mktemp("ticks")) as door:
        due_at = soon(door) + YEARS
        await remind(door, "u1", due_at)
        body = {"as_of": due_at.isoformat(), "policy": "wake", "force": True}
        first = (await door.post("/v1/admin/ticks", body)).json()
        assert {k: first[k] for k in ("policy", "changed", "decayed", "expired", "applied")} == {
            "policy": "wake", "changed": 1, "decayed": 0, "expired": 0, "applied": True,
        }  # fmt: skip
        await remind(door, "u1", due_at)
        assert (await door.post("/v1/admin/ticks", body)).json() == first | {"repeated": True}
        [wake] = await wakes(door, "u1", 1)
        assert wake["raised_at"] == wake["due_at"]
        assert (await door.post("/v1/admin/ticks", body | {"force": False})).status_code == 422


# -- streams


async def test_a_stream_tells_wakes_as_they_are_raised_of_everybody_or_of_one(door: FrontDoor):
    app = make_http(door.worker)
    async with open_wake_stream(app) as everybody, open_wake_stream(app, "user_id=s1") as one:
        assert (everybody.status, everybody.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
        assert everybody.headers["cache-control"] == "no-store"
        for number in range(3):
            await remind(door, f"s{number}", soon(door) - YEARS, f"for s{number}")
        assert {heard.wake["user_id"] for heard in await everybody.events(3)} == {"s0", "s1", "s2"}
        [mine] = await one.events(1)
        assert mine.wake == (await wakes(door, "s1", 1))[0]


async def test_a_stream_that_was_lost_goes_on_behind_what_was_heard_last(door: FrontDoor):
    app = make_http(door.worker)
    async with open_wake_stream(app, "user_id=lost") as stream:
        await remind(door, "lost", soon(door) - YEARS, "one")
        [first] = await stream.events(1)
    for content in ("two", "three"):
        await remind(door, "lost", soon(door) - YEARS, content)
    await wakes(door, "lost", 3)
    heard: list[StreamedWake] = []
    async with open_wake_stream(app, "user_id=lost", last_event_id=first.event_id) as stream:
        heard = await stream.events(2)
    assert [h.wake["content"] for h in heard] == ["two", "three"]
    async with open_wake_stream(app, "user_id=lost", last_event_id="0:0,1:0") as stream:
        assert [h.wake["content"] for h in await stream.events(3)] == ["one", "two", "three"]
    for wrong in ("not a place", "0", "0:-1", f"0:{1 << 63}"):
        async with open_wake_stream(app, last_event_id=wrong) as refused:
            assert refused.status == 422


async def test_a_stream_has_no_queue_and_tells_much_in_order(door: FrontDoor):
    app = make_http(door.worker)
    async with open_wake_stream(app, "user_id=much") as stream:
        for number in range(120):
            await remind(door, "much", soon(door, days=1), str(number))
        door.clock.ahead += timedelta(days=2)
        heard = await stream.events(120)
    door.clock.ahead -= timedelta(days=2)
    assert sorted(int(h.wake["content"]) for h in heard) == list(range(120))
    assert [h.event_id is not None for h in heard] == [False] * 119 + [True], "one decision, which is not divided"


async def test_a_quiet_stream_says_that_it_is_there(door: FrontDoor):
    listener = Listener(tenant="default", user_id="quiet")
    positions = await door.worker.wake_streams.begin(listener, None)
    events = door.worker.wake_streams.stream(listener, positions, heartbeat_seconds=0.1)
    [(partition, offset)] = positions.items()
    begun = b"retry: 1000\nid: %d:%d\n\n" % (partition, offset)
    assert [await anext(events) for _ in range(2)] == [begun, b": nothing new\n\n"]


async def test_who_hangs_up_before_the_first_wake_misses_none(door: FrontDoor):
    app = make_http(door.worker)
    async with open_wake_stream(app, "user_id=early") as stream:
        begun = await stream.beginning()
    await remind(door, "early", soon(door) - YEARS, "while nobody listened")
    await wakes(door, "early", 1)
    async with open_wake_stream(app, "user_id=early", last_event_id=begun) as stream:
        assert [h.wake["content"] for h in await stream.events(1)] == ["while nobody listened"]


async def test_a_wake_of_no_agent_shows_an_agent_only_what_it_knows(tmp_path_factory: pytest.TempPathFactory):
    async with front_door(tmp_path_factory.mktemp("agents")) as door:
        app = make_http(door.worker)
        for content, told in (("likes tea", {}), ("told to X", {"agent_id": "X"}), ("told to Y", {"agent_id": "Y"})):
            await door.post("/v1/memories", {"user_id": "both", "content": content, **told})
        async with (
            open_wake_stream(app, "user_id=both") as all_,
            open_wake_stream(app, "user_id=both&agent_id=X") as stream,
        ):
            every = {"every_seconds": 60, "memory_limit": 5}
            assert (await door.http.put("/v1/users/both/wake", json=every)).status_code == 200
            door.clock.ahead += timedelta(minutes=2)
            heard, to_x = (await all_.events(1))[0], (await stream.events(1))[0]
        await door.http.delete("/v1/users/both/wake")
        [listed] = await wakes(door, "both", 1, agent_id="X", limit=1)
        assert {m["content"] for m in heard.wake["memories"]} == {"likes tea", "told to X", "told to Y"}
        for wake in (to_x.wake, listed):
            assert {m["content"] for m in wake["memories"]} == {"likes tea", "told to X"}


async def test_a_wake_that_json_cannot_carry_ends_no_stream(caplog: pytest.LogCaptureFixture):
    wake = {"wake_id": "w-1", "memories": [{"metadata": nested(254)}]}
    assert wake_event(wake, {0: 1}) == b": a wake that JSON cannot carry was left out\n\n"
    assert "wake w-1 is left out of the stream" in caplog.text


async def test_a_stream_ends_when_the_worker_stops(tmp_path_factory: pytest.TempPathFactory):
    async with front_door(tmp_path_factory.mktemp("stop")) as door, open_wake_stream(make_http(door.worker)) as stream:
        await door.worker.stop()
        await asyncio.wait_for(stream.has_ended.wait(), 120)
