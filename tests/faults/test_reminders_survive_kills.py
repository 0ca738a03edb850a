"""A reminder is due once: a worker that is killed at any step of scheduling or raising loses none and doubles none."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from contract.front_door import front_door
from faults.kill_points import POINTS
from faults.launch import SETTINGS
from faults.spoken import USERS
from simulation.reminders import raised
from support.counting import counted

from schemas.identity import Owner, reminder_id_of
from schemas.topics import LEDGER

if TYPE_CHECKING:
    from contract.front_door import FrontDoor

LAUNCHER = Path(__file__).with_name("launch.py")
LIFE_SECONDS = 900
RAISED_SECONDS = 120.0
SCHEDULING, RAISING = 2, len(USERS) + 1
"""At which passing: amid the commands, or at the tick and what follows from it."""
MOMENTS = [
    f"{point}*{nth}"
    for point in POINTS
    for nth in (SCHEDULING, RAISING)
    if point.partition(" ")[2].startswith(("append mnemolog.inbox", "append mnemolog.memories"))
    or (nth == RAISING and point.partition(" ")[2] in ("fold mnemolog.memories", "ack remember"))
]
REMINDERS = {reminder_id_of(Owner("default", user), f"remind {user}") for user in USERS}


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Let a worker die at each moment, each in the folder of its number."""
    folder = tmp_path_factory.mktemp("reminded")
    environment = os.environ | {"PYTHONPATH": str(LAUNCHER.parents[1])}
    command = [sys.executable, str(LAUNCHER), "remind", str(folder), *MOMENTS]
    subprocess.run(command, env=environment, timeout=LIFE_SECONDS, check=True)  # noqa: S603 - our own program
    return folder


async def how_often(door: FrontDoor) -> Counter[str | None]:
    """Return how often each reminder was raised, by the decisions that count."""
    records = {(LEDGER.name, p): await door.worker.log.read(LEDGER.name, p, 0, 10_000) for p in range(2)}
    return Counter(wake.reminder_id for chain in counted(records).values() for wake in raised(chain))


@pytest.mark.parametrize("moment", MOMENTS)
async def test_a_worker_killed_at_a_moment_reminds_of_everything_once(moment: str, lived: Path):
    folder = lived / str(MOMENTS.index(moment))
    assert (folder / "ended").read_text() == str(-signal.SIGKILL)
    acknowledged = set((folder / "acknowledged").read_text().split())
    async with front_door(folder / "data", **SETTINGS) as door:
        async with asyncio.timeout(RAISED_SECONDS):
            while not acknowledged <= set(await how_often(door)):  # noqa: ASYNC110 - the log is what is asked
                await asyncio.sleep(0.1)
        await door.post("/v1/admin/drain", {"timeout": 120})
        await asyncio.sleep(1.1)  # the owner's clock looks twice more
        found = await how_often(door)
    assert set(found) <= REMINDERS
    assert set(found.values()) <= {1}, found
