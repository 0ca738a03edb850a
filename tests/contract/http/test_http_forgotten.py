"""What was forgotten can no longer be found; who asks for a time before is shown that time."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from contract.front_door import FrontDoor, context_of, front_door

if TYPE_CHECKING:
    from pathlib import Path


async def shown(door: FrontDoor, memory_id: str, **past: str) -> dict[str, Any]:
    """Return what the routes that take a past time tell of u1 and the memory."""
    listed = (await door.get("/v1/memories", user_id="u1", **past)).json()["items"]
    found = await door.post("/v1/search", {"user_id": "u1", "query": "number of the safe", "recall": False, **past})
    episodes = (await door.get("/v1/users/u1/episodes", **past)).json()["items"]
    one = await door.get(f"/v1/memories/{memory_id}", **past)
    return {
        "listed": [m["content"] for m in listed],
        "found": [m["memory"] for m in found.json()["results"]],
        "episodes": [m["content"] for m in episodes],
        "value": (await door.get("/v1/users/u1/profile", **past)).json()["other"],
        "status": one.json()["status"],
    }


async def test_what_was_forgotten_is_not_found_but_by_asking_for_a_time_before(tmp_path: Path):
    async with front_door(tmp_path) as door:
        memory = await door.remember("the number of the safe is 1234", attribute="safe", value="1234")
        said = (door.clock.now() + timedelta(microseconds=1)).isoformat()
        door.clock.ahead += timedelta(days=1)
        assert (await door.http.delete(f"/v1/memories/{memory['memory_id']}")).status_code == 200
        door.clock.ahead += timedelta(days=1)
        gone = {"listed": [], "found": [], "episodes": [], "value": {}, "status": "forgotten"}
        there = gone | {"listed": [memory["content"]], "found": [memory["content"]], "value": {"safe": "1234"}}
        assert await shown(door, memory["memory_id"]) == gone
        after = (door.clock.now() - timedelta(hours=1)).isoformat()
        assert await shown(door, memory["memory_id"], as_of=after) == gone
        assert await shown(door, memory["memory_id"], as_of=said) == there | {"status": "active"}
        agent = await context_of(door, "u1", "number of the safe")
        assert "1234" not in agent["prompt"] + agent["block"] + agent["message"]
        assert agent["total_memories"] == 0
