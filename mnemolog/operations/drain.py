"""drain: ends open sessions, flushes recalls, and waits until everything published so far is remembered."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from projections.shard.snapshot import count_active
from schemas.topics import DEAD_LETTERS, INBOX, INPUTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mnemolog.worker.worker import Worker
    from schemas.topics import Topic

POLL_SECONDS: Final = 0.02


class DrainTimeout(Exception):
    """Not everything was done in time: what waits says GET /v1/events; drain again."""


async def drain(worker: Worker, timeout_seconds: float) -> dict[str, Any]:
    """Return the counts when all is done. Raises DrainTimeout."""
    try:
        async with asyncio.timeout(timeout_seconds):
            await _extracted(worker, await _ends(worker, INPUTS))
            held, again = worker.shards.held(), worker.observe.rewriting.ends
            await _extracted(worker, {place: end for place, end in again.items() if place[1] in held})
            await worker.recalls.flush()
            items = await _ends(worker, (INBOX,))
            while not _is_handled(worker, items):  # noqa: ASYNC110 - the transport has no event for it
                await asyncio.sleep(POLL_SECONDS)
            await worker.shards.following.tell()
    except TimeoutError:
        raise DrainTimeout(f"not everything was remembered within {timeout_seconds:g} s: drain again") from None
    return await counts(worker)


async def _extracted(worker: Worker, published: dict[tuple[str, int], int]) -> None:
    """End open sessions until everything published up to these ends is extracted."""
    ended: set[str] = set()
    while not _is_handled(worker, published):
        ends = [e for e in worker.observe.open_sessions() if e.envelope.event_id not in ended]
        if ends:
            await worker.publishing.publish(ends)
            ended |= {e.envelope.event_id for e in ends}
        await asyncio.sleep(POLL_SECONDS)


async def counts(worker: Worker) -> dict[str, Any]:
    """Return how many observations ended how, and how many memories are active.

    `dead` also counts what became a dead letter and is no observation, or none that can be read.
    """
    found = {"observations": 0, "remembered": 0, "nothing": 0, "rejected": 0, "dead": 0, "memories": 0}
    for partition in worker.shards.held():
        await worker.shards.up_to(DEAD_LETTERS.name, partition, await worker.log.end(DEAD_LETTERS.name, partition))
        shard = worker.shards.at(partition)
        for name, number in shard.observations.counts().items():
            found[name] += number
        found["dead"] += shard.dead_letters.count()
    paths = [shard.path for shard in worker.shards.all()]
    found["memories"] = await count_active(paths, worker.clock.now(), worker.shards.counts)
    return found


async def _ends(worker: Worker, topics: Sequence[Topic]) -> dict[tuple[str, int], int]:
    partitions = worker.shards.held()
    return {(t.name, p): await worker.log.end(t.name, p) for t in topics for p in partitions}


def _is_handled(worker: Worker, ends: dict[tuple[str, int], int]) -> bool:
    return all(worker.handled(*place) >= end for place, end in ends.items())
