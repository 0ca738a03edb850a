"""Workers come and go under load."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from faults.cluster.questions import questions_meanwhile

if TYPE_CHECKING:
    from faults.cluster.cluster import Cluster

ROUNDS, SHORT_ROUNDS = 3, 1


async def come_and_go(cluster: Cluster) -> None:
    """Add two workers and take two away, one by asking and one by killing, while everything is asked about."""
    async with questions_meanwhile(cluster):
        for _ in range(SHORT_ROUNDS if cluster.workload.is_short else ROUNDS):
            added = []
            for _ in range(2):
                began = time.monotonic()
                added.append(cluster.add_worker())
                await added[-1].ready()
                await cluster.recovered(began)
            for worker, gently in zip(added, (True, False), strict=True):
                began = time.monotonic()
                worker.removed = True
                if gently:
                    assert await worker.terminate() == 0, worker.said()
                else:
                    worker.kill()
                await cluster.recovered(began)
