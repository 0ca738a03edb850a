"""The time that `POST /v1/context` takes against `POST /v1/search`, for one user with 10,000 memories.

    python bench/context.py

Both pass the whole HTTP application of a worker in this process, in alternating pairs, without a socket and with ready
vectors (an embedder's time is added to both). A third of the memories are episodes, a tenth fill the profile, and a
fifth will expire. The user has published 2,000 turns. A context shows the last ten turns of a session, the profile, the
newest episodes, the most important memories, and what a search finds. `unchanged`: nothing is decided in between.
`changed`: one memory of the user is revised before each request. `sensitive`: as `unchanged`, with an intimacy that
hides memories that mention one of three topics.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import numpy as np

from bench.search import START, OneVector, decisions, unit, words
from mnemolog.http.app import make_http
from mnemolog.server import tune_process
from mnemolog.settings import Settings
from mnemolog.worker.worker import Worker
from schemas import codec
from schemas.identity import Owner
from schemas.log import NewRecord
from schemas.messages.envelope import Sealed
from schemas.topics import LEDGER, TOPICS
from streams.transports.sqlite.log import SqliteLog

if TYPE_CHECKING:
    from schemas.messages.events import MemoryFormed

MEMORIES, TURNS, PAIRS = 10_000, 2_000, 200
TARGET = 2.0
USER = Owner("default", "u1")
TOPICS_HIDDEN = ("w17", "w23", "w29")


def varied(event: MemoryFormed, number: int) -> MemoryFormed:
    """Return the event of a memory as an episode, a value of the profile, or one that will expire, by its number."""
    event = replace(event, importance=(number % 97) / 97, kind="episodic" if number % 3 == 0 else "semantic")
    if number % 5 == 0:
        event = replace(event, memory_type="short_term", expires_at=START + timedelta(days=3650, minutes=number))
    if number < len(TOPICS_HIDDEN):
        return replace(event, attribute="sensitive_topics", value=Sealed.clear(TOPICS_HIDDEN[number]))
    if number % 10 == 1:
        return replace(event, attribute="likes", value=Sealed.clear(f"thing {number}"))
    return event


async def write_log(folder: Path, chance: np.random.Generator) -> None:
    """Write a log with the user's decisions."""
    log = SqliteLog.open(folder)
    for topic in TOPICS:
        await log.create_topic(topic.name, 1)
    values = [codec.encode(decision) for decision in decisions(USER, unit(chance, MEMORIES), chance, varied)]
    await log.append([NewRecord(topic=LEDGER.name, partition=0, key=USER.key, value=value) for value in values])
    log.close()


async def publish(http: httpx.AsyncClient, chance: np.random.Generator) -> None:
    """Publish the user's turns."""
    turns = [
        {"type": "TurnRecorded", "event_id": f"t-{n}", "user_id": USER.user_id, "agent_id": "luna", "role": "user"}
        | {"session_id": f"s{n // 50}", "content": words(chance, 8), "occurred_at": f"2026-01-05T{n % 24:02}:00:00Z"}
        for n in range(TURNS)
    ]
    for begin in range(0, TURNS, 500):
        (await http.post("/v1/events", json=turns[begin : begin + 500])).raise_for_status()
    (await http.post("/v1/admin/drain", json={})).raise_for_status()


class Bench:
    """Sends both kinds of requests, and measures them."""

    def __init__(self, http: httpx.AsyncClient, embedder: OneVector, chance: np.random.Generator) -> None:
        """Take the client, the embedder and the source of chance."""
        self.http, self.embedder, self.chance = http, embedder, chance

    async def seconds(self, path: str, **more: object) -> float:
        """Return the seconds of one request."""
        self.embedder.vector = unit(self.chance, 1)[0]
        body = {"user_id": USER.user_id, "agent_id": "luna", "query": words(self.chance, 8)} | more
        began = time.perf_counter()
        body |= {"include": ["memories"]} | ({"min_relevance": 0} if path == "/v1/context" else {})
        answer = await self.http.post(path, json=body)
        seconds = time.perf_counter() - began
        found = answer.json()["results" if path == "/v1/search" else "memories"]
        assert len(found) == 5, answer.text
        return seconds

    async def revise(self, number: int) -> None:
        """Change a memory of the user."""
        changes = {"importance": float(self.chance.random())}
        path = f"/v1/memories/{USER.user_id}-{number:08}"
        (await self.http.patch(path, json=changes)).raise_for_status()

    async def pairs(self, name: str, *, revised: bool = False, **more: object) -> dict[str, object]:
        """Measure both in alternation, and return medians and their ratio."""
        searches, contexts = list[float](), list[float]()
        for number in range(PAIRS):
            for path, seconds in (("/v1/search", searches), ("/v1/context", contexts)):
                if revised:
                    await self.revise(int(self.chance.integers(0, MEMORIES)))
                seconds.append(await self.seconds(path, **(more if path == "/v1/context" else {})))
            if number == 0:  # the first requests fill the caches
                print(
                    f"  {name:9} first: search {1000 * searches.pop():.0f} ms, context {1000 * contexts.pop():.0f} ms"
                )
        search, context = (float(np.median(each)) for each in (searches, contexts))
        ratio = context / search
        p95 = [1000 * float(np.quantile(each, 0.95)) for each in (searches, contexts)]
        print(
            f"  {name:9} search p50 {1000 * search:.1f} p95 {p95[0]:.1f} ms, context p50 {1000 * context:.1f} "
            f"p95 {p95[1]:.1f} ms: ratio {ratio:.2f} (target {TARGET})",
            flush=True,
        )
        return {
            "ratio": round(ratio, 3),
            "target": TARGET,
            "search_p50_ms": round(1000 * search, 3),
            "context_p50_ms": round(1000 * context, 3),
        }


async def main() -> dict[str, object]:
    """Measure, in a process that is set up as a worker's."""
    tune_process()
    chance, embedder = np.random.default_rng(1), OneVector()
    with tempfile.TemporaryDirectory() as name:
        (folder := Path(name) / "log").mkdir()
        await write_log(folder, chance)
        settings = Settings(data_dir=Path(name), partitions=1, memorize=False, extractor="rules", decay_policy="off")
        worker = Worker(settings, embedder=embedder)
        await worker.start()
        try:
            transport = httpx.ASGITransport(make_http(worker))
            async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", timeout=60.0) as http:
                await publish(http, chance)
                bench = Bench(http, embedder, chance)
                return {
                    "unchanged": await bench.pairs("unchanged", session_id="s3"),
                    "changed": await bench.pairs("changed", revised=True, session_id="s3"),
                    "sensitive": await bench.pairs("sensitive", session_id="s3", intimacy=30),
                }
        finally:
            await worker.stop()


if __name__ == "__main__":
    asyncio.run(main())
