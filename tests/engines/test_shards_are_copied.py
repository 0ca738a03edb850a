"""A worker that joins on Kafka copies the shard of a partition that it is given from the worker that had it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from engines.several import SOON_SECONDS, Several, held_here
from faults.cluster.worker_process import FORKED_UP, WorkerProcess
from support.free_ports import free_ports
from support.master_key import MASTER_KEY

from projections.partitions.receiver import WORTH_RECORDS
from schemas.identity import Owner
from schemas.topics import partition_of

if TYPE_CHECKING:
    from pathlib import Path

AT_ONCE = 1_000
PARTITIONS = 2
TURNS = PARTITIONS * (WORTH_RECORDS + AT_ONCE)


def user_of(partition: int) -> str:
    """Return somebody whose turns stand in a partition."""
    users = (f"user-{n}" for n in range(100))
    return next(u for u in users if partition_of(Owner("default", u).key, PARTITIONS) == partition)


def said(number: int) -> dict[str, Any]:
    return {
        "type": "TurnRecorded",
        "event_id": f"t-{number}",
        "user_id": user_of(number % PARTITIONS),
        "session_id": "s",
        "role": "user",
        "content": f"sentence {number}",
    }


async def test_a_worker_that_joins_copies_what_the_other_one_has_folded(own_kafka: str, tmp_path: Path):
    settings = {
        "MASTER_KEY": MASTER_KEY,
        "BROKER": f"kafka://{own_kafka}",
        "PARTITIONS": str(PARTITIONS),
        "EXTRACTOR": "verbatim",
        "MEMORIZE": "false",
        "DECAY_POLICY": "off",
        "LOG_LEVEL": "info",
    }
    workers = []
    for number, port in enumerate(free_ports(2)):
        own = {"ADVERTISED_URL": f"http://127.0.0.1:{port}"}
        workers.append(WorkerProcess(tmp_path / str(number), port, settings | own, FORKED_UP))
    two = Several(workers)
    try:
        workers[0].start()
        await workers[0].ready()
        for start in range(0, TURNS, AT_ONCE):
            await two.json(0, "POST", "/v1/events", [said(number) for number in range(start, start + AT_ONCE)])
        await two.json(0, "POST", "/v1/admin/drain", {"timeout": SOON_SECONDS})
        workers[1].start()
        await workers[1].ready()
        async with asyncio.timeout(SOON_SECONDS):  # until it has heard of the other one, it tells it nothing
            while not (held := await held_here(two, 1)):  # noqa: ASYNC110 - it is another process
                await asyncio.sleep(0.1)
        [partition] = held
        told = workers[1].log.read_text("utf-8")
        assert f"shard {partition}.sqlite: " in told
        assert f"copied from {workers[0].url}" in told
        assert " were copied in " in told, told
        last = TURNS - PARTITIONS + partition
        answer = await two.json(1, "GET", f"/v1/events/t-{last}?user_id={user_of(partition)}")
        assert answer["state"] == "nothing", answer
    finally:
        await two.http.aclose()
        for worker in workers:
            worker.kill()
