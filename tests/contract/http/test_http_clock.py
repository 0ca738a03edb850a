"""A clock that is wrong: what a worker does meanwhile, what it says, and what is left of it afterwards."""

from __future__ import annotations

import asyncio
import re
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from contract.front_door import FrontDoor, SetClock, front_door, turn
from contract.wake_calls import QUIET_SECONDS, remind, wakes

if TYPE_CHECKING:
    from pathlib import Path

AHEAD = timedelta(days=400)
NEAR = timedelta(minutes=5)


async def standing(door: FrontDoor) -> dict[str, Any]:
    """Return what a clock could take away: turns, memories as they are shown, and what waits."""
    listed = (await door.get("/v1/memories", user_id="u1")).json()["items"]
    return {
        "turns": len((await door.get("/v1/sessions/s1/turns", user_id="u1")).json()["items"]),
        "memories": {one["memory_id"]: (one["status"], one["content"]) for one in listed},
        "reminders": (await door.get("/v1/users/u1/reminders")).json()["items"],
        "digest": (await door.get("/v1/admin/digest")).json()["total"],
    }


async def live_a_little(door: FrontDoor) -> None:
    """Say something, remember something for two days, and ask for a reminder in half a year."""
    await door.post("/v1/events", turn("t-1", "My name is Lin."))
    await door.post("/v1/admin/drain")
    await door.remember("Lin has a cold", memory_type="short_term")
    await remind(door, "u1", door.worker.clock.now() + timedelta(days=180))


@pytest.mark.parametrize("days", [400, 28_830, -400])
async def test_a_clock_that_is_elsewhere_for_a_while_takes_nothing_away(tmp_path: Path, days: int):
    async with front_door(tmp_path, SetClock(watched=True)) as door:
        await live_a_little(door)
        before, began = await standing(door), door.worker.clock.now()
        door.clock.ahead = timedelta(days=days)
        late = await door.remember("Lin has a cat")
        assert abs(datetime.fromisoformat(late["occurred_at"]) - began) < NEAR
        await asyncio.sleep(QUIET_SECONDS)  # that nothing happens cannot be waited for
        assert await wakes(door, "u1", 0) == []
        door.clock.ahead = timedelta()
        await door.remember("Lin has a dog")
        after = await standing(door)
        contents = {content for _, content in after["memories"].values()}
        assert contents >= {"Lin has a cold", "Lin has a cat", "Lin has a dog"}
        assert before["memories"].items() <= after["memories"].items()
        assert (after["turns"], after["reminders"]) == (before["turns"], before["reminders"])
        await remind(door, "u1", door.worker.clock.now() - timedelta(seconds=1), "now")
        assert [wake["content"] for wake in await wakes(door, "u1", 1)] == ["now"]


async def conditions(door: FrontDoor) -> list[str]:
    """Return what a worker that is ready says is wrong with it."""
    ready = await door.get("/health/ready")
    assert ready.status_code == 200
    found: list[str] = ready.json()["conditions"]
    return found


def without_time(condition: str) -> str:
    """Return a condition without what the clock says, which goes on from one answer to the next."""
    return re.sub(r"the clock says \S+, ", "", condition)


async def logged_at(door: FrontDoor, memory_id: str) -> datetime:
    """Return the log time of a memory's first event."""
    events = (await door.get(f"/v1/memories/{memory_id}/history")).json()["events"]
    return datetime.fromisoformat(min(event["recorded_at"] for event in events))


async def test_a_doubted_clock_is_told_everywhere_and_confirmed_by_an_operator(tmp_path: Path):
    async with front_door(tmp_path, SetClock(watched=True)) as door:
        assert await conditions(door) == []
        assert (await door.get("/v1/admin/clock")).json()["ok"]
        door.clock.ahead = AHEAD
        [said] = map(without_time, await conditions(door))
        assert "was set ahead by 400 days" in said
        [own] = (await door.get("/v1/admin/clock")).json()["workers"]
        assert (own["doubt"], [*map(without_time, own["conditions"])]) == ("jumped", [said])
        checks = (await door.get("/v1/admin/checks")).json()["checks"]
        assert [(c["ok"], without_time(c["detail"])) for c in checks if c["name"] == "clock"] == [(False, said)]
        metrics = (await door.get("/metrics")).text
        assert 'mnemolog_clock_doubted{cause="jumped"} 1.0' in metrics
        due_at = door.clock.now() - timedelta(days=1)
        await remind(door, "u1", due_at, "later")
        await asyncio.sleep(QUIET_SECONDS)  # that nothing happens cannot be waited for
        assert await wakes(door, "u1", 0) == []
        done = (await door.post("/v1/admin/clock/confirm")).json()
        assert done["applied"]
        assert await conditions(door) == []
        assert [wake["content"] for wake in await wakes(door, "u1", 1)] == ["later"]
        memory = await door.remember("It is another year")
        assert await logged_at(door, memory["memory_id"]) > due_at


async def test_a_long_stop_holds_what_cannot_be_undone_and_goes_on_from_the_log(tmp_path: Path):
    async with front_door(tmp_path, SetClock(timedelta(days=-60))) as door:
        await live_a_little(door)
        before = await standing(door)
        await remind(door, "u1", door.clock.now() + timedelta(days=1), "in the gap")
        stopped = door.clock.now()
    async with front_door(tmp_path, SetClock(watched=True)) as door:
        [said] = await conditions(door)
        assert "is 60 days later than the newest record of the log" in said
        await asyncio.sleep(QUIET_SECONDS)  # that nothing happens cannot be waited for
        after = await standing(door)
        assert (after["turns"], after["memories"]) == (before["turns"], before["memories"])
        memory = await door.remember("Lin is back")
        assert stopped <= await logged_at(door, memory["memory_id"]) < stopped + NEAR
        assert (await door.post("/v1/admin/clock/confirm")).json()["applied"]
        assert [wake["content"] for wake in await wakes(door, "u1", 1)] == ["in the gap"]
        memory = await door.remember("Lin has a bird")
        assert await logged_at(door, memory["memory_id"]) > door.clock.now() - NEAR
    async with front_door(tmp_path, SetClock(watched=True)) as door:
        assert await conditions(door) == []


async def test_a_shorter_stop_needs_nobody(tmp_path: Path):
    async with front_door(tmp_path, SetClock(timedelta(days=-20))) as door:
        await remind(door, "u1", door.clock.now() + timedelta(days=1), "in the gap")
    async with front_door(tmp_path, SetClock(watched=True)) as door:
        assert await conditions(door) == []
        assert [wake["content"] for wake in await wakes(door, "u1", 1)] == ["in the gap"]


async def test_a_log_that_was_dated_ahead_is_named_lived_with_and_ended(tmp_path: Path):
    async with front_door(tmp_path, SetClock(AHEAD)) as door:
        await live_a_little(door)
        await door.http.put("/v1/users/u1/wake", json={"every_seconds": 1})
        await wakes(door, "u1", 1)
    async with front_door(tmp_path, SetClock(watched=True)) as door:
        [said] = await conditions(door)
        assert "the log's newest time lies 400 days ahead of the clock" in said
        await door.http.put("/v1/users/new/wake", json={"every_seconds": 1})
        assert await wakes(door, "new", 1)
        found = await door.post("/v1/search", {"user_id": "u1", "query": "Who has a cold?"})
        assert "Lin has a cold" in [one["content"] for one in found.json()["results"]]
        raised = len(await wakes(door, "u1", 1))
        assert (await door.post("/v1/admin/clock/confirm")).json()["applied"]
        assert await conditions(door) == []
        assert await wakes(door, "u1", raised + 1)
        memory = await door.remember("Lin has a bird")
        assert abs(await logged_at(door, memory["memory_id"]) - door.clock.now()) < NEAR
        assert (await door.post("/v1/admin/rebuild")).json()["equal"]
    async with front_door(tmp_path, SetClock(watched=True)) as door:
        assert await conditions(door) == []


class OtherWorker:
    """A cluster of which the only other worker has another time."""

    async def ask_others(self, *_asked: object) -> list[SimpleNamespace]:
        """Return what the other one says."""
        return [SimpleNamespace(body={"worker": "w2", "machine": "2105-11-09T00:00:00Z"})]


async def test_clocks_that_differ_are_not_confirmed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    async with front_door(tmp_path) as door:
        monkeypatch.setattr(door.worker.clocks, "_cluster", OtherWorker())
        refused = await door.post("/v1/admin/clock/confirm")
        assert refused.status_code == 409
        assert "the clock of w2 says 2105-11-09T00:00:00Z" in refused.json()["detail"]
