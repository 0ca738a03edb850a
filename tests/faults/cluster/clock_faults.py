"""What happens to a worker's clock: it jumps, ahead and back, while the worker works, and while it starts."""

from __future__ import annotations

import asyncio
import time
from datetime import timedelta
from typing import TYPE_CHECKING

import httpx
from faults.clock_set import ProcessClock
from faults.cluster.cluster import SESSION_SECONDS

if TYPE_CHECKING:
    from faults.cluster.cluster import Cluster
    from faults.cluster.worker_process import WorkerProcess

JUMPS, SHORT_JUMPS = (400, -400, 28_830, 35, -3_650), (400, 28_830)
"""In days."""
LASTS_SECONDS = 6.0
"""Longer than the schedulers of ticks take to append some."""


async def set_the_clock(cluster: Cluster) -> None:
    """Set a worker's clock far from the right time and back, again and again, and start it while it is wrong.

    That worker lets memories fade, as the others do not: a tick that it appends for a day that has not come is seen.
    """
    clock = ProcessClock(cluster.folder / "clock")
    worker = cluster.add_worker(environment=clock.environment, DECAY_POLICY="ladder")
    cluster.publisher.share = 0.4
    await worker.ready()
    await asyncio.sleep(SESSION_SECONDS)
    cluster.publisher.share = 1.0
    for days in SHORT_JUMPS if cluster.workload.is_short else JUMPS:
        clock.set(timedelta(days=days))
        await _doubts(worker, is_doubted=True)
        await asyncio.sleep(LASTS_SECONDS)
        clock.put_right()
        await _doubts(worker, is_doubted=False)
    clock.set(timedelta(days=400))
    began = time.monotonic()
    worker.kill()
    worker.start()
    await worker.ready()
    await asyncio.sleep(LASTS_SECONDS)
    clock.put_right()
    await _doubts(worker, is_doubted=False)
    await cluster.recovered(began)


async def _doubts(worker: WorkerProcess, *, is_doubted: bool) -> None:
    """Wait until a worker that is ready says that it doubts its clock, or that it does not."""
    async with httpx.AsyncClient(timeout=20, base_url=worker.url) as http, asyncio.timeout(60):
        while True:
            answer = await http.get("/health/ready")
            if answer.is_success and bool(answer.json()["conditions"]) is is_doubted:
                return
            await asyncio.sleep(0.2)
