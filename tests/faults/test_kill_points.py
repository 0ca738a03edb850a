"""A worker that is killed at any boundary of any step loses nothing, doubles nothing, and comes to the same digest."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from contract.front_door import front_door
from faults.kill_points import POINTS
from faults.launch import SETTINGS
from faults.spoken import USERS, spoken

if TYPE_CHECKING:
    from contract.front_door import FrontDoor

LAUNCHER = Path(__file__).with_name("launch.py")
LIFE_SECONDS = 900
KILLED = str(-signal.SIGKILL)
WORKERS_AT_ONCE = 4


@dataclass(frozen=True)
class Aftermath:
    """How a worker ended, and what the next one found."""

    ended: str
    lost: list[str]
    """Events that were acknowledged and are in no final state, without being sent again."""
    digest: str
    """After everything was sent again."""


def lives(folder: Path) -> None:
    """Let a worker die at each point, each in the folder of its number."""
    environment = os.environ | {"PYTHONPATH": str(LAUNCHER.parents[1])}
    command = [sys.executable, str(LAUNCHER), "publish", str(folder), *POINTS]
    subprocess.run(command, env=environment, timeout=LIFE_SECONDS, check=True)  # noqa: S603 - our own program


async def aftermath(folder: Path) -> Aftermath:
    acknowledged = (folder / "acknowledged").read_text().split()
    async with front_door(folder / "data", **SETTINGS) as door:
        assert (await door.post("/v1/admin/drain", {"timeout": 120})).status_code == 200
        found = await states(door, acknowledged)
        lost = [i for i in acknowledged if found.get(i) not in ("remembered", "nothing")]
        return Aftermath((folder / "ended").read_text(), lost, await recovered(door))


async def recovered(door: FrontDoor) -> str:
    """Send everything again, as a publisher who was never answered does, and return the digest when all is done."""
    published = await door.post("/v1/events", spoken())
    assert published.status_code == 202, published.text
    drained = await door.post("/v1/admin/drain", {"timeout": 120})
    assert drained.status_code == 200, drained.text
    digest: str = (await door.get("/v1/admin/digest")).json()["total"]
    return digest


async def states(door: FrontDoor, ids: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for user in USERS:
        mine = [i for i in ids if i.startswith(user)]
        answer = (await door.post("/v1/events/status", {"user_id": user, "event_ids": mine})).json()
        found |= {item["event_id"]: item["state"] for item in answer["items"]}
    return found


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the digest of a run that nothing happens to."""

    async def run() -> str:
        async with front_door(tmp_path_factory.mktemp("undisturbed"), **SETTINGS) as door:
            digest = await recovered(door)
            memories = (await door.get("/v1/memories", user_id=USERS[0])).json()
            assert memories["total"] >= 4, "what is said must lead to memories"
            return digest

    return asyncio.run(run())


@pytest.fixture(scope="module")
def aftermaths(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Aftermath | BaseException]:
    """Return what came after each point, looked into some at a time: a worker mostly waits while it starts."""
    folder = tmp_path_factory.mktemp("lives")
    lives(folder)

    async def run() -> dict[str, Aftermath | BaseException]:
        slots = asyncio.Semaphore(WORKERS_AT_ONCE)

        async def one(number: int) -> Aftermath:
            async with slots:
                return await aftermath(folder / str(number))

        found = await asyncio.gather(*map(one, range(len(POINTS))), return_exceptions=True)
        return dict(zip(POINTS, found, strict=True))

    return asyncio.run(run())


@pytest.mark.parametrize("point", POINTS)
def test_a_worker_killed_at_a_step_comes_to_the_undisturbed_digest(
    point: str, undisturbed: str, aftermaths: dict[str, Aftermath | BaseException]
) -> None:
    """Nothing that was acknowledged is missing after the restart, and nothing is there twice after sending it again."""
    found = aftermaths[point]
    if isinstance(found, BaseException):
        raise found
    assert found == Aftermath(ended=KILLED, lost=[], digest=undisturbed)
