"""What happens to the schema registry by whose ids every other user's events are written."""

from __future__ import annotations

import asyncio
import json
import time
from typing import TYPE_CHECKING

from faults.cluster.cluster import RECOVERY_SECONDS
from faults.cluster.numbered_facts import place_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from faults.cluster.cluster import Cluster


async def registry_away(cluster: Cluster) -> None:
    """Start it while events wait for it, kill it, let events of known ids and of new ones come, and start it again."""
    assert cluster.registry is not None
    assert cluster.producer is not None
    cluster.publisher.share = 0.4
    await asyncio.sleep(5)
    at_start = await _waiting(cluster)
    assert not any(_by_registry(turn) for turn in cluster.reading.decided)
    began = time.monotonic()
    await asyncio.to_thread(cluster.registry.start)
    await cluster.recovered(began)
    await _known_to_all(cluster, cluster.producer.ids.values())
    new = await cluster.producer.register("the second")

    await asyncio.to_thread(cluster.registry.stop)
    cluster.publisher.share = 0.7
    await asyncio.sleep(5)
    await cluster.remembered()  # known ids go on
    cluster.producer.ids = new
    cluster.publisher.share = 1.0
    await asyncio.sleep(5)
    later = await _waiting(cluster)
    worker = cluster.pick.choice(cluster.workers)
    worker.kill()
    worker.start()
    await worker.ready()
    assert await _waiting(cluster) >= later
    began = time.monotonic()
    await asyncio.to_thread(cluster.registry.start)
    await cluster.recovered(began)
    cluster.notes.append(f"{at_start} turns waited for it, and {later} of new ids while it was away again")


def _by_registry(turn: str) -> bool:
    return bool(place_of(turn)[0] % 2)


async def _waiting(cluster: Cluster) -> int:
    """Wait until what was published over HTTP is remembered; return how many turns wait for the registry: some."""
    deadline = time.monotonic() + RECOVERY_SECONDS
    while True:
        turns = cluster.turns_acknowledged()
        await cluster.reading.until_decided([turn for turn in turns if not _by_registry(turn)], RECOVERY_SECONDS)
        if waiting := sum(turn not in cluster.reading.decided for turn in turns if _by_registry(turn)):
            return waiting
        assert time.monotonic() < deadline, "no event waits for the registry"
        await asyncio.sleep(0.2)


async def _known_to_all(cluster: Cluster, ids: Iterable[int]) -> None:
    """Wait until every worker has asked for these ids, and so keeps them."""
    deadline, wanted = time.monotonic() + RECOVERY_SECONDS, {str(number) for number in ids}
    for worker in cluster.workers:
        file = worker.folder / "data" / "registry.json"
        while not (file.exists() and wanted <= json.loads(file.read_bytes())["schemas"].keys()):
            assert time.monotonic() < deadline, f"{file} has not {wanted}"
            await asyncio.sleep(0.2)
