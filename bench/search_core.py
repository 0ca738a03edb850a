"""A search of the embedded index without embedding, alone and with other users, compared with one matrix product.

    python bench/search_core.py [--memories 10000] [--others 50] [--searches 200]

The memories are synthetic, with 12 to 40 words from a vocabulary with Zipf's frequencies, and 512 dimensions. The first
search of a user also loads the user, and is measured separately.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import time
from datetime import UTC, datetime, timedelta

import numpy as np

from projections.index.embedded.index import EmbeddedIndex
from projections.index.protocol import IndexEntry, IndexQuery

DIMENSIONS = 512
VOCABULARY = 30_000
START = datetime(2026, 1, 1, tzinfo=UTC)


def memories(user_id: str, count: int, seed: int) -> list[IndexEntry]:
    """Return a user's memories; the same seed gives the same memories."""
    chance = np.random.default_rng(seed)
    vectors = chance.standard_normal((count, DIMENSIONS), dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return [
        IndexEntry(
            tenant="default",
            user_id=user_id,
            memory_id=f"{user_id}-{n:08}",
            version=1,
            agent_id=("luna", None)[n % 2],
            tokens=tuple(f"w{word}" for word in chance.zipf(1.3, chance.integers(12, 40)) % VOCABULARY),
            vector=vectors[n],
            embedding_model="bench",
            kind=("semantic", "episodic")[n % 2],
            category="fact",
            memory_type="long_term",
            source_type="chat",
            occurred_at=START + timedelta(minutes=n),
        )
        for n in range(count)
    ]


def query(user_id: str, chance: np.random.Generator) -> IndexQuery:
    """Return a query of eight words, common and rare ones, by one agent."""
    vector = chance.standard_normal(DIMENSIONS).astype(np.float32)
    return IndexQuery(
        tenant="default",
        user_id=user_id,
        tokens=tuple(f"w{word}" for word in chance.zipf(1.3, 8) % VOCABULARY),
        vector=vector / np.linalg.norm(vector),
        embedding_model="bench",
        limit=200,
        agent_id="luna",
        since=START,
    )


def milliseconds(times: list[float]) -> str:
    """Return the median and the 95th percentile as a text."""
    return f"median {1000 * np.median(times):6.2f} ms, p95 {1000 * np.quantile(times, 0.95):6.2f} ms"


async def measure(count: int, others: int, searches: int) -> None:
    """Measure and print."""
    index = EmbeddedIndex(lambda _, user_id: memories(user_id, count, int(user_id)), max_bytes=1 << 40)
    chance = np.random.default_rng(0)
    held = memories("0", count, 0)
    loaded = EmbeddedIndex(lambda *_: held)
    started = time.perf_counter()
    await loaded.search(query("0", chance))
    print(f"{count} memories: load without the loader {1000 * (time.perf_counter() - started):.0f} ms")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number in range(others + 1):
        await index.search(query(str(number), chance))
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(f"{others + 1} users: {index.nbytes >> 20} MiB counted, {grown >> 10} MiB resident")
    matrix = np.stack([entry.vector for entry in held])
    product: list[float] = []
    alone: list[float] = []
    among: list[float] = []
    for turn in range(searches):
        for times, index_asked, user in ((alone, loaded, "0"), (among, index, str(turn % (others + 1)))):
            asked = query(user, chance)
            started = time.perf_counter()
            legs = await index_asked.search(asked)
            times.append(time.perf_counter() - started)
            assert len(legs.semantic) == min(200, count // 2)
        vector = query("0", chance).vector
        assert vector is not None
        started = time.perf_counter()
        _ = matrix @ vector
        product.append(time.perf_counter() - started)
    print(f"  one user          {milliseconds(alone)}")
    print(f"  of {others + 1:4} users     {milliseconds(among)}")
    print(f"  matrix product    {milliseconds(product)}")
    replaced = [time.perf_counter()]
    for entry in held[:1000]:
        await loaded.remove("default", "0", {entry.memory_id: entry.version})
        await loaded.put([entry])
    replaced.append(time.perf_counter())
    print(f"  remove and put    {1000 * (replaced[1] - replaced[0]):.0f} microseconds each")


def main() -> None:
    """Read the arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--others", type=int, default=50)
    parser.add_argument("--searches", type=int, default=200)
    arguments = parser.parse_args()
    asyncio.run(measure(arguments.memories, arguments.others, arguments.searches))


if __name__ == "__main__":
    main()
