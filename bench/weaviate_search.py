"""A hybrid search through mnemolog with the index in Weaviate, compared with the same two legs by its client alone.

    python tools/run_benchmarks.py weaviate_search        # after `make engines`

There are users with 20, 60, 200, 2,000 and 10,000 memories, and 200 more users with 20, all in one partition, made as
in `bench/search.py`; each is searched in three rounds. `Queries.search` (both legs, the shard's state, ranking) is
compared with weaviate-client alone. That has the same vectors and tokens in a collection of its own, requests both legs
there at the same time (BM25 and nearest vectors, 200 hits each, the same filters), and does nothing with them. Its
tokens contain their user, so that it reads no other user's.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import weaviate
from weaviate.classes.config import Configure, DataType, Property, Tokenization, VectorDistances
from weaviate.classes.data import DataObject
from weaviate.classes.query import Filter, MetadataQuery

from bench.search import FILTERS, NOW, OneVector, fill, unit, words
from projections.index.sync import IndexSync
from projections.index.weaviate.address import WeaviateAddress
from projections.index.weaviate.index import WeaviateIndex
from projections.index.weaviate.objects import exactly
from projections.partitions.index_source import ShardIndexSource
from projections.partitions.shards import Shards
from projections.queries.queries import Queries
from projections.queries.ranking import POOL
from projections.queries.search import Question
from projections.text.analyser import terms
from schemas.identity import Owner
from schemas.topics import TOPICS
from streams.transports.sqlite.log import SqliteLog

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from support.weaviate_server import is_installed, running_weaviate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from weaviate.client import WeaviateAsyncClient
    from weaviate.collections.collection import CollectionAsync

    from projections.index.protocol import IndexEntry
    from projections.partitions.held import Held

    Times: TypeAlias = dict[str, list[float]]

SIZES, OTHERS, OTHERS_HAVE = (20, 60, 200, 2_000, 10_000), 200, 20
ROUNDS, SEARCHES, WARM = 3, 100, 10
TARGET = 1.5


async def bare(ours: CollectionAsync, owner: Owner, chance: np.random.Generator) -> float:
    """Return the seconds of the two legs by the client alone."""
    vector, query = unit(chance, 1)[0], words(chance, 8)
    chosen = Filter.by_property("owner").equal(owner.user_id)
    chosen = chosen & Filter.by_property("agent_id").contains_any([exactly(FILTERS.agent_id), exactly(None)])
    wanted = ["memory_id", "version"]
    began = time.perf_counter()
    await asyncio.gather(
        ours.query.bm25(
            " ".join(f"{owner.user_id}:{token}" for token in terms(query)),
            query_properties=["tokens"],
            limit=POOL,
            filters=chosen,
            return_properties=wanted,
            return_metadata=MetadataQuery(score=True),
        ),
        ours.query.near_vector(
            vector.tolist(),
            limit=POOL,
            filters=chosen,
            return_properties=wanted,
            return_metadata=MetadataQuery(distance=True),
        ),
    )
    return time.perf_counter() - began


async def bare_collection(client: WeaviateAsyncClient) -> CollectionAsync:
    """Make a collection like mnemolog's, with tokens."""
    texts = [
        Property(name=name, data_type=DataType.TEXT, tokenization=how, index_searchable=name == "tokens")
        for name, how in (
            ("owner", Tokenization.FIELD),
            ("agent_id", Tokenization.FIELD),
            ("memory_id", Tokenization.FIELD),
            ("tokens", Tokenization.WHITESPACE),
        )
    ]
    await client.collections.create(
        "Bare",
        properties=[*texts, Property(name="version", data_type=DataType.INT)],
        vector_config=Configure.Vectors.self_provided(
            vector_index_config=Configure.VectorIndex.hnsw(
                distance_metric=VectorDistances.COSINE, flat_search_cutoff=1_000_000, max_connections=4
            )
        ),
        multi_tenancy_config=Configure.multi_tenancy(enabled=True, auto_tenant_creation=True),
    )
    return client.collections.get("Bare").with_tenant("p0")


def as_object(entry: IndexEntry) -> DataObject[Any, None]:
    """Return an entry as an object of the bare collection."""
    properties = {
        "owner": entry.user_id,
        "agent_id": exactly(entry.agent_id),
        "memory_id": entry.memory_id,
        "version": entry.version,
        "tokens": " ".join(f"{entry.user_id}:{token}" for token in entry.tokens),
    }
    return DataObject(properties=properties, vector=entry.vector.tolist())


async def through(queries: Queries, embedder: OneVector, held: Held, chance: np.random.Generator) -> float:
    """Return the seconds of one search through mnemolog."""
    embedder.vector, query = unit(chance, 1)[0], words(chance, 8)
    began = time.perf_counter()
    found = await queries.search(held, Question(text=query, filters=FILTERS), now=NOW)
    seconds = time.perf_counter() - began
    assert len(found.found) == 5
    return seconds


async def measure(folder: Path, address: WeaviateAddress) -> dict[str, object]:
    """Fill the index from shards, then search in alternation."""
    chance, embedder = np.random.default_rng(5), OneVector()
    log = SqliteLog.open(folder / "log")
    shards = Shards(folder / "shards", log, 1)
    index_sync = IndexSync(lambda load: WeaviateIndex(address, load, partitions=1), ShardIndexSource(shards))
    shards.subscribe(index_sync)
    for topic in TOPICS:
        await log.create_topic(topic.name, 1)
    await shards.takeover.hold(0)
    queries = Queries(shards, index_sync, embedder)
    users = {size: Owner("default", f"u{size}") for size in SIZES}
    for size, owner in users.items():
        fill(shards, owner, unit(chance, size), chance)
    for number in range(OTHERS):
        fill(shards, Owner("default", f"other{number}"), unit(chance, OTHERS_HAVE), chance)
    began = time.perf_counter()
    await index_sync.flush()
    put = sum(SIZES) + OTHERS * OTHERS_HAVE
    rate = put / (time.perf_counter() - began)
    print(f"{put} memories put, {rate:,.0f} a second", flush=True)
    client = weaviate.use_async_with_local(port=address.http, grpc_port=address.grpc, skip_init_checks=True)
    await client.connect()
    ours = await bare_collection(client)
    for owner in shards.users.owners():
        entries = ShardIndexSource(shards).entries(owner)
        for start in range(0, len(entries), 500):
            assert not (await ours.data.insert_many([as_object(e) for e in entries[start : start + 500]])).has_errors
    found: dict[str, object] = {"target_ratio": TARGET, "memories_put_per_second": round(rate)}
    rounds: dict[int, list[Times]] = {size: [] for size in SIZES}
    for _ in range(ROUNDS):
        for size, owner in users.items():
            times: Times = {"mnemolog": [], "bare": []}
            for _ in range(WARM + SEARCHES):
                times["mnemolog"].append(await through(queries, embedder, shards.resolve(owner), chance))
                times["bare"].append(await bare(ours, owner, chance))
            rounds[size].append({name: seconds[WARM:] for name, seconds in times.items()})
    for size, each in rounds.items():
        found[str(size)] = report(size, each)
    await client.close()
    await index_sync.close()
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
    """Measure on a Weaviate server of its own."""
    if not is_installed():
        raise SystemExit("Weaviate is not installed: run `make engines`")
    with tempfile.TemporaryDirectory() as folder:
        node = Path(folder) / "weaviate"
        node.mkdir()
        with running_weaviate(node) as server:
            return await measure(Path(folder), WeaviateAddress.parse(server.url))


if __name__ == "__main__":
    asyncio.run(main())
