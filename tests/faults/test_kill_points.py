"""A worker that is killed at any boundary of any step loses nothing, doubles nothing, and comes to the same digest."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
import pytest
from contract.front_door import front_door
from faults.kill_points import POINTS
from faults.launch import SETTINGS
from faults.spoken import USERS, spoken

if TYPE_CHECKING:
    from contract.front_door import FrontDoor

LAUNCHER = Path(__file__).with_name("launch.py")
LIFE_SECONDS = 60
DRAINED = "drained"


async def until_killed(folder: Path, point: str, nth: int) -> list[str]:
    """Run the launcher until it is dead, and return the ids that it said were acknowledged."""
    events = folder / "events.jsonl"
    events.write_bytes(b"\n".join(orjson.dumps(e) for e in spoken()))
    environment = os.environ | {"PYTHONPATH": str(LAUNCHER.parents[1])}
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(LAUNCHER), str(folder / "data"), str(events), point, str(nth),
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, env=environment,
    )  # fmt: skip
    out, err = await asyncio.wait_for(process.communicate(), LIFE_SECONDS)
    assert process.returncode == -signal.SIGKILL, f"{point} was never passed: {err.decode()[-2000:]}"
    return out.decode().split()


async def recovered(door: FrontDoor) -> str:
    """Send everything again, as a publisher who was never answered does, and return the digest when all is done."""
    published = await door.post("/v1/events", spoken())
    assert published.status_code == 202, published.text
    drained = await door.post("/v1/admin/drain", {"timeout": 30})
    assert drained.status_code == 200, drained.text
    digest: str = (await door.get("/v1/admin/digest")).json()["total"]
    return digest


async def states(door: FrontDoor, ids: list[str]) -> dict[str, Any]:
    found = {}
    for user in USERS:
        mine = [i for i in ids if i.startswith(user)]
        answer = (await door.post("/v1/events/status", {"user_id": user, "event_ids": mine})).json()
        found |= {item["event_id"]: item["state"] for item in answer["items"]}
    return found


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The digest of a run that nothing happens to."""

    async def run() -> str:
        async with front_door(tmp_path_factory.mktemp("undisturbed"), **SETTINGS) as door:
            digest = await recovered(door)
            memories = (await door.get("/v1/memories", user_id=USERS[0])).json()
            assert memories["total"] >= 4, "what is said must lead to memories"
            return digest

    return asyncio.run(run())


@pytest.mark.parametrize("point", POINTS)
async def test_a_worker_killed_at_a_step_comes_to_the_undisturbed_digest(
    point: str, undisturbed: str, tmp_path: Path
) -> None:
    """First what was acknowledged is looked for, without its being sent again; then everything is sent again."""
    acknowledged = await until_killed(tmp_path, point, nth=2)
    async with front_door(tmp_path / "data", **SETTINGS) as door:
        assert (await door.post("/v1/admin/drain", {"timeout": 30})).status_code == 200
        found = await states(door, acknowledged)
        missing = [i for i in acknowledged if found.get(i) not in ("remembered", "nothing")]
        assert missing == []
        assert await recovered(door) == undisturbed
