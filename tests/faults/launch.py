"""A program that runs workers which work and are killed at a point: `launch.py WORK FOLDER POINT...`.

The work is to `publish` events, or to `remind`; for the latter a point says at which passing of it, `POINT*N`. Each
works in `FOLDER/<number of the point>`: it writes the id of each event to `acknowledged` as soon as that is so.
Afterwards `ended` there says what ended it. One interpreter is loaded, and forks before anything else is started.
"""

from __future__ import annotations

import asyncio
import os
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, TYPE_CHECKING

import faust.app  # noqa: F401 - loaded once, and not in each life
from faults.kill_points import KillSwitch, MortalWorker
from faults.spoken import USERS, spoken

from mnemolog.settings import from_environment
from schemas.identity import Owner
from schemas.inputs.input_events import parse_event

if TYPE_CHECKING:
    from collections.abc import Sequence

EVENTS_AT_ONCE = 3
DRAIN_SECONDS = 120.0
DEATH_SECONDS = 120.0
"""Until the point has come at the latest, on a machine however busy: none is lived through.

Offsets are committed twice a second, and reminders raised when they are due.
"""
DUE_SECONDS = 2.0
"""Until reminders are due: by then all are scheduled."""
LIVES_AT_ONCE = 4
NTH = {"before commit": 1, "after commit": 1}
"""Which passing of a point is the last; where none is named the second, when some work is done and some is not."""
SETTINGS = {"extractor": "rules", "partitions": 2, "decay_policy": "off", "idle_seconds": 30.0}
"""Of every run that is compared: no tick comes by itself, and the sessions end by their own events."""


async def publish(folder: Path, point: str, acknowledged: IO[str]) -> None:
    """Publish, say what was acknowledged, drain and wait: at some point of it the worker dies."""
    settings = from_environment({}, data_dir=folder / "data", **SETTINGS)
    worker = MortalWorker(settings, KillSwitch(point, NTH.get(point, 2)))
    await worker.start()
    now = datetime.now(UTC)
    messages = [parse_event(event, tenant="default", accepted_at=now, event_id="") for event in spoken()]
    for begin in range(0, len(messages), EVENTS_AT_ONCE):
        accepted = await worker.publisher.publish(messages[begin : begin + EVENTS_AT_ONCE])
        print(*(a.event_id for a in accepted), sep="\n", file=acknowledged, flush=True)
    await worker.drain.run_local(DRAIN_SECONDS)
    await asyncio.sleep(DEATH_SECONDS)
    await worker.stop()


async def remind(folder: Path, point: str, acknowledged: IO[str]) -> None:
    """Schedule reminders for a moment from now, say what was acknowledged, and wait: at some point of it it dies."""
    place, _, nth = point.partition("*")
    settings = from_environment({}, data_dir=folder / "data", **SETTINGS)
    worker = MortalWorker(settings, KillSwitch(place, int(nth)))
    await worker.start()
    due_at = worker.clock.now() + timedelta(seconds=DUE_SECONDS)
    for user in USERS:
        answer = await worker.wake_commands.schedule(
            Owner("default", user), due_at, "call mum", channel="dm", agent_id=None, command_id=f"remind {user}"
        )
        print(answer.outcomes[0].subject if answer.outcomes else "", file=acknowledged, flush=True)
    await asyncio.sleep(DEATH_SECONDS)
    await worker.stop()


WORKS = {"publish": publish, "remind": remind}


def live(work: str, folder: Path, point: str) -> int:
    """Fork a process that works until it dies, and return its id."""
    folder.mkdir()
    if process := os.fork():
        return process
    with (folder / "acknowledged").open("w") as acknowledged:
        asyncio.run(WORKS[work](folder, point, acknowledged))
    os._exit(0)


def main(work: str, folder: Path, points: Sequence[str]) -> None:
    """Let a worker die at each point, some at a time."""
    alive: dict[int, Path] = {}
    for number, point in enumerate(points):
        if len(alive) >= LIVES_AT_ONCE:
            bury(alive)
        alive[live(work, folder / str(number), point)] = folder / str(number)
    while alive:
        bury(alive)


def bury(alive: dict[int, Path]) -> None:
    """Wait for the next that ends, and note how."""
    process, status = os.wait()
    (alive.pop(process) / "ended").write_text(str(os.waitstatus_to_exitcode(status)))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3:])
