"""What happens at the edges: the model is out of order, and topics hold what nobody can read."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import httpx
from faults.cluster.background_client import TALKERS, BackgroundClient, background_client
from faults.cluster.cluster import RECOVERY_SECONDS, SESSION_SECONDS
from faults.cluster.counters import OUTAGES
from faults.cluster.questions import questions_meanwhile
from faults.hostile_requests import BODIES, TEXTS
from support.processes import processor_seconds

from schemas.log import NewRecord
from schemas.topics import CONVERSATIONS, INBOX, INPUTS, TOPICS
from streams.transports.kafka.log import KafkaLog

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from faults.cluster.cluster import Cluster
    from faults.cluster.model import Mode
    from faults.cluster.worker_process import WorkerProcess
    from faults.hostile_requests import Hostile

TROUBLE_SECONDS = 4 * SESSION_SECONDS
"""Longer than the session, and than the three of them that Kafka gives a rebalance."""
PROMPT_SECONDS = 18.0
"""Less than the outage: a command that waited for the model would take longer."""
LATE_SECONDS = 5.0
"""Nobody waits so much longer because somebody else sends what is hostile, or three times as long as before."""
CALM_SECONDS = 4.0
LIVE_SECONDS = 1.0
"""How long a worker is at work at most before it answers whether it lives, by its processor time."""
FULL = f"queue full: {CONVERSATIONS.name}"
POISON = (b"\x00", b"not a message", b"{}", b"\xff" * 4096, b"\xc3\x01" + bytes(8) + b"of no schema that is known")
"""The last would stop a worker on topics that only workers write: a newer one may have written it."""


def trouble_with_the_model(mode: Mode) -> Callable[[Cluster], Awaitable[None]]:
    """Return the fault of a model that is out of order for longer than every group timeout: nobody leaves the group."""

    async def fault(cluster: Cluster) -> None:
        known, before = await cluster.settled(), await _failed(cluster)
        await cluster.model.play(mode)
        await asyncio.sleep(TROUBLE_SECONDS)
        failed = await _failed(cluster) - before
        assert failed > 0, "nobody asked the model while it was out of order"
        cluster.notes.append(f"{failed:,} requests to it came to nothing")
        await cluster.model.play("ok")
        await cluster.recovered(time.monotonic())
        assert await cluster.reading.generations() == known, "the group was rebalanced while the model was away"

    return fault


async def _failed(cluster: Cluster) -> int:
    """Return how many requests came to nothing: as the model counts them, or workers where nobody took them."""
    await cluster.counters.look()
    return max(cluster.model.failed, cluster.counters.total(OUTAGES))


async def fill_the_queues(cluster: Cluster) -> None:
    """Let the model be away until each worker's queue is full, and longer, and kill a worker; others are served."""
    await asyncio.sleep(2)
    async with questions_meanwhile(cluster), background_client(cluster) as talk:
        await cluster.model.play("down")
        await _served(cluster.workers, talk)
        worker = cluster.pick.choice(cluster.workers)
        worker.kill()
        worker.start()
        await worker.ready()
        await _served([worker], talk)  # it reads at once what waited, more than a queue holds
        cluster.notes.append(
            f"commands and searches answered after {talk.slowest():.1f} s at most while queues were full"
        )
        await cluster.model.play("ok")
        await cluster.recovered(time.monotonic())


async def _served(workers: Sequence[WorkerProcess], talk: BackgroundClient) -> None:
    """Wait until the workers' queues are full, and then for longer than a rebalance: others are served meanwhile."""
    await _full(workers)
    talk.measure_anew()
    await asyncio.sleep(TROUBLE_SECONDS)
    slowest = talk.slowest()
    assert slowest < PROMPT_SECONDS, f"a command or search took {slowest:.1f} s while queues were full"


async def _full(workers: Sequence[WorkerProcess]) -> None:
    """Wait until the agent of observations has a full queue in each worker, since it was started."""
    deadline = time.monotonic() + RECOVERY_SECONDS
    for worker in workers:
        while FULL not in worker.said_in_this_life():
            assert time.monotonic() < deadline, f"no full queue: {worker.said()}"
            await asyncio.sleep(0.2)


async def hostile(cluster: Cluster) -> None:
    """Send every worker all that once stopped one; others are served meanwhile, and no process stands still."""
    await asyncio.sleep(2)
    alive: list[float] = []
    async with background_client(cluster) as talk:
        async with asyncio.timeout(RECOVERY_SECONDS):
            while talk.commands < 3 * TALKERS:  # noqa: ASYNC110 - until each worker has loaded what it embeds with
                await asyncio.sleep(0.2)
        talk.measure_anew()
        await asyncio.sleep(CALM_SECONDS)
        calm = talk.slowest()
        talk.measure_anew()
        probing = asyncio.create_task(_probe(cluster, alive))
        async with asyncio.TaskGroup() as group:
            for worker in cluster.workers:
                for requests in (BODIES, TEXTS):
                    group.create_task(_send(worker.url, requests))
        await cluster.recovered(time.monotonic())
        probing.cancel()
        slowest = talk.slowest()
    assert slowest < 3 * calm + LATE_SECONDS, f"a command or search of others took {slowest:.1f} s, before {calm:.1f} s"
    assert max(alive) < LIVE_SECONDS, f"a worker worked for {max(alive):.1f} s before it answered"
    cluster.notes.append(
        f"commands and searches answered after {slowest:.1f} s at most, `/health/live` after {max(alive):.2f} s of work"
    )


async def _send(url: str, requests: Sequence[Hostile]) -> None:
    async with httpx.AsyncClient(base_url=url, timeout=TROUBLE_SECONDS) as http:
        for each in requests:
            with suppress(httpx.TransportError):  # refused before all of it was sent
                answer = await http.post(each.path, content=each.content, headers={"content-type": each.content_type})
                assert answer.status_code < 500 or "Retry-After" in answer.headers, (each.finding, answer.text[:300])


async def _probe(cluster: Cluster, alive: list[float]) -> None:
    """Ask each worker whether it lives, as an orchestrator does, until cancelled."""
    async with httpx.AsyncClient(timeout=TROUBLE_SECONDS) as http:
        while True:
            for worker in cluster.workers:
                began = processor_seconds(worker.pid)
                assert (await http.get(f"{worker.url}/health/live")).is_success
                alive.append(processor_seconds(worker.pid) - began)
            await asyncio.sleep(0.1)


async def poison(cluster: Cluster) -> None:
    """Append bytes that are no message to every partition of every topic, with keys and without.

    What agents read becomes a dead letter; what is folded, or a letter itself, is passed.
    """
    log = KafkaLog(cluster.brokers.addresses)
    await log.start()
    try:
        for _ in range(2):
            await asyncio.sleep(2)
            began = time.monotonic()
            for topic in TOPICS:
                partitions = range(await log.partitions(topic.name))
                keys = (
                    b"no slash",
                    b"default/user-1",
                    *(() if topic.compacted else (None,)),
                )  # Kafka refuses those
                values = POISON if topic in INPUTS else POISON[:-1]
                poisonous = [
                    NewRecord(topic=topic.name, partition=p, key=k, value=v)
                    for p in partitions
                    for k in keys
                    for v in values
                ]
                await log.append(poisonous)
                if topic in (*INPUTS, INBOX):
                    cluster.dead_letters_expected += len(poisonous)
            await cluster.recovered(began)
    finally:
        await log.stop()
