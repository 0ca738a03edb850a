"""What a user costs a worker with few or many users, each with 20 memories: processor time and resident memory.

    python bench/users.py                                        # 100 and 1,000 users
    python bench/users.py --folder DIRECTORY 100 10000 100000    # folders that are kept, and filled once
    python bench/users.py --fewer 10 --searched 1500 --folder DIRECTORY 100 100000    # a million memories

The decisions are written to the log as `bench/takeover.py` does, encrypted by default, with the vectors of the built-in
embedder; 100,000 users take 12 GB of disk, and some twenty minutes the first time. A worker runs over each folder, all
at the same time. One caller sends them requests in turn over HTTP, to search and to remember, for users whom the worker
has not seen since it started (cold) and for those whom it has (warm). There are few texts, so that the embedder has
them in its cache. The processor time of all threads of the worker between request and answer is measured in
nanoseconds, which other programs change little, and the time by the clock. Resident memory is measured when the worker
is ready, after one search of each of 10,000 users, and at the end, together with that of the embedder's process. The
ratio is that of the most users to the fewest.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import random
import re
import statistics
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from bench.latency import Caller
from bench.pipeline import SUBJECTS
from bench.publish import running_worker
from mnemolog.log.connection import close_log, create_topics, open_log
from mnemolog.log.sealing import seal_log
from mnemolog.settings import from_environment
from mnemolog.worker.background import RULES_AFTER_SECONDS
from projections.embedding.builtin import BuiltinEmbedder
from projections.embedding.stored_vector import vector_bytes
from projections.encrypted_files import unlock
from projections.state.memory import UserState
from schemas import codec
from schemas.identity import Owner
from schemas.log import NewRecord
from schemas.messages.chain import NO_HEAD, hash_of
from schemas.messages.envelope import Envelope, Sealed
from schemas.messages.inbox import RememberFact
from schemas.topics import INBOX, LEDGER, partition_of
from streams.agents.remember import state_after
from streams.decisions.decide import decide
from streams.decisions.draft import ItemPosition
from streams.decisions.parameters import Parameters

if TYPE_CHECKING:
    from collections.abc import Iterator

SIZES = (100, 1_000)
MEMORIES, WITH_ALL, FEWER = 20, 2_000, 2
"""Users after the first WITH_ALL have FEWER memories by default; only the last row searches them."""
QUERIES = tuple(f"what did I say about {subject}" for subject in SUBJECTS)
SAID = tuple(f"I shall write about {subject} again" for subject in SUBJECTS)
TEMPLATE = "u0000000"
UUID = re.compile(rb"[0-9a-f]{8}(?=-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})")
USERS_AT_ONCE = 200
ROUNDS, ASKED = 6, 8
"""ASKED requests of each kind in a round; each cold one is for a user of its own."""
SEARCHED = 10_000
CALLERS = 8
START_SECONDS = 3_600.0
"""The first start folds everything."""
REST_SECONDS, RESTING_MS = 2.0, 100.0
"""A worker that used less than RESTING_MS of processor time in REST_SECONDS is at rest."""
SETTINGS = {"LOG_LEVEL": "error", "DECAY_POLICY": "off"}
"""Decay is off: at midnight it would change every user's memories, and add to the worker's processor time."""
TARGET, COLD_TARGET_MS = 1.3, 10.0
START = datetime(2026, 1, 1, tzinfo=UTC)


def name_of(number: int) -> str:
    """Return a user's id."""
    return f"u{number:07d}"


def facts(owner: Owner, vectors: list[bytes]) -> list[RememberFact]:
    """Return the commands that form the memories of a user."""
    return [
        RememberFact(
            envelope=Envelope(
                event_id=f"{owner.user_id}-{n}",
                tenant=owner.tenant,
                user_id=owner.user_id,
                occurred_at=START + timedelta(minutes=n),
            ),
            content=Sealed.clear(text),
            vector=Sealed.clear(vectors[n]),
            embedding_model="builtin",
        )
        for n, text in enumerate(texts(owner.user_id))
    ]


def texts(user: str) -> list[str]:
    """Return the texts of a user's memories."""
    return [
        f"Note {n} of {user}: about {SUBJECTS[n % len(SUBJECTS)]} I told her {n * 7919 % 99_991} things"
        for n in range(MEMORIES)
    ]


def template(vectors: list[bytes]) -> list[bytes]:
    """Return the encoded decisions of the user TEMPLATE."""
    owner, parameters, found = Owner("default", TEMPLATE), Parameters(), []
    state = UserState(owner=owner)
    for n, item in enumerate(facts(owner, vectors)):
        decision = decide(state, item, ItemPosition(0, n, item.envelope.occurred_at), {}, parameters)
        found.append(codec.encode(decision))
        state = state_after(state, decision, found[-1], {})
    return found


def ledger(first: int, last: int, decisions: list[bytes], fewer: int, partitions: int) -> Iterator[NewRecord]:
    """Yield the decisions of some users: those of the template with other names, ids and links."""
    for number in range(first, last):
        owner = Owner("default", name_of(number))
        name, head = owner.user_id.encode(), b"%08x" % number
        told = link = NO_HEAD  # the first decision has no link
        for decision in decisions if number < WITH_ALL else decisions[:fewer]:
            value = UUID.sub(head, decision.replace(TEMPLATE.encode(), name)).replace(told, link)
            told, link = hash_of(decision), hash_of(value)
            partition = partition_of(owner.key, partitions)
            yield NewRecord(topic=LEDGER.name, partition=partition, key=owner.key, value=value)


def others(vectors: list[bytes], partitions: int) -> Iterator[NewRecord]:
    """Yield, for each partition, as many commands as the inbox must have for the users' decisions."""
    lacking, number = set(range(partitions)), 0
    while lacking:
        owner = Owner("default", f"other{number}")
        number += 1
        if (partition := partition_of(owner.key, partitions)) in lacking:
            lacking.remove(partition)
            for item in facts(owner, vectors):
                yield NewRecord(topic=INBOX.name, partition=partition, key=owner.key, value=codec.encode(item))


async def fill(folder: Path, users: int, fewer: int) -> None:
    """Write the decisions of `users` users, after those that an earlier call wrote."""
    done = folder / "users-written"
    written = int(done.read_text()) if done.exists() else 0
    if written >= users:
        return
    folder.mkdir(parents=True, exist_ok=True)  # noqa: ASYNC240 - nobody waits
    embedder = BuiltinEmbedder()
    vectors = [vector_bytes(vector) for vector in await embedder.embed(texts(TEMPLATE))]
    await embedder.close()
    settings = from_environment({}, data_dir=folder)
    inner = await open_log(settings)
    try:
        await create_topics(inner, settings)
        log = (await seal_log(settings, inner, lambda _: None)).log
        decisions = template(vectors)
        if not written:
            await log.append(list(others(vectors, settings.partitions)))
        for first in range(written, users, USERS_AT_ONCE):
            last = min(users, first + USERS_AT_ONCE)
            await log.append(list(ledger(first, last, decisions, fewer, settings.partitions)))
            done.write_text(str(last))  # a decision that is appended twice is void
    finally:
        await close_log(inner)
        unlock(folder, None)


def processor_ms(pid: int) -> float:
    """Return the processor time of all threads of a process so far, in milliseconds."""
    total = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):  # the thread has ended
            total += int((task / "schedstat").read_text().split()[0])
    return total / 1e6


def resident_mib(pid: int) -> float:
    """Return the resident memory of a process, in MiB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


def children_mib(pid: int) -> float:
    """Return the resident memory of a worker's child processes, in MiB."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(resident_mib(int(child)) for task in tasks for child in (task / "children").read_text().split())


class Measured:
    """One worker over the users of a folder, and the measured times of each kind of request."""

    def __init__(self, users: int, url: str, pid: int, searched: int, seed: int) -> None:
        """Take the worker's users, URL and process id, and for how many users it searches at the end."""
        self.users, self.url, self.pid = users, url, pid
        chance = random.Random(seed)  # noqa: S311 - they only differ
        self.cold = chance.sample(range(min(users, WITH_ALL)), 2 * ROUNDS * ASKED)
        asked = set(self.cold)
        self.rest = chance.sample(
            [user for user in range(users) if user not in asked], min(searched, users - len(asked))
        )
        self.took: dict[str, list[tuple[float, float]]] = {}
        self.resident: dict[str, float] = {}

    def note_memory(self, when: str) -> None:
        """Measure the resident memory of the worker and of its children."""
        self.resident[when] = resident_mib(self.pid)
        self.resident[f"{when}, its children"] = children_mib(self.pid)

    async def search(self, caller: Caller, user: int, number: int) -> None:
        """Search for one user."""
        asked = {"user_id": name_of(user), "query": QUERIES[number % len(QUERIES)], "recall": False}
        assert orjson.loads(await caller.ask("POST", "/v1/search", asked))["results"]

    async def remember(self, caller: Caller, user: int, number: int) -> None:
        """Remember one text."""
        await caller.ask("POST", "/v1/memories", {"user_id": name_of(user), "content": SAID[number % len(SAID)]})

    async def settle(self) -> None:
        """Wait until the worker is at rest.

        After its start it is delivered all that it has folded, and loads the rules a while later. Otherwise the worker
        that started last would do that between requests, and the others would not.
        """
        await asyncio.sleep(RULES_AFTER_SECONDS + 1.0)
        until, last = time.monotonic() + START_SECONDS, processor_ms(self.pid)
        while time.monotonic() < until:
            await asyncio.sleep(REST_SECONDS)
            last, before = processor_ms(self.pid), last
            if last - before < RESTING_MS:
                return

    async def prepare(self) -> None:
        """Use both routes once for each text, for a user of its own."""
        async with Caller(self.url) as caller:
            for _ in range(3):
                for number in range(len(SUBJECTS)):
                    await self.search(caller, self.rest[0], number)
                    await self.remember(caller, self.rest[0], number)

    async def round(self) -> None:
        """Send ASKED requests of each kind."""
        async with Caller(self.url) as caller:
            searched, remembered = self.cold[:ASKED], self.cold[ASKED : 2 * ASKED]
            self.cold = self.cold[2 * ASKED :]
            for kind, users, ask in (
                ("search, cold", searched, self.search),
                ("search, warm", searched, self.search),
                ("remember, cold", remembered, self.remember),
                ("remember, warm", searched, self.remember),
            ):
                for number, user in enumerate(users):
                    before, began = processor_ms(self.pid), time.perf_counter()
                    await ask(caller, user, number)
                    clock = 1000 * (time.perf_counter() - began)
                    self.took.setdefault(kind, []).append((processor_ms(self.pid) - before, clock))

    async def search_many(self) -> int:
        """Search once for each of many users, by several callers; return how many users these were."""
        users = iter(self.rest)

        async def search() -> None:
            async with Caller(self.url) as caller:
                for number, user in enumerate(users):
                    await self.search(caller, user, number)

        await asyncio.gather(*(search() for _ in range(CALLERS)))
        return len(self.rest)

    def work(self, kind: str) -> tuple[float, float]:
        """Return the processor time of a kind of request, p50 and p95."""
        return percentiles([work for work, _ in self.took[kind]])

    def result(self) -> dict[str, object]:
        """Print and return what was measured."""
        found: dict[str, object] = {}
        for kind, pairs in self.took.items():
            work, clock = self.work(kind), percentiles([clock for _, clock in pairs])
            found[kind] = {"work_ms": work, "clock_ms": clock}
            print(
                f"  {self.users:,} users: {kind}: {work[0]:.2f} and {work[1]:.2f} ms of work (p50 and p95), "
                f"{clock[0]:.1f} and {clock[1]:.1f} ms",
                flush=True,
            )
        print(f"  {self.users:,} users: MiB: {', '.join(f'{k} {v:.0f}' for k, v in self.resident.items())}", flush=True)
        return found | {"resident_mib": {when: round(value) for when, value in self.resident.items()}}


def percentiles(values: list[float]) -> tuple[float, float]:
    """Return the median and the 95th percentile."""
    return statistics.median(values), statistics.quantiles(values, n=20)[-1]


async def measure(
    folder: Path, sizes: tuple[int, ...], searched: int, seed: int, fewer: int = FEWER
) -> dict[str, object]:
    """Measure a worker for each size."""
    for users in sizes:
        await fill(folder / str(users), users, fewer)
    with contextlib.ExitStack() as running:
        workers = list[Measured]()
        for users in sizes:
            worker = running_worker(folder / str(users), START_SECONDS, **SETTINGS)
            workers.append(Measured(users, *running.enter_context(worker), searched, seed))
        for one in workers:
            await one.settle()
            one.note_memory("ready")
            await one.prepare()
            one.note_memory("embedder loaded")
        for _ in range(ROUNDS):
            for one in workers:
                await one.round()
        for one in workers:
            await one.search_many()
            one.note_memory(f"{len(one.rest):,} users searched")
        found: dict[str, object] = {str(one.users): one.result() for one in workers}
    few, many = workers[0], workers[-1]
    for kind in few.took:
        (p50, p95), least = many.work(kind), few.work(kind)
        ratios = [round(p50 / least[0], 2), round(p95 / least[1], 2)]
        if kind == "search, cold":
            found["first search"] = {"p50_ms": round(p50, 2), "p95_ms": round(p95, 2), "target_ms": COLD_TARGET_MS}
            print(f"  {kind}: {p50:.1f} and {p95:.1f} ms of work, at most {COLD_TARGET_MS:.0f}", flush=True)
        found[f"{kind}, {many.users} against {few.users}"] = {"ratios": ratios, "target": TARGET}
        print(
            f"  {kind}: {many.users:,} users against {few.users:,}: {ratios[0]} (p50), {ratios[1]} (p95), "
            f"at most {TARGET}",
            flush=True,
        )
    return found


async def main(
    sizes: tuple[int, ...] = SIZES,
    folder: Path | None = None,
    searched: int = SEARCHED,
    seed: int = 1,
    fewer: int = FEWER,
) -> dict[str, object]:
    """Measure each size, in the folder given or in a temporary one."""
    if folder is not None:
        return await measure(folder, sizes, searched, seed, fewer)
    with tempfile.TemporaryDirectory() as name:
        return await measure(Path(name), sizes, searched, seed, fewer)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("users", type=int, nargs="*", default=SIZES)
    parser.add_argument("--folder", type=Path, help="where the data folders are kept")
    parser.add_argument("--searched", type=int, default=SEARCHED, help=f"users (default: {SEARCHED:,})")
    parser.add_argument("--seed", type=int, default=1, help="which users are asked for")
    parser.add_argument("--fewer", type=int, default=FEWER, help=f"memories of a user beyond {WITH_ALL:,}")
    asked = parser.parse_args()
    asyncio.run(main(tuple(asked.users), asked.folder, asked.searched, asked.seed, asked.fewer))
