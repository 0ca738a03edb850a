"""What happens to workers: killed, frozen, restarted."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from faults.cluster.cluster import SESSION_SECONDS
from faults.cluster.questions import questions_meanwhile

if TYPE_CHECKING:
    from faults.cluster.cluster import Cluster

KILLS, SHORT_KILLS = 20, 3
STAY_DEAD = 4
"""Of so many that are killed one stays dead for two sessions."""
FREEZES = 5


async def kills(cluster: Cluster) -> None:
    """Kill a worker at random, start it again, and go on when what was acknowledged before is remembered.

    A worker that starts again at once has the group forget the dead one. Some stay dead until the group itself has
    noticed, and the others have taken over.
    """
    for number in range(SHORT_KILLS if cluster.workload.is_short else KILLS):
        await asyncio.sleep(cluster.pick.uniform(0.5, 2.5))
        worker = cluster.pick.choice(cluster.workers)
        stays_dead = number % STAY_DEAD == STAY_DEAD - 2
        began = time.monotonic()
        worker.kill()
        if stays_dead:
            await cluster.recovered(began)
            await asyncio.sleep(max(0.0, began + 2 * SESSION_SECONDS - time.monotonic()))
            await cluster.dropped(worker)
            worker.start()
        else:
            worker.start()
            await cluster.recovered(began)
        await worker.ready()


async def freeze(cluster: Cluster) -> None:
    """Freeze a worker until another has its partitions, then let it go on with what it had in hand."""
    async with questions_meanwhile(cluster):
        for _ in range(1 if cluster.workload.is_short else FREEZES):
            await asyncio.sleep(2)
            worker = cluster.pick.choice(cluster.workers)
            began = time.monotonic()
            worker.freeze()
            await cluster.recovered(began)
            await asyncio.sleep(max(0.0, began + 2 * SESSION_SECONDS - time.monotonic()))
            await cluster.dropped(worker)
            worker.thaw()
            await cluster.remembered()


async def rolling_restart(cluster: Cluster) -> None:
    """Stop each worker, wait for it to end well, start it, and wait until it is ready before the next."""
    for worker in list(cluster.workers):
        began = time.monotonic()
        assert await worker.terminate() == 0, worker.said()
        worker.start()
        await worker.ready()
        await cluster.recovered(began)
