"""A search over the real path, without embedding: `Queries.search` with the shard's state, index and ranking.

    python bench/search.py
    python -m bench.search --floor --data FOLDER --port PORT    # serves the floor of a search over HTTP (`serve_floor`)

One user has 1,000 and then 10,000 memories, and searches alone, and together with 50 other such users in turn. It is
compared with one NumPy product of the matrix of the same vectors and the query's. Memories have 12 to 40 words from a
vocabulary with Zipf's frequencies, and 512 dimensions; a query has eight such words, an agent, and asks for five
results. The first search of a user loads the user's table, and is measured separately.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import orjson
from fastapi import Response

from bench.made_users import MODEL, formed, import_decisions
from mnemolog.cli import main as command_line
from mnemolog.http.dependencies import CurrentWorker, Tenant  # noqa: TC001 - FastAPI reads the annotations
from mnemolog.http.models.requests import Search  # noqa: TC001 - likewise
from mnemolog.http.models.responses import Results
from mnemolog.http.permissions import reads
from mnemolog.http.routes import search as search_route
from mnemolog.http.routing import takes_long
from mnemolog.server import tune_process
from projections.index.embedded.index import EmbeddedIndex
from projections.index.sync import IndexSync
from projections.partitions.index_source import ShardIndexSource
from projections.partitions.shards import Shards
from projections.queries.filters import Filters
from projections.queries.queries import Queries
from projections.queries.search import Question
from schemas import codec
from schemas.identity import Owner
from schemas.log import Position, Record
from schemas.topics import LEDGER, TOPICS
from streams.transports.sqlite.log import SqliteLog

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    from projections.embedding.embedder import Vectors
    from projections.partitions.held import Held
    from schemas.messages.decision import Decision
    from schemas.messages.events import MemoryFormed

    Vary: TypeAlias = Callable[[MemoryFormed, int], MemoryFormed]

DIMENSIONS, VOCABULARY = 512, 30_000
SIZES, OTHERS, SEARCHES = (1_000, 10_000), 50, 400
TARGETS_MS = {1_000: 10.0, 10_000: 25.0}
START = datetime(2026, 1, 1, tzinfo=UTC)
NOW = datetime(2026, 2, 1, tzinfo=UTC)
FILTERS = Filters(agent_id="luna")
ANSWER_BYTES = 11_000
"""The size of an answer with ten memories."""


class OneVector:
    """An embedder whose answer is ready: `vector` is that of the next query."""

    model = MODEL

    def __init__(self) -> None:
        """Begin with a zero vector."""
        self.vector = np.zeros(DIMENSIONS, np.float32)

    async def embed(self, texts: Sequence[str], *, urgent: bool = False) -> Vectors:  # noqa: ARG002
        """Return the vector for each text."""
        return np.stack([self.vector for _ in texts])


def unit(chance: np.random.Generator, count: int) -> Vectors:
    """Return unit vectors, shape (count, DIMENSIONS)."""
    vectors = chance.standard_normal((count, DIMENSIONS), dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


def words(chance: np.random.Generator, count: int) -> str:
    """Return a text of `count` words, common and rare ones."""
    return " ".join(f"w{word}" for word in chance.zipf(1.3, count) % VOCABULARY)


def as_it_is(memory: MemoryFormed, _number: int) -> MemoryFormed:
    """Return a memory without a change."""
    return memory


def decisions(owner: Owner, vectors: Vectors, chance: np.random.Generator, vary: Vary = as_it_is) -> list[Decision]:
    """Return decisions that form a memory for each vector, as many in each as fit.

    `vary` changes a memory by its number.
    """
    memories = []
    for number, vector in enumerate(vectors):
        content, at = words(chance, int(chance.integers(12, 40))), START + timedelta(minutes=number)
        memories.append(vary(formed(owner, number, content, vector.astype("<f4").tobytes(), at), number))
    return import_decisions(owner, memories, START)


def fill(shards: Shards, owner: Owner, vectors: Vectors, chance: np.random.Generator, vary: Vary = as_it_is) -> None:
    """Fold a user's memories into their shard without the log, because only what a search reads is needed."""
    shard = shards.of(owner)
    for decision in decisions(owner, vectors, chance, vary):
        position = Position(LEDGER.name, shard.partition, shard.offset(LEDGER.name))
        shard.fold(
            LEDGER.name,
            [Record(position=position, recorded_at=START, key=owner.key, value=codec.encode(decision))],
        )


async def searching(queries: Queries, embedder: OneVector, held: Held, chance: np.random.Generator) -> float:
    """Return the seconds of one search."""
    embedder.vector, query = unit(chance, 1)[0], words(chance, 8)
    began = time.perf_counter()
    found = await queries.search(held, Question(text=query, filters=FILTERS), now=NOW)
    seconds = time.perf_counter() - began
    assert len(found.found) == 5
    return seconds


def product(matrix: Vectors, chance: np.random.Generator) -> float:
    """Return the seconds of one product of a matrix and a random vector."""
    vector = unit(chance, 1)[0]
    began = time.perf_counter()
    _ = matrix @ vector
    return time.perf_counter() - began


async def measure(size: int, folder: Path) -> dict[str, object]:
    """Measure users with `size` memories, first one and then 50 more, in alternation with the product."""
    chance, embedder = np.random.default_rng(size), OneVector()
    log = SqliteLog.open(folder / "log")
    shards = Shards(folder / "shards", log, 1)
    index_sync = IndexSync(EmbeddedIndex, ShardIndexSource(shards))
    shards.subscribe(index_sync)
    for topic in TOPICS:
        await log.create_topic(topic.name, 1)
    await shards.takeover.hold(0)
    queries = Queries(shards, index_sync, embedder)
    users = [Owner("default", f"u{number}") for number in range(OTHERS + 1)]
    matrix = unit(chance, size)
    fill(shards, users[0], matrix, chance)
    first = await searching(queries, embedder, shards.resolve(users[0]), chance)
    times: dict[str, list[float]] = {"alone": [], "beside_others": [], "others": [], "product": []}
    for _ in range(SEARCHES):
        times["alone"].append(await searching(queries, embedder, shards.resolve(users[0]), chance))
        times["product"].append(product(matrix, chance))
    for owner in users[1:]:
        fill(shards, owner, unit(chance, size), chance)
        await searching(queries, embedder, shards.resolve(owner), chance)
    for number in range(SEARCHES):
        times["others"].append(await searching(queries, embedder, shards.resolve(users[1 + number % OTHERS]), chance))
        times["beside_others"].append(await searching(queries, embedder, shards.resolve(users[0]), chance))
        times["product"].append(product(matrix, chance))
    shards.close()
    log.close()
    return report(size, first, times)


def report(size: int, first: float, times: dict[str, list[float]]) -> dict[str, object]:
    """Print medians, 95th percentiles and ratios, and return them."""
    found: dict[str, object] = {"target_p95_ms": TARGETS_MS[size], "first_search_ms": round(1000 * first, 1)}
    base = float(np.median(times["product"]))
    print(f"{size} memories; the first search, which loads the table: {1000 * first:.0f} ms")
    for name, seconds in times.items():
        p50, p95 = (float(np.quantile(seconds, q)) for q in (0.5, 0.95))
        print(f"  {name:14} p50 {1000 * p50:6.2f} ms, p95 {1000 * p95:6.2f} ms, {p50 / base:5.1f} products", flush=True)
        found[name] = {"p50_ms": round(1000 * p50, 3), "p95_ms": round(1000 * p95, 3), "products": round(p50 / base, 1)}
    return found


async def main() -> dict[str, object]:
    """Measure each size, in a process that is set up as a worker's."""
    tune_process()
    found: dict[str, object] = {}
    for size in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            found[str(size)] = await measure(size, Path(folder))
    return found


def serve_floor(arguments: Sequence[str]) -> None:
    """Run a worker with the route `POST /v1/floor`, which does all that a search does except to find memories.

    It is the least that a search over HTTP takes in this stack: behind the same layers, the same body is read and
    checked, the question is embedded, and a ready answer of the size of ten memories is returned.
    """
    ready = orjson.dumps({"results": ["-" * ANSWER_BYTES]})

    @search_route.router.post("/v1/floor", response_model=Results)
    @reads
    @takes_long
    async def floor(body: Search, worker: CurrentWorker, tenant: Tenant) -> Response:  # noqa: ARG001 - as of a search
        await worker.queries.index_search.views(body.query)
        return Response(ready, media_type="application/json")

    sys.argv[1:] = ["up", *arguments]
    command_line()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--floor"]:
        serve_floor(sys.argv[2:])
    else:
        asyncio.run(main())
