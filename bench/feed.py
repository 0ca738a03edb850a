"""The feed of changes at the pipeline's full rate: how late changes arrive, and what a listener costs.

    python bench/feed.py

Turns with ready vectors are published as `bench/pipeline.py` does, while a stream of all users' changes is read. A
change's delay is counted from its decision's log time until the stream has it. The time in the change itself is not
used: it is that of the inbox item, which had waited to be decided.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import orjson

from bench.pipeline import BATCH, ReadyVectors, texts, turns
from bench.rounds import Rounds
from mnemolog.changes.feed import ChangesWanted
from mnemolog.server import tune_process
from mnemolog.settings import from_environment
from mnemolog.worker.worker import Worker
from schemas.topics import LEDGER

TURNS = 5_000
ROUNDS = 5
WANTED = ChangesWanted(tenant="default")


async def listened(worker: Worker, count: int) -> dict[str, datetime]:
    """Return the time at which the stream had each decision's change, by position, once `count` have come."""
    came: dict[str, datetime] = {}
    cursor = await worker.change_streams.begin(WANTED, None)

    async def goes_on() -> bool:
        return len(came) < count

    async for block in worker.change_streams.stream(WANTED, cursor, may_go_on=goes_on):
        now = datetime.now(UTC)
        for line in block.splitlines():
            if line.startswith(b"data: "):
                came[orjson.loads(line[6:])["position"]] = now
        if len(came) >= count:
            break
    return came


async def lateness(worker: Worker, came: dict[str, datetime]) -> list[float]:
    """Return the delay of each change after its decision, in seconds."""
    late: list[float] = []
    for partition in range(worker.shards.partitions):
        start = 0
        while records := await worker.log.read(LEDGER.name, partition, start, 1_000):
            start = records[-1].position.offset + 1
            at = ((came.get(str(record.position)), record.recorded_at) for record in records)
            late += [(then - recorded).total_seconds() for then, recorded in at if then is not None]
    return late


async def pipeline(said: list[str], *, heard: bool, apart: float = 0.0) -> tuple[float, list[float]]:
    """Return how many turns per second become memories, and the delay of each at a listener, in seconds.

    Batches are published `apart` seconds after each other, or all at once.
    """
    messages = turns(said)
    with tempfile.TemporaryDirectory() as folder:
        settings = from_environment({"MNEMOLOG_EXTRACTOR": "verbatim"}, data_dir=Path(folder))
        worker = Worker(settings, embedder=ReadyVectors(said))
        await worker.start()
        try:
            listening = asyncio.ensure_future(listened(worker, len(said))) if heard else None
            await asyncio.sleep(0.1)
            began = time.perf_counter()
            for start in range(0, len(messages), BATCH):
                await worker.publisher.publish(messages[start : start + BATCH])
                await asyncio.sleep(apart)
            await worker.drain.run_local(600.0)
            seconds = time.perf_counter() - began
            late = [] if listening is None else await lateness(worker, await asyncio.wait_for(listening, 60.0))
        finally:
            await worker.stop()
    return len(said) / seconds, late


async def main() -> dict[str, object]:
    """Measure both, in alternating rounds."""
    tune_process()
    said = texts(TURNS)
    cost = Rounds("turns with one listener, against none", None)
    late: list[float] = []
    for _ in range(ROUNDS):
        without, _ = await pipeline(said, heard=False)
        rate, of_round = await pipeline(said, heard=True)
        cost.add(rate, without)
        late += of_round
    half = 2 * BATCH / float(np.median(cost.compared))
    _, at_half = await pipeline(said, heard=True, apart=half)
    return {
        "cost": cost.result(),
        "seconds_late": shares("at full rate", late),
        "seconds_late_at_half_rate": shares("at half of it", at_half),
    }


def shares(name: str, late: list[float]) -> dict[str, float]:
    """Print and return quantiles of the changes' delays."""
    found = {of: round(float(np.quantile(late, at)), 3) for of, at in (("p50", 0.5), ("p99", 0.99), ("most", 1.0))}
    print(f"{name} a change comes after {found['p50']} s, p99 {found['p99']} s, at most {found['most']} s (target 1)")
    return found


if __name__ == "__main__":
    asyncio.run(main())
