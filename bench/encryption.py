"""What encryption costs: the same work with it and without it, in alternating short rounds, by processor time.

    python bench/encryption.py [MEMORIES]

`publish`: `POST /v1/events` in batches of 500 to workers in processes of their own that remember nothing. `pipeline`:
turns from published to searchable with ready vectors, each round in a new folder. `search`: `POST /v1/search` through
the whole HTTP application of a worker in this process, without a socket, users in turn, with ready vectors;
`first_search` is the first search of each user, which reads the user's rows from the shard. `rebuild`: all of
`mnemolog rebuild`. `bytes_a_memory`: log and shards of a worker that has stopped. The last four have MEMORIES memories
(10,000 by default) of a hundred users, remembered word for word; most of their bytes are vectors of 512 dimensions.

Seconds are processor time of all threads of the process, so that other work on the machine does not count. A rebuild
folds in processes of its own, and is measured by the clock.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import tempfile
import time
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import httpx

from bench.pipeline import BATCH, ReadyVectors, texts, turns
from bench.publish import EVENTS, events, posting, running_worker
from bench.rounds import Rounds
from mnemolog.http.app import make_http
from mnemolog.server import tune_process
from mnemolog.settings import from_environment
from mnemolog.worker.worker import Worker

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

MEMORIES, USERS = 10_000, 100
ROUNDS, SEARCH_ROUNDS, SEARCHES, TURNS = 5, 10, 200, 3_000
SIDES = ("on", "off")
LEAST, LEAST_OF_REBUILD, MOST_BYTES = 0.85, 0.7, 1.1


@dataclass(frozen=True, slots=True)
class Side:
    """A worker with or without encryption, and a client for its HTTP application."""

    worker: Worker
    http: httpx.AsyncClient


@asynccontextmanager
async def running(folder: Path, said: list[str], encryption: str) -> AsyncIterator[Side]:
    """Run a worker in this process."""
    settings = from_environment(
        {"MNEMOLOG_EXTRACTOR": "verbatim", "MNEMOLOG_ENCRYPTION": encryption}, data_dir=folder / encryption
    )
    worker = Worker(settings, embedder=ReadyVectors(said))
    await worker.start()
    try:
        transport = httpx.ASGITransport(make_http(worker))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", timeout=60.0) as http:
            yield Side(worker, http)
    finally:
        await worker.stop()


async def fill(side: Side, said: list[str]) -> float:
    """Remember every text; return how many are remembered per second."""
    messages, began = turns(said, USERS), time.process_time()
    for first in range(0, len(messages), BATCH):
        await side.worker.publisher.publish(messages[first : first + BATCH])
    counts = await side.worker.drain.run_local(600.0)
    assert counts["memories"] == len(said), counts
    return len(said) / (time.process_time() - began)


async def searching(side: Side, asked: list[tuple[str, str]]) -> float:
    """Return how many of these questions, each a user and a text, are answered per second."""
    began = time.process_time()
    for user, text in asked:
        body = {"user_id": user, "query": text, "recall": False}
        answer = await side.http.post("/v1/search", json=body)
        assert answer.json()["results"][0]["memory"] == text, answer.text
    return len(asked) / (time.process_time() - began)


async def rebuilding(side: Side, memories: int) -> float:
    """Return how many memories a rebuild folds per second, by the clock, because it has processes of its own."""
    began = time.perf_counter()
    rebuilt = await side.worker.rebuild.run("all")
    assert rebuilt["equal"], rebuilt
    return memories / (time.perf_counter() - began)


def size_of(folder: Path) -> int:
    """Return the bytes that a folder's files occupy."""
    return sum(file.stat().st_blocks * 512 for file in folder.rglob("*") if file.is_file())


def publishing() -> dict[str, object]:
    """Measure publishing."""
    rounds = Rounds("publish, encrypted against in clear", LEAST)
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        sides = list[tuple[httpx.Client, int]]()
        for encryption in SIDES:
            worker = running_worker(Path(name) / encryption, MEMORIZE="false", ENCRYPTION=encryption)
            url, process = stack.enter_context(worker)
            sides.append((stack.enter_context(httpx.Client(base_url=url, timeout=60.0)), process))
        for run in range(ROUNDS + 1):
            rates = []
            for client, process in sides:
                began = processor_seconds(process)
                posting(client, events(run))
                rates.append(EVENTS / (processor_seconds(process) - began))
            if run:  # the first run makes the keys
                rounds.add(*rates)
    return rounds.result()


def processor_seconds(process: int) -> float:
    """Return the processor time that a process has used, in seconds."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def remembering(said: list[str], encryption: str) -> float:
    """Return how many turns per second a new worker brings from published to searchable."""
    with tempfile.TemporaryDirectory() as name:
        async with running(Path(name), said, encryption) as side:
            return await fill(side, said)


async def through_the_pipeline() -> dict[str, object]:
    """Measure the pipeline."""
    rounds, said = Rounds("pipeline, encrypted against in clear", LEAST), texts(TURNS)
    for _ in range(ROUNDS):
        rounds.add(*[await remembering(said, encryption) for encryption in SIDES])
    return rounds.result()


async def with_memories(memories: int) -> dict[str, object]:
    """Measure searches, rebuilds and sizes with existing memories."""
    said, pick = texts(memories), random.Random(5)  # noqa: S311 - which are asked for, nothing secret
    first = Rounds("first search of a user, encrypted against in clear", None)
    search = Rounds("search, encrypted against in clear", LEAST)
    rebuild = Rounds("rebuild, encrypted against in clear", LEAST_OF_REBUILD)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for encryption in SIDES:
            async with running(folder, said, encryption) as side:
                await fill(side, said)
        sizes = [size_of(folder / encryption) / memories for encryption in SIDES]
        async with AsyncExitStack() as stack:
            sides = [await stack.enter_async_context(running(folder, said, encryption)) for encryption in SIDES]
            for start in range(0, USERS, USERS // 4):
                asked = [(f"u{number}", said[number]) for number in range(start, start + USERS // 4)]
                first.add(*[await searching(side, asked) for side in sides])
            for _ in range(SEARCH_ROUNDS):
                asked = [(f"u{number % USERS}", said[number]) for number in pick.choices(range(memories), k=SEARCHES)]
                search.add(*[await searching(side, asked) for side in sides])
            for _ in range(ROUNDS):
                rebuild.add(*[await rebuilding(side, memories) for side in sides])
    times = sizes[0] / sizes[1]
    print(f"bytes a memory: {sizes[0]:,.0f} against {sizes[1]:,.0f}: {times:.3f} times (at most {MOST_BYTES})")
    return {
        "first_search": first.result(),
        "search": search.result(),
        "rebuild": rebuild.result(),
        "bytes_a_memory": {"times": round(times, 3), "most": MOST_BYTES, "measured": [round(each) for each in sizes]},
    }


async def main(memories: int = MEMORIES) -> dict[str, object]:
    """Measure everything, in a process that is set up as a worker's."""
    tune_process()
    published = await asyncio.to_thread(publishing)
    return {"publish": published, "pipeline": await through_the_pipeline()} | await with_memories(memories)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("memories", type=int, nargs="?", default=MEMORIES)
    asyncio.run(main(parser.parse_args().memories))
