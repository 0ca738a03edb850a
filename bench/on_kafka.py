"""On Kafka: verbatim mode with ready vectors against two forwarding agents, and two workers against one.

    python tools/run_benchmarks.py on_kafka

Needs Kafka in the cache (`make engines`). (a) As `bench/pipeline.py` (b), on one fresh broker a round: the worker, and
two chained Faust agents that only forward the bytes of the same turns, on the same transport and the same topics'
partitions. (b) A turn each of 400 users, so 400 windows, through one worker and through two, each a process of its own,
with a model that takes 50 ms an answer and is asked one window at a time (`LLM_CONCURRENCY=1`): from the first request
to everything remembered. A model's waiting is what workers share, so two should be nearly twice as fast.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import httpx
from faults.cluster.model import Model
from faults.cluster.numbered_facts import MODEL_SETTINGS, Workload
from faults.cluster.ports import Ports
from faults.cluster.publisher import OverHttp, Publisher
from faults.cluster.worker_process import WorkerProcess
from support.kafka_server import KafkaServer

from bench.pipeline import BATCH, PARTITIONS, ReadyVectors, forwarder, pipeline, texts, to_forward
from bench.rounds import Rounds
from mnemolog.server import tune_process
from streams.transports.kafka.log import KafkaLog

TURNS = 5_000
OBSERVATIONS = USERS = 400
ROUNDS = 3
DRAIN_SECONDS = 300.0


async def forwarding(said: list[str], address: str) -> float:
    """Return how many turns a second two chained agents forward on Kafka."""
    records = to_forward(said)
    log = KafkaLog([address])
    await log.start()
    await log.members()  # a fresh broker makes the groups' coordinator when it is first asked, and Faust does not wait
    for topic in ("first", "second", "third"):
        await log.create_topic(topic, PARTITIONS)
    with tempfile.TemporaryDirectory() as folder:
        app = forwarder(f"kafka://{address}", Path(folder))
        await app.start()
        try:
            began = time.perf_counter()
            for start in range(0, len(records), BATCH):
                await log.append(records[start : start + BATCH])
            while sum([await log.end("third", p) for p in range(PARTITIONS)]) < len(records):  # noqa: ASYNC110
                await asyncio.sleep(0.05)
            return len(said) / (time.perf_counter() - began)
        finally:
            await app.stop()
            await log.stop()


async def remembered(workers: int, folder: Path) -> float:
    """Return how many observations a second so many workers remember, with a model that takes its time."""
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
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as name:
            ports = Ports()
            kafka = KafkaServer(Path(name) / "kafka", ports.take(), controller=ports.take())
            await asyncio.to_thread(kafka.start)
            try:
                compared = await forwarding(said, kafka.address)
                ready.add(
                    await pipeline(said, ReadyVectors(said), broker=f"kafka://{kafka.address}", encryption="off"),
                    compared,
                )
            finally:
                kafka.stop()
    shared = Rounds("two workers, against one", 1.5)
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
            compared = await remembered(1, Path(one))
            shared.add(await remembered(2, Path(two)), compared)
    return {"ready_vectors": ready.result(), "two_workers": shared.result()}


if __name__ == "__main__":
    asyncio.run(main())
