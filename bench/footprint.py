"""Start-up, resident memory and disk of a worker with 10,000 and 100,000 memories.

    python bench/footprint.py [--on-kafka] [MEMORIES...]

Turns are published over HTTP, 100 for each user, and remembered word for word, with the built-in embedder's vectors.
The data folder's bytes per memory are taken before the worker ends: at once, and after a rest in which its write-ahead
logs are emptied. Then the worker is stopped and started again, and once more without its shards, which it then folds
again from the log. The program prints the seconds until it is ready and until a search for each of 50 users has been
answered, the resident memory of its own process (without the embedder's child) at both times, and the bytes per memory
of log and shards.

An index that outlives the worker gets again what was written in the last SAFE_AFTER_SECONDS before the worker ended. So
there the worker is started a second time, "settled", after all is written and nothing new has come for longer than
that.

It runs on the embedded engine, or on Kafka and Weaviate, for which `make engines` is needed: one worker, with a broker
and a node of its own. Their bytes are those of their files: all topics including Kafka's own, and Weaviate's objects,
index and write-ahead log. They are taken "at rest", with the folder's, and again when all has stopped. By then Weaviate
also has what each start wrote again, and what that replaced, until it merges its segments.
"""

from __future__ import annotations

import argparse
import contextlib
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import orjson

from bench.pipeline import texts
from bench.publish import running_worker

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from support.free_ports import free_ports
from support.kafka_server import KafkaServer
from support.weaviate_server import WeaviateServer

from projections.index.durability import LOOK_EVERY_SECONDS, SAFE_AFTER_SECONDS
from projections.shard import wal
from streams.transports.sqlite import writer

if TYPE_CHECKING:
    from collections.abc import Iterator

SIZES = (10_000, 100_000)
MEMORIES_OF_A_USER = 100
BATCH = 500
SEARCHED_USERS = 50
DRAIN_SECONDS = 3_600.0
HOLDING_SECONDS = 600.0
SETTLING_SECONDS = SAFE_AFTER_SECONDS + 5 * LOOK_EVERY_SECONDS
RESTING_SECONDS = 2 * max(wal.REST_SECONDS, writer.REST_SECONDS) + 2.0


def publish(client: httpx.Client, memories: int) -> None:
    """Publish `memories` turns, each to be remembered word for word, and wait until all can be found."""
    users, said = memories // MEMORIES_OF_A_USER, texts(memories)
    for start in range(0, memories, BATCH):
        body = [
            {
                "type": "TurnRecorded",
                "event_id": f"t-{n}",
                "user_id": f"u{n % users}",
                "session_id": "s",
                "role": "user",
                "content": said[n],
                "infer": False,
            }
            for n in range(start, start + BATCH)
        ]
        client.post("/v1/events", content=orjson.dumps(body), headers={"content-type": "application/json"})
    drained = client.post("/v1/admin/drain", json={"timeout": DRAIN_SECONDS}).json()
    assert drained["memories"] == memories, drained


def resident_mib(pid: int) -> float:
    """Return the resident memory of a process, in MiB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


def size_of(folder: Path) -> int:
    """Return the bytes that a folder's files occupy."""
    return sum(file.stat().st_blocks * 512 for file in folder.rglob("*") if file.is_file())


@dataclass(frozen=True)
class Engines:
    """A worker's settings, and the folder of each engine whose bytes are counted in addition to its shards'."""

    settings: dict[str, str]
    folders: dict[str, Path]
    weaviate: WeaviateServer | None = None


@contextlib.contextmanager
def embedded(folder: Path) -> Iterator[Engines]:
    """Use the embedded log in a worker's own folder."""
    yield Engines({}, {"log": folder / "worker" / "log"})


@contextlib.contextmanager
def kafka_and_weaviate(folder: Path) -> Iterator[Engines]:
    """Run a Kafka broker and a Weaviate node while the block lasts."""
    port, controller = free_ports(2)
    kafka, weaviate = KafkaServer(folder / "kafka", port, controller=controller), WeaviateServer(folder / "weaviate")
    (folder / "weaviate").mkdir()
    try:
        kafka.start()
        weaviate.start()
        settings = {"ENCRYPTION": "off", "BROKER": f"kafka://{kafka.address}", "INDEX": weaviate.url}
        yield Engines(settings, {name: folder / name / "data" for name in ("kafka", "weaviate")}, weaviate)
    finally:
        weaviate.stop()
        kafka.stop()


def first_answers(client: httpx.Client, users: int) -> None:
    """Search for each of `users` users, and repeat a search while the worker does not hold the partition yet."""
    deadline = time.monotonic() + HOLDING_SECONDS
    for user in range(users):
        asked = {"user_id": f"u{user}", "query": "the night train", "recall": False}
        while (answer := client.post("/v1/search", json=asked)).status_code == httpx.codes.SERVICE_UNAVAILABLE:
            assert time.monotonic() < deadline, answer.text
            time.sleep(0.1)
        assert answer.json()["results"], answer.text


def started(folder: Path, engines: Engines, users: int) -> dict[str, float]:
    """Return the seconds and the resident memory of a worker that starts with an existing folder."""
    began = time.perf_counter()
    with running_worker(folder, **engines.settings) as (url, pid), httpx.Client(base_url=url, timeout=60.0) as client:
        found = {"ready_seconds": time.perf_counter() - began, "resident_mib": resident_mib(pid)}
        first_answers(client, users)
        found["answered_seconds"] = time.perf_counter() - began
        found["resident_mib_after_searches"] = resident_mib(pid)
    return found


def measured(memories: int, *, on_kafka: bool) -> dict[str, float]:
    """Return the measurements of a worker with `memories` memories."""
    users = min(SEARCHED_USERS, memories // MEMORIES_OF_A_USER)
    with tempfile.TemporaryDirectory() as name:
        folder, worker = Path(name), Path(name) / "worker"
        with (kafka_and_weaviate if on_kafka else embedded)(folder) as engines:
            began = time.perf_counter()
            with (
                running_worker(worker, **engines.settings) as (url, _),
                httpx.Client(base_url=url, timeout=DRAIN_SECONDS + 60) as client,
            ):
                publish(client, memories)
                at_once = size_of(worker) / memories
                time.sleep(RESTING_SECONDS)
                at_rest = size_of(worker) / memories
                kept_at_rest = {what: size_of(kept) / memories for what, kept in engines.folders.items()}
            found = {"memories": float(memories), "made_seconds": time.perf_counter() - began - RESTING_SECONDS}
            found |= {"folder_bytes_a_memory_at_once": at_once, "folder_bytes_a_memory_at_rest": at_rest}
            found |= {f"{what}_bytes_a_memory_at_rest": value for what, value in kept_at_rest.items()}
            found |= started(worker, engines, users)
            if engines.weaviate is not None:
                with (
                    running_worker(worker, **engines.settings) as (url, _),
                    httpx.Client(base_url=url, timeout=HOLDING_SECONDS) as client,
                ):
                    client.post(
                        "/v1/admin/drain", json={"timeout": HOLDING_SECONDS}
                    ).raise_for_status()  # all is written to the index
                    time.sleep(SETTLING_SECONDS)
                found |= {f"settled_{what}": value for what, value in started(worker, engines, users).items()}
                found["weaviate_resident_mib"] = resident_mib(engines.weaviate.pid)
            found["shards_bytes_a_memory"] = size_of(worker / "shards") / memories
            shutil.rmtree(worker / "shards")
            found |= {f"without_shards_{what}": value for what, value in started(worker, engines, users).items()}
        for what, kept in engines.folders.items():
            found[f"{what}_bytes_a_memory"] = size_of(kept) / memories
    return found


def main(sizes: tuple[int, ...] = SIZES, on: tuple[str, ...] = ("embedded",)) -> dict[str, object]:
    """Measure each size on each engine, in a folder and processes of its own."""
    results: dict[str, object] = {}
    for engine in on:
        rows = []
        for memories in sizes:
            rows.append(measured(memories, on_kafka=engine == "kafka"))
            print(f"{engine}: {', '.join(f'{what} {value:,.1f}' for what, value in rows[-1].items())}", flush=True)
        results[engine] = rows
    return results


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("memories", nargs="*", type=int, default=SIZES)
    parser.add_argument("--on-kafka", action="store_true", help="Kafka and Weaviate, not the embedded engine")
    asked = parser.parse_args()
    main(tuple(asked.memories), ("kafka",) if asked.on_kafka else ("embedded",))
