"""A program that publishes events to a worker of its own, and is killed at a point: `launch.py DIR EVENTS POINT NTH`.

It prints the id of each event as soon as it is acknowledged, and `drained` when it was not killed.
"""

from __future__ import annotations

import asyncio
import sys
from datetime import UTC, datetime
from pathlib import Path

import orjson
from faults.kill_points import KillSwitch, MortalWorker

from mnemolog.draining import drain
from mnemolog.settings import from_environment
from schemas.input_events import parse_event

EVENTS_AT_ONCE = 3
DRAIN_SECONDS = 30.0
SETTINGS = {"extractor": "rules", "partitions": 2, "decay_policy": "off", "idle_seconds": 30.0}
"""Of every run that is compared: no tick comes by itself, and the sessions end by their own events."""


async def main(folder: Path, events: Path, point: str, nth: int) -> None:
    """Publish, say what was acknowledged, and drain; or die."""
    settings = from_environment({}, data_dir=folder, **SETTINGS)
    worker = MortalWorker(settings, KillSwitch(point, nth))
    await worker.start()
    now = datetime.now(UTC)
    messages = [
        parse_event(orjson.loads(line), tenant="default", accepted_at=now, event_id="")
        for line in events.read_bytes().splitlines()
    ]
    for begin in range(0, len(messages), EVENTS_AT_ONCE):
        accepted = await worker.publishing.publish(messages[begin : begin + EVENTS_AT_ONCE])
        print(*(a.event_id for a in accepted), sep="\n", flush=True)
    await drain(worker, DRAIN_SECONDS)
    await asyncio.sleep(1.5)  # until the offsets are committed
    await worker.stop()
    print("drained", flush=True)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])))
