"""What happens to the index: Weaviate killed or slow."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from typing import TYPE_CHECKING

from faults.cluster.numbered_facts import text

if TYPE_CHECKING:
    from faults.cluster.cluster import Cluster

STANDING_SECONDS, GOING_SECONDS = 0.4, 0.1
FOUND_SECONDS = 120.0
SEARCHED_USERS = 25
"""Users of whom every fact is searched for."""


async def kill_weaviate(cluster: Cluster) -> None:
    """Kill Weaviate, and start it again after a minute (ten seconds in the short form); then everything is found."""
    assert cluster.weaviate is not None
    await asyncio.sleep(3)
    began = time.monotonic()
    await asyncio.to_thread(cluster.weaviate.kill)
    await asyncio.sleep(10 if cluster.workload.is_short else 60)
    await cluster.recovered(began)  # deciding does not wait for it
    await asyncio.to_thread(cluster.weaviate.start)
    await all_found(cluster)


async def slow_weaviate(cluster: Cluster) -> None:
    """Let Weaviate stand still for four fifths of the time."""
    assert cluster.weaviate is not None
    await asyncio.sleep(2)
    began = time.monotonic()
    for _ in range(40 if cluster.workload.is_short else 120):
        os.kill(cluster.weaviate.pid, signal.SIGSTOP)
        await asyncio.sleep(STANDING_SECONDS)
        os.kill(cluster.weaviate.pid, signal.SIGCONT)
        await asyncio.sleep(GOING_SECONDS)
    await cluster.recovered(began)
    await all_found(cluster)


async def all_found(cluster: Cluster) -> None:
    """Search for every fact that was acknowledged of some users; each must be the first answer, soon."""
    turns = set(cluster.turns_acknowledged())
    deadline = time.monotonic() + FOUND_SECONDS
    for number in range(SEARCHED_USERS):
        for fact in range(cluster.workload.facts):
            if f"u{number}-f{fact}" not in turns:
                continue
            body = {"user_id": cluster.workload.user(number), "query": text(number, fact), "limit": 1, "recall": False}
            while True:
                found = await cluster.ask("POST", "/v1/search", body)
                if [one["memory"] for one in found["results"]] == [text(number, fact)]:
                    break
                assert time.monotonic() < deadline, f"not found: {body}, but {found['results']}"
                await asyncio.sleep(0.5)
