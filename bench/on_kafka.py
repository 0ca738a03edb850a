"""On Kafka: verbatim mode with ready vectors against two forwarding agents, and two workers against one.

    python tools/run_benchmarks.py on_kafka

It needs Kafka in the cache (`make engines`). (a) is (b) of `bench/pipeline.py` on a fresh broker for each round. It
measures the worker; two chained Faust agents that only forward the bytes of the same turns, on the same transport and
the same partitions; and the least that a turn needs: two agents that decode and encode its messages and commit its
memory to a shard's file, 64 at a time, without rules, state, retries or answers. The processor time is that of the
process without the broker, until the last record is on its way. (b) takes one turn of each of 400 users, which makes
400 windows, through one worker and through two, each a process of its own. The model takes 50 ms an answer and gets one
window at a time (`LLM_CONCURRENCY=1`). The time is from the first request until everything is remembered. Workers share
the waiting for the model, so that two should be nearly twice as fast.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from contextlib import asynccontextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import httpx
import numpy as np
from faults.cluster.model import Model
from faults.cluster.numbered_facts import MODEL_SETTINGS, Workload
from faults.cluster.ports import Ports
from faults.cluster.publisher import OverHttp, Publisher
from faults.cluster.worker_process import WorkerProcess
from support.kafka_server import KafkaServer

from bench.pipeline import BATCH, DIMENSIONS, PARTITIONS, ReadyVectors, forwarder, pipeline, texts, to_forward, turns
from bench.rounds import Rounds
from mnemolog.server import tune_process
from projections.embedding.stored_vector import vector_bytes
from projections.shard.rows.memories import row_of_decision, row_of_memory
from projections.shard.tables import connect, name_of
from projections.state.evolve import events_of
from projections.state.memory import UserState
from schemas import codec
from schemas.identity import Owner
from schemas.messages.envelope import Sealed
from schemas.messages.inbox import RememberFact
from streams.agents.remember import state_after
from streams.decisions.decide import decide
from streams.decisions.draft import ItemPosition
from streams.decisions.parameters import Parameters
from streams.transports.kafka.log import KafkaLog
from streams.transports.runs import RUN_RECORDS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from projections.state.memory import Memory
    from schemas.messages.decision import Decision

TURNS = 5_000
OBSERVATIONS = USERS = 400
ROUNDS = 3
DRAIN_SECONDS = 300.0


class LeastWork:
    """The least work of two agents: a turn becomes an item, and the item a decision, whose memory goes to a shard."""

    def __init__(self, said: list[str], path: Path) -> None:
        """Make the results of each turn beforehand, because deciding is not measured."""
        self._items: dict[str, RememberFact] = {}
        self._decisions: dict[str, Decision] = {}
        self._memories: dict[str, Memory] = {}
        self._connection = connect(path)
        self._rows: list[tuple[str, str, Decision, bytes, bytes]] = []
        chance, parameters, states = np.random.default_rng(0), Parameters(), dict[Owner, UserState]()
        for number, turn in enumerate(turns(said)):
            owner, event_id = turn.envelope.owner, turn.envelope.event_id
            vector = vector_bytes(chance.standard_normal(DIMENSIONS).tolist())
            item = RememberFact(
                envelope=turn.envelope.follow(event_id),
                content=Sealed.clear(said[number]),
                vector=Sealed.clear(vector),
                embedding_model="bench",
            )
            state = states.get(owner) or UserState(owner=owner)
            at = turn.envelope.occurred_at
            decision = decide(state, item, ItemPosition(0, number, at), {}, parameters)
            states[owner] = after = state_after(state, decision, codec.encode(decision), {})
            self._items[event_id], self._decisions[event_id] = item, decision
            self._memories[event_id] = next(m for i, m in after.memories.items() if i not in state.memories)

    def propose(self, turn: bytes) -> bytes:
        """Decode a turn, and encode its item."""
        return codec.encode(self._items[codec.decode(turn).envelope.event_id])

    def remember(self, item: bytes) -> bytes:
        """Decode an item, encode its decision, and commit its memory with 63 others."""
        read = codec.decode(item)
        decision = self._decisions[read.envelope.event_id]
        [formed] = events_of(decision)
        codec.encode(formed)
        value = codec.encode(decision)
        vector = read.vector.data
        memory = row_of_memory(self._memories[read.envelope.event_id])
        self._rows.append((name_of(decision.envelope.owner), formed.memory_id, decision, memory, vector))  # type: ignore[union-attr]
        if len(self._rows) == RUN_RECORDS:
            self._commit(value)
        return value

    def _commit(self, value: bytes) -> None:
        run, rows = self._connection.executemany, self._rows
        self._connection.execute("begin immediate")
        run("insert or replace into memories values(?,?,0,?)", [(o, i, memory) for o, i, _, memory, _ in rows])
        run("insert or replace into vectors values(?,?,?)", [(o, i, vector) for o, i, _, _, vector in rows])
        run(
            "insert or replace into decisions values(?,?,?,?,?)",
            [(o, d.version, d.item_offset, d.item_id, row_of_decision(value, [v])) for o, _, d, _, v in rows],
        )
        self._connection.execute("commit")
        rows.clear()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


class Countdown:
    """Calls a function on values, and sets `over` at the last one, because to ask a broker would take time as well."""

    def __init__(self, done: Callable[[bytes], bytes], values: int) -> None:
        """Take the function, and the number of values."""
        self._done = done
        self._left = values
        self.over = asyncio.Event()

    def __call__(self, value: bytes) -> bytes:
        """Return what the function makes of a value."""
        self._left -= 1
        if self._left <= 0:
            self.over.set()
        return self._done(value)


async def forwarding(
    said: list[str], address: str, work: Mapping[str, Callable[[bytes], bytes]] = MappingProxyType({})
) -> tuple[float, float]:
    """Return how many turns per second two chained agents forward on Kafka, and the processor time of one in ms."""
    records = to_forward(said)
    log = KafkaLog([address])
    await log.start()
    await log.members()  # a fresh broker makes the groups' coordinator at the first request, and Faust does not wait
    for topic in ("first", "second", "third"):
        await log.create_topic(topic, PARTITIONS)
    with tempfile.TemporaryDirectory() as folder:
        last = Countdown(work.get("second", bytes), len(records))
        app = forwarder(f"kafka://{address}", Path(folder), {**work, "second": last})
        await app.start()
        try:
            began, began_at = time.perf_counter(), time.process_time()
            for start in range(0, len(records), BATCH):
                await log.append(records[start : start + BATCH])
            await last.over.wait()
            took = time.process_time() - began_at
            while sum(await asyncio.gather(*(log.end("third", p) for p in range(PARTITIONS)))) < len(records):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
            return len(said) / (time.perf_counter() - began), 1e3 * took / len(said)
        finally:
            await app.stop()
            await log.stop()


async def least(said: list[str], address: str) -> tuple[float, float]:
    """Return the same as `forwarding`, for agents that do the least that a turn needs."""
    with tempfile.TemporaryDirectory() as folder:
        work = LeastWork(said, Path(folder) / "least.sqlite")
        try:
            return await forwarding(said, address, {"first": work.propose, "second": work.remember})
        finally:
            work.close()


@asynccontextmanager
async def broker() -> AsyncIterator[str]:
    """Run a fresh broker, and yield its address."""
    with tempfile.TemporaryDirectory() as name:
        ports = Ports()
        kafka = KafkaServer(Path(name) / "kafka", ports.take(), controller=ports.take())
        await asyncio.to_thread(kafka.start)
        try:
            yield kafka.address
        finally:
            kafka.stop()


async def remembered(workers: int, folder: Path) -> float:
    """Return how many observations per second `workers` workers remember, with a slow model."""
    ports, workload = Ports(), Workload(OBSERVATIONS, USERS)
    kafka = KafkaServer(folder / "kafka", ports.take(), controller=ports.take())
    await asyncio.to_thread(kafka.start)
    running: list[WorkerProcess] = []
    try:
        async with Model(ports.take()) as model:
            settings = {
                **MODEL_SETTINGS,
                "ENCRYPTION": "off",
                "BROKER": f"kafka://{kafka.address}",
                "LLM_BASE_URL": model.base_url,
                "LLM_CONCURRENCY": "1",
            }
            for number in range(workers):
                port = ports.take()
                own = {"ADVERTISED_URL": f"http://127.0.0.1:{port}"}
                running.append(WorkerProcess(folder / str(number), port, settings | own))
                running[-1].start()
                await running[-1].ready()
            await asyncio.sleep(10)  # until the partitions are shared
            ways = [OverHttp(lambda: [one.url for one in running])]
            publisher = Publisher(workload, ways, folder / "acknowledged", twice=False)
            began = time.perf_counter()
            await publisher.run()
            async with httpx.AsyncClient(timeout=DRAIN_SECONDS, base_url=running[0].url) as http:
                drained = await http.post("/v1/admin/drain", json={"timeout": DRAIN_SECONDS})
                assert drained.json()["memories"] == OBSERVATIONS, drained.text
            return OBSERVATIONS / (time.perf_counter() - began)
    finally:
        for one in running:
            one.kill()
        kafka.stop()


async def main() -> dict[str, object]:
    """Measure (a), then (b)."""
    tune_process()
    said = texts(TURNS)
    ready = Rounds("ready vectors on Kafka, against two forwarding agents", None)
    floor = Rounds("the least that a turn needs, against two forwarding agents", None)
    for _ in range(ROUNDS):
        async with broker() as address:
            compared, forwarded_in = await forwarding(said, address)
            began = time.process_time()
            measured = await pipeline(said, ReadyVectors(said), broker=f"kafka://{address}", encryption="off")
            remembered_in = 1e3 * (time.process_time() - began) / len(said)
        async with broker() as address:
            at_least, least_in = await least(said, address)
        ready.add(measured, compared)
        floor.add(at_least, compared)
        print(
            f"  processor time a turn: forwarding {forwarded_in:.2f} ms, the least {least_in:.2f}, the worker with its"
            f" start and stop {remembered_in:.2f}",
            flush=True,
        )
    shared = Rounds("two workers, against one", 1.5)
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
            compared = await remembered(1, Path(one))
            shared.add(await remembered(2, Path(two)), compared)
    return {"ready_vectors": ready.result(), "least": floor.result(), "two_workers": shared.result()}


if __name__ == "__main__":
    asyncio.run(main())
