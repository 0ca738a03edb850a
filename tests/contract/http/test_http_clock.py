"""A clock that is wrong: what a worker does meanwhile, what it says, and what is left of it afterwards."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from contract.front_door import FrontDoor, front_door, turn
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
    async with front_door(tmp_path, watched=True) as door:
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
