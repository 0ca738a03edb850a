"""The feed of changes at the pipeline's full rate: how late a change comes, and what a listener costs.

    python bench/feed.py

Turns with ready vectors are published as `bench/pipeline.py` does, while a stream of all users' changes is read.
A change's lateness is counted from its decision's time in the log until the stream has it.
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

TURNS = 5_000
ROUNDS = 5
WANTED = ChangesWanted(tenant="default")


async def listened(worker: Worker, count: int) -> list[float]:
    """Return how many seconds late each change of a stream came, when so many have come."""
    late: list[float] = []
    cursor = await worker.change_streams.begin(WANTED, None)

    async def goes_on() -> bool:
        return len(late) < count

    async for block in worker.change_streams.stream(WANTED, cursor, may_go_on=goes_on):
        now = datetime.now(UTC)
        for line in block.splitlines():
            if line.startswith(b"data: "):
                at = datetime.fromisoformat(orjson.loads(line[6:])["recorded_at"])
                late.append((now - at).total_seconds())
        if len(late) >= count:
            break
    return late


async def pipeline(said: list[str], *, heard: bool, apart: float = 0.0) -> tuple[float, list[float]]:
    """Return how many turns a second become memories, and how late a listener heard of each.

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
            late = await asyncio.wait_for(listening, 60.0) if listening is not None else []
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
    """Print and return the quantiles of how late changes came."""
    found = {of: round(float(np.quantile(late, at)), 3) for of, at in (("p50", 0.5), ("p99", 0.99), ("most", 1.0))}
    print(f"{name} a change comes after {found['p50']} s, p99 {found['p99']} s, at most {found['most']} s (target 1)")
    return found


if __name__ == "__main__":
    asyncio.run(main())
