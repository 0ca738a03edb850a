"""A search with a filter against the same search without one, over the real path of `bench/search.py`.

    python bench/filtered_search.py

One user has 10,000 memories with various categories, importances and metadata. Each round asks the same questions
without a filter, with each filter, and without one again. The processor time of this process is measured, because the
machine has other work too. A memory changes before each question, as if it were recalled, so that filters cannot rely
on unchanged memories.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import orjson

from bench.search import DIMENSIONS, NOW, START, OneVector, fill, unit, words
from mnemolog.server import tune_process
from projections.index.embedded.index import EmbeddedIndex
from projections.index.sync import IndexSync
from projections.partitions.index_source import ShardIndexSource
from projections.partitions.shards import Shards
from projections.queries.conditions.parser import condition_of
from projections.queries.filters import Filters
from projections.queries.queries import Queries
from projections.queries.search import Question
from schemas import codec
from schemas.identity import Owner
from schemas.log import Position, Record
from schemas.messages.decision import Decision
from schemas.messages.envelope import Envelope, Sealed
from schemas.messages.events import MemoryFormed, MemoryReinforced
from schemas.topics import LEDGER, TOPICS
from streams.transports.sqlite.log import SqliteLog

if TYPE_CHECKING:
    from collections.abc import Mapping

    from projections.queries.conditions.condition import Condition

MEMORIES, SEARCHES, ROUNDS = 10_000, 20, 5
TARGET = 1.5
CATEGORIES: Final = ("fact", "habit", "project", "people", "preference")
FIRST_NUMBER: Final = 10
NUMBER: Final = "{number}"
"""A placeholder in a filter for a number that differs for each search."""
FILTERS: Final[Mapping[str, dict[str, Any]]] = {
    "a field, three fifths of the memories": {"category": {"ne": "fact"}, "NOT": {"category": "habit"}},
    "metadata, a tenth": {"metadata.project": "p3"},
    "metadata, one in a thousand": {"metadata.ticket": {"in": [f"t{n}" for n in range(10)]}},
    "numbers and times, a quarter": {"importance": {"gte": 0.5}, "occurred_at": {"gt": "2026-01-04T12:00:00Z"}},
    "words in the text": {"content": {"contains": "w17"}},
    "other words in the text each time": {"content": {"contains": f"w{NUMBER}"}},
    "and, or, not": {
        "OR": [{"metadata.project": {"in": ["p1", "p2"]}}, {"NOT": {"importance": {"lt": 0.9}}}],
        "metadata.tags": {"contains": "a"},
    },
    "what every memory meets": {"metadata.project": {"exists": True}},
    "strength at the instant": {"strength": {"gt": 0.2}},
}
"""The filters, by their description."""


def varied(memory: MemoryFormed, number: int) -> MemoryFormed:
    """Return a memory with values of its own."""
    metadata = {"project": f"p{number % 10}", "ticket": f"t{number}", "tags": ["a" if number % 3 else "b", "c"]}
    return replace(
        memory,
        category=CATEGORIES[number % len(CATEGORIES)],
        importance=round(number % 101 / 100, 2),
        metadata=Sealed.clear(orjson.dumps(metadata)),
    )


def said(condition: dict[str, Any], number: int) -> Condition:
    """Return a filter with the number of a search in the place of NUMBER."""
    return condition_of(orjson.loads(orjson.dumps(condition).replace(NUMBER.encode(), str(number).encode())))


class Searcher:
    """Searches one user's memories, and changes one of them before each search."""

    def __init__(self, shards: Shards, queries: Queries, embedder: OneVector, owner: Owner) -> None:
        """Take the shards, the queries, the embedder and the user."""
        self._shards, self._queries, self._embedder, self._owner = shards, queries, embedder, owner
        self._held = shards.resolve(owner)

    async def seconds(self, condition: dict[str, Any] | None, seed: int) -> float:
        """Return the processor time of the searches of a seed."""
        chance, spent = np.random.default_rng(seed), 0.0
        for number in range(SEARCHES):
            filters = Filters(
                agent_id="luna", condition=None if condition is None else said(condition, FIRST_NUMBER + seed + number)
            )
            self._embedder.vector, query = unit(chance, 1)[0], words(chance, 8)
            self._recall(int(chance.integers(MEMORIES)))
            began = time.process_time()
            found = await self._queries.search(self._held, Question(text=query, filters=filters), now=NOW)
            spent += time.process_time() - began
            assert len(found.found) == 5
        return spent / SEARCHES

    def _recall(self, number: int) -> None:
        """Change a memory as a recall does."""
        state, shard = self._shards.state(self._owner), self._shards.of(self._owner)
        memory = state.memories[f"{self._owner.user_id}-{number:08}"]
        item_id = f"recall-{state.version + 1}"
        envelope = Envelope(event_id=item_id, tenant=self._owner.tenant, user_id=self._owner.user_id, occurred_at=START)
        event = MemoryReinforced(
            envelope=envelope,
            memory_id=memory.memory_id,
            reason="recalled",
            access_count=memory.access_count + 1,
            recall_count=memory.recall_count + 1,
            last_accessed_at=NOW,
            source_ids=[],
            pieces=[],
        )
        decision = Decision(
            envelope=envelope,
            item_id=item_id,
            item_type="RecordRecall",
            item_partition=0,
            item_offset=state.last_offset + 1,
            version=state.version + 1,
            covered=[],
            outcomes=[],
            events=[codec.encode(event)],
        )
        position = Position(LEDGER.name, shard.partition, shard.offset(LEDGER.name))
        record = Record(position=position, recorded_at=START, key=self._owner.key, value=codec.encode(decision))
        shard.fold(LEDGER.name, [record])
        assert self._shards.state(self._owner).version == state.version + 1


async def measure(folder: Path) -> dict[str, object]:
    """Measure each filter in alternating rounds; return milliseconds and ratios."""
    chance, embedder, owner = np.random.default_rng(7), OneVector(), Owner("default", "u0")
    log = SqliteLog.open(folder / "log")
    shards = Shards(folder / "shards", log, 1)
    index_sync = IndexSync(EmbeddedIndex, ShardIndexSource(shards))
    shards.subscribe(index_sync)
    for topic in TOPICS:
        await log.create_topic(topic.name, 1)
    await shards.takeover.hold(0)
    searcher = Searcher(shards, Queries(shards, index_sync, embedder), embedder, owner)
    fill(shards, owner, unit(chance, MEMORIES), chance, varied)
    first: dict[str, float] = {}
    for name, condition in {"without a filter": None, **FILTERS}.items():
        began = time.process_time()
        await searcher.seconds(condition, 0)
        first[name] = time.process_time() - began
    plain: list[float] = []
    filtered: dict[str, list[float]] = {name: [] for name in FILTERS}
    ratios: dict[str, list[float]] = {name: [] for name in FILTERS}
    for seed in range(1, ROUNDS + 1):
        for name, condition in FILTERS.items():
            before = await searcher.seconds(None, seed)
            filtered[name].append(await searcher.seconds(condition, seed))
            after = await searcher.seconds(None, seed)
            plain.append((before + after) / 2)
            ratios[name].append(filtered[name][-1] / plain[-1])
    shards.close()
    log.close()
    found: dict[str, object] = {"dimensions": DIMENSIONS, "without_ms": round(1000 * statistics.median(plain), 2)}
    print(f"{MEMORIES} memories, without a filter: {found['without_ms']} ms of processor time")
    for name, spent in filtered.items():
        ratio, milliseconds = statistics.median(ratios[name]), 1000 * statistics.median(spent)
        low, high = min(ratios[name]), max(ratios[name])
        print(
            f"  {name}: {milliseconds:.2f} ms, ratio {ratio:.2f} ({low:.2f} to {high:.2f}; target {TARGET})", flush=True
        )
        found[name] = {"ms": round(milliseconds, 2), "ratio": round(ratio, 2), "of": [round(low, 2), round(high, 2)]}
    return found


async def main() -> dict[str, object]:
    """Measure, in a process that is set up as a worker's."""
    tune_process()
    with tempfile.TemporaryDirectory() as folder:
        return await measure(Path(folder))


if __name__ == "__main__":
    asyncio.run(main())
