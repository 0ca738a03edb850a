"""The event loop's longest stall: a month's load for two users who have 10,000 memories already.

    python bench/stalls.py [--where] [MEMORIES]

A worker in this process, on asyncio's own loop, plays days of `tests/month/life.py`: it publishes, remembers by the
rules, searches, lists, changes, makes contexts and ticks, through the whole HTTP application, without a socket and with
ready vectors. Then a new worker, which has read nothing yet, plays the next day. A step is what runs between two turns
of the loop; a request begins with a step, as it does over a socket. The processor time of each step is measured, which
other programs change little, and its time by the clock, which includes waiting for the disk, for other threads and for
other programs. The program prints the longest steps of each request and task, and the longest garbage collections,
which happen inside steps. With `--where` it also prints what the steps that were too long did, by samples of their
stacks.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import re
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import numpy as np

from bench.context import varied
from bench.search import START, decisions, unit, words
from mnemolog.http.app import make_http
from mnemolog.server import tune_process
from mnemolog.settings import Settings
from mnemolog.worker.worker import Worker
from schemas import codec
from schemas.identity import Owner
from schemas.log import NewRecord
from schemas.topics import LEDGER, TOPICS, partition_of
from streams.transports.sqlite.log import SqliteLog

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from month.life import DAYS, LUNA, USER, VOICE, at, call, events

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import FrameType

    from projections.embedding.embedder import Vectors

MEMORIES = 10_000
USERS = (USER, "suqing")
PARTITIONS = 8
TARGET_MS = 50.0
SAMPLE_SECONDS = 0.005
FRAMES = 7
TICKED = (1, 7, 14, 21, 28)
SENT = ("role", "content", "occurred_at")
"""The fields of a message that our client sends; the agent's own fields are left out."""


IDS = re.compile(r"(?:(?<=/memories/)|(?<=/users/))(?!query|stats)[^/]+")
ASKED: ContextVar[str] = ContextVar("asked", default="")
"""The request to which the current step belongs."""


class AnyVector:
    """An embedder that returns a ready vector for every text."""

    model = "bench"

    def __init__(self) -> None:
        """Make some random vectors."""
        self._vectors = unit(np.random.default_rng(2), 997)

    async def embed(self, texts: Sequence[str], *, urgent: bool = False) -> Vectors:  # noqa: ARG002
        """Return one of the vectors for each text."""
        return np.stack([self._vectors[hash(text) % len(self._vectors)] for text in texts])


class Steps:
    """Measures each step of the loop that runs in this thread."""

    def __init__(self, *, samples: bool) -> None:
        """Measure nothing yet; with `samples`, also sample the stacks of steps."""
        self.work: defaultdict[str, list[float]] = defaultdict(list)
        self.clock: defaultdict[str, list[float]] = defaultdict(list)
        self.collections: list[float] = []
        self.where: Counter[str] = Counter()
        self._began = 0.0
        self._samples = samples
        self._seen: list[str] = []
        self._number = 0

    @contextmanager
    def measured(self) -> Iterator[None]:
        """Measure while the block lasts."""
        before = asyncio.Handle._run  # noqa: SLF001 - what the loop calls for each step
        measure = self._measure

        def run(handle: Any) -> None:  # noqa: ANN401 - the loop's own
            measure(handle, before)

        stop = threading.Event()
        watching = threading.Thread(target=self._watch, args=(threading.get_ident(), stop), daemon=True)
        asyncio.Handle._run = run  # type: ignore[method-assign, assignment]  # noqa: SLF001
        gc.callbacks.append(self._collect)
        if self._samples:
            watching.start()
        try:
            yield
        finally:
            stop.set()
            gc.callbacks.remove(self._collect)
            asyncio.Handle._run = before  # type: ignore[method-assign]  # noqa: SLF001

    def _measure(self, handle: Any, run: Any) -> None:  # noqa: ANN401 - the loop's own
        name = task_of(handle)
        self._number += 1
        self._seen.clear()
        clock, work = time.perf_counter(), time.thread_time()
        run(handle)
        if asked := handle._context.get(ASKED):  # noqa: SLF001 - the loop's own
            name = asked
        work, clock = 1000 * (time.thread_time() - work), 1000 * (time.perf_counter() - clock)
        self.work[name].append(work)
        self.clock[name].append(clock)
        if work > TARGET_MS:
            self.where.update(self._seen)

    def _collect(self, phase: str, _info: dict[str, int]) -> None:
        if phase == "start":
            self._began = time.thread_time()
        else:
            self.collections.append(1000 * (time.thread_time() - self._began))

    def _watch(self, thread: int, stop: threading.Event) -> None:
        while not stop.wait(SAMPLE_SECONDS):
            number = self._number
            seen = place_of(sys._current_frames().get(thread))  # noqa: SLF001 - there is no other way
            if number == self._number:
                self._seen.append(seen)


def task_of(handle: Any) -> str:  # noqa: ANN401 - the loop's own
    """Return the name of the task or callback that a step belongs to."""
    owner = getattr(handle._callback, "__self__", None)  # noqa: SLF001 - the loop's own
    if isinstance(owner, asyncio.Task):
        return str(getattr(owner.get_coro(), "__qualname__", owner.get_name()))
    return str(getattr(handle._callback, "__qualname__", type(handle._callback).__name__))  # noqa: SLF001


def place_of(frame: FrameType | None) -> str:
    """Return the innermost functions of our packages in a stack."""
    found = list[str]()
    while frame is not None and len(found) < FRAMES:
        code = frame.f_code
        if any(part in code.co_filename for part in ("mnemolog", "projections", "streams", "schemas")):
            found.append(code.co_qualname)
        frame = frame.f_back
    return " < ".join(found)


async def write_log(folder: Path, memories: int) -> None:
    """Write a log in which each of the users has `memories` memories."""
    log = SqliteLog.open(folder)
    for topic in TOPICS:
        await log.create_topic(topic.name, 1 if topic.single_partition else PARTITIONS)
    for place, user in enumerate(USERS):
        owner, chance = Owner("default", user), np.random.default_rng(place)
        partition = partition_of(owner.key, PARTITIONS)
        for decision in decisions(owner, unit(chance, memories), chance, varied):
            value = codec.encode(decision)
            await log.append([NewRecord(topic=LEDGER.name, partition=partition, key=owner.key, value=value)])
    log.close()


class Life:
    """Sends the requests of Evatar, Luna and a voice agent in a month."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        """Take the client of the worker."""
        self._http = http
        self._chance = np.random.default_rng(5)

    async def ask(self, method: str, path: str, body: object = None, **query: object) -> Any:  # noqa: ANN401 - JSON
        """Send a request and return its answer; it begins with a step of its own, as it does over a socket."""
        await asyncio.sleep(0)
        ASKED.set(f"{method} {IDS.sub('ID', path)}")
        answer = await self._http.request(method, path, json=body, params={k: str(v) for k, v in query.items()})
        assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text[:300]}"
        return answer.json() if answer.headers["content-type"].startswith("application/json") else answer.text

    async def live(self, days: Sequence[int]) -> None:
        """Send the requests of some days."""
        for day in days:
            if said := events(day):
                await self.ask("POST", "/v1/events", said)
            if context := call(day):
                messages = [{name: one[name] for name in SENT if name in one} for one in context]
                body = {"user_id": USER, "agent_id": VOICE, "messages": messages, "session_id": f"call-{day}"}
                await self.ask("POST", "/v1/conversations", body)
            await self.ask("POST", "/v1/admin/drain", {"timeout": 300})
            for user in USERS:
                await self.day_of(user, day)
            if day in TICKED:
                for policy in ("ladder", "ebbinghaus"):
                    asked = {"policy": policy, "as_of": at(day + 1, 0).isoformat(), "force": True, "timeout": 300}
                    await self.ask("POST", "/v1/admin/ticks", asked)

    async def day_of(self, user: str, day: int) -> None:
        """Send the agents' requests for a user on a day, some of them at the same time."""
        query = words(self._chance, 8)
        asked = {"user_id": user, "agent_id": LUNA, "query": query}
        await asyncio.gather(
            self.ask("POST", "/v1/search", asked | {"limit": 10}),
            self.ask("POST", "/v1/search", asked | {"filters": {"kind": "episodic"}, "limit": 100}),
            self.ask("POST", "/v1/context", asked | {"intimacy": 30, "memory_limit": 100}),
            self.ask("POST", "/v1/memories", {"user_id": user, "content": f"{query} on {day}"}),
        )
        page = await self.ask("GET", "/v1/memories", user_id=user, page_size=200, page=1 + day)
        first, second, third = (m["memory_id"] for m in page["items"][:3])
        await self.ask("PATCH", f"/v1/memories/{first}", {"content": f"{query} again"})
        await self.ask("DELETE", f"/v1/memories/{second}")
        await self.ask("POST", f"/v1/memories/{second}/restore")
        await self.ask("POST", f"/v1/memories/{third}/share", {"agent_id": VOICE})
        await self.ask("GET", f"/v1/memories/{first}/history")
        condition = {"AND": [{"importance": {"gte": 0.5}}, {"content": {"contains": "w1"}}]}
        await self.ask("POST", "/v1/memories/query", {"user_id": user, "filters": condition, "page_size": 100})
        for of in ("profile", "emotions", "upcoming", "report", "episodes", "entities", "stats"):
            await self.ask("GET", f"/v1/users/{user}/{of}", agent_id=LUNA)
        for path in ("", "/stats"):
            await self.ask("GET", f"/api/memories{path}", device_id=user)
        await self.ask("GET", "/v1/memories", user_id=user, as_of=(START + timedelta(days=day)).isoformat())
        await self.ask("GET", "/metrics")
        await self.ask("GET", "/v1/admin/digest")


def report(steps: Steps) -> dict[str, object]:
    """Print the longest steps, and return them."""
    longest = sorted(((max(took), name) for name, took in steps.work.items()), reverse=True)
    for work, name in longest[:12]:
        over = sum(one > TARGET_MS for one in steps.work[name])
        clock = max(steps.clock[name])
        print(
            f"  {name}: {work:.0f} ms of work at most ({over} of {len(steps.work[name]):,} too long), "
            f"{clock:.0f} ms by the clock"
        )
    steps.collections.sort()
    collected = steps.collections[-1] if steps.collections else 0.0
    print(f"  garbage: {len(steps.collections)} collections, the longest {collected:.0f} ms")
    for place, count in steps.where.most_common(25):
        print(f"    {count * 1000 * SAMPLE_SECONDS:6.0f} ms in {place}")
    stall = longest[0][0]
    print(f"  longest stall: {stall:.0f} ms of work (at most {TARGET_MS:.0f})", flush=True)
    over = sum(one > TARGET_MS for took in steps.work.values() for one in took)
    return {
        "longest_ms": round(stall, 1),
        "target_ms": TARGET_MS,
        "over_target": over,
        "garbage_ms": round(collected, 1),
    }


async def main(memories: int = MEMORIES, *, samples: bool = False, days: Sequence[int] = DAYS[:8]) -> dict[str, object]:
    """Measure, in a process that is set up as a worker's."""
    tune_process()
    steps = Steps(samples=samples)
    with tempfile.TemporaryDirectory() as name:
        await write_log(Path(name) / "log", memories)
        settings = Settings(data_dir=Path(name), partitions=PARTITIONS, extractor="rules", decay_policy="off")
        for some in (days, [max(days) + 1]):  # the second worker has read nothing at its first request
            worker = Worker(settings, embedder=AnyVector())
            await worker.start()
            try:
                transport = httpx.ASGITransport(make_http(worker))
                async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", timeout=600.0) as http:
                    with steps.measured():
                        await Life(http).live(some)
            finally:
                await worker.stop()
    return report(steps)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("memories", type=int, nargs="?", default=MEMORIES)
    parser.add_argument("--days", type=int, default=8, help="of the month (default: 8)")
    parser.add_argument("--where", action="store_true", help="show where the longest steps are")
    asked = parser.parse_args()
    asyncio.run(main(asked.memories, samples=asked.where, days=DAYS[: asked.days]))
