"""How long a hybrid search through mnemolog takes with the index in Weaviate, against the same two legs asked barely.

    python tools/run_benchmarks.py weaviate_search        # after `make engines`

Users with 20, 60, 200, 2,000 and 10,000 memories beside 200 users of 20, all in one partition, made as in
`bench/search.py`, each asked in three rounds.
`Queries.search` (both legs, exact scores, the shard's state, ranking) against weaviate-client alone, which asks for the
same two legs (BM25 and nearest vectors, 200 hits each, the same filters) at the same time and does nothing with them.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from weaviate.classes.query import Filter, MetadataQuery

from bench.search import DIMENSIONS, FILTERS, NOW, OneVector, fill, unit, words
from projections.analyser import terms
from projections.queries import Queries
from projections.ranking import POOL
from projections.shards import Shards
from projections.weaviate_address import WeaviateAddress
from projections.weaviate_collection import WeaviateCollection, vector_name
from projections.weaviate_index import WeaviateIndex
from projections.weaviate_objects import exactly, mark, owner_id, partition_tenant
from schemas.identity import Owner
from schemas.topics import TOPICS
from streams.transports.sqlite_log import SqliteLog

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from weaviate_server import is_installed, running_weaviate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from weaviate.collections.collection import CollectionAsync

    Times: TypeAlias = dict[str, list[float]]

SIZES, OTHERS, OTHERS_HAVE = (20, 60, 200, 2_000, 10_000), 200, 20
ROUNDS, SEARCHES, WARM = 3, 100, 10
TARGET = 1.5


async def bare(ours: CollectionAsync, owner: Owner, chance: np.random.Generator) -> float:
    """Return the seconds of the two legs alone."""
    vector, query = unit(chance, 1)[0], words(chance, 8)
    before = mark(owner.tenant, owner.user_id)
    chosen = Filter.by_property("owner").equal(owner_id(owner.tenant, owner.user_id).hex)
    chosen = chosen & Filter.by_property("agent_id").contains_any([exactly(FILTERS.agent_id), ""])
    wanted = ["memory_id", "version"]
    began = time.perf_counter()
    await asyncio.gather(
        ours.query.bm25(
            " ".join(before + token for token in terms(query)),
            query_properties=["tokens"],
            limit=POOL,
            filters=chosen,
            return_properties=wanted,
            return_metadata=MetadataQuery(score=True),
        ),
        ours.query.near_vector(
            vector.tolist(),
            target_vector=vector_name(DIMENSIONS),
            limit=POOL,
            filters=chosen,
            return_properties=wanted,
            return_metadata=MetadataQuery(distance=True),
        ),
    )
    return time.perf_counter() - began


async def through(queries: Queries, embedder: OneVector, owner: Owner, chance: np.random.Generator) -> float:
    """Return the seconds of one search through mnemolog."""
    embedder.vector, query = unit(chance, 1)[0], words(chance, 8)
    began = time.perf_counter()
    found = await queries.search(owner, query, FILTERS, now=NOW)
    seconds = time.perf_counter() - began
    assert len(found) == 5
    return seconds


async def measure(folder: Path, address: WeaviateAddress) -> dict[str, object]:
    """Fill the index from shards, then search in alternation."""
    chance, embedder = np.random.default_rng(5), OneVector()
    log = SqliteLog.open(folder / "log")
    shards = Shards(folder / "shards", log, 1, lambda load: WeaviateIndex(address, load, partitions=1))
    for topic in TOPICS:
        await log.create_topic(topic.name, 1)
    await shards.hold(0)
    queries = Queries(shards, embedder)
    users = {size: Owner("default", f"u{size}") for size in SIZES}
    for size, owner in users.items():
        fill(shards, owner, unit(chance, size), chance)
    for number in range(OTHERS):
        fill(shards, Owner("default", f"other{number}"), unit(chance, OTHERS_HAVE), chance)
    began = time.perf_counter()
    await shards.following.tell()
    put = sum(SIZES) + OTHERS * OTHERS_HAVE
    rate = put / (time.perf_counter() - began)
    print(f"{put} memories put, {rate:,.0f} a second", flush=True)
    collection = WeaviateCollection(address, None)
    found: dict[str, object] = {"target_ratio": TARGET, "memories_put_per_second": round(rate)}
    rounds: dict[int, list[Times]] = {size: [] for size in SIZES}
    for _ in range(ROUNDS):
        for size, owner in users.items():
            ours = (await collection.open()).with_tenant(partition_tenant(owner.tenant, owner.user_id, 1))
            times: Times = {"mnemolog": [], "bare": []}
            for _ in range(WARM + SEARCHES):
                times["mnemolog"].append(await through(queries, embedder, owner, chance))
                times["bare"].append(await bare(ours, owner, chance))
            rounds[size].append({name: seconds[WARM:] for name, seconds in times.items()})
    for size, each in rounds.items():
        found[str(size)] = report(size, each)
    await collection.close()
    await shards.following.close()
    shards.close()
    log.close()
    return found


def report(size: int, rounds: Sequence[Times]) -> dict[str, object]:
    """Print medians, 95th percentiles and the ratios of the rounds' medians, and return them."""
    found: dict[str, object] = {}
    for name in rounds[0]:
        p50, p95 = (float(np.quantile([s for each in rounds for s in each[name]], q)) for q in (0.5, 0.95))
        found[name] = {"p50_ms": round(1000 * p50, 3), "p95_ms": round(1000 * p95, 3)}
        print(f"  {size} memories, {name:8} p50 {1000 * p50:6.2f} ms, p95 {1000 * p95:6.2f} ms")
    ratios = [float(np.median(each["mnemolog"]) / np.median(each["bare"])) for each in rounds]
    ratio = statistics.median(ratios)
    said = ", ".join(f"{one:.2f}" for one in ratios)
    print(f"  {size} memories: ratio {ratio:.2f} (target {TARGET}), of rounds with {said}", flush=True)
    return found | {"ratio": round(ratio, 2), "ratios": [round(one, 2) for one in ratios]}


async def main() -> dict[str, object]:
    """Measure on a server of our own."""
    if not is_installed():
        raise SystemExit("Weaviate is not there: run `make engines`")
    with tempfile.TemporaryDirectory() as folder:
        node = Path(folder) / "weaviate"
        node.mkdir()
        with running_weaviate(node) as server:
            return await measure(Path(folder), WeaviateAddress.parse(server.url))


if __name__ == "__main__":
    asyncio.run(main())
