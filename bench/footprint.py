"""Start-up, resident memory and disk of a worker that holds 10,000 and 100,000 memories.

    python bench/footprint.py [MEMORIES...]

Turns of 1 in 100 as many users are published over HTTP and remembered word for word, with the built-in embedder's
vectors. Then the worker is stopped and started again. Printed are the seconds until it is ready, the resident memory of
its own process (not of the embedder's child) when it is and after a search for each of 50 users, and the bytes a memory
of log and shards.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import httpx
import orjson

from bench.publish import running_worker

SIZES = (10_000, 100_000)
MEMORIES_OF_A_USER = 100
BATCH = 500
SEARCHED_USERS = 50
DRAIN_SECONDS = 3_600.0
SUBJECTS = ("the harbour", "my sister", "Thursday's choir", "the old bakery", "a blue bicycle", "the night train")


def publish(client: httpx.Client, memories: int) -> None:
    """Publish so many turns, each to be remembered as it is, and wait until all can be found."""
    users = memories // MEMORIES_OF_A_USER
    for start in range(0, memories, BATCH):
        body = [
            {
                "type": "TurnRecorded",
                "event_id": f"t-{n}",
                "user_id": f"u{n % users}",
                "session_id": "s",
                "role": "user",
                "content": f"Note {n}: about {SUBJECTS[n % len(SUBJECTS)]} I told her {n * 7919 % 99_991} things",
                "infer": False,
            }
            for n in range(start, start + BATCH)
        ]
        client.post("/v1/events", content=orjson.dumps(body), headers={"content-type": "application/json"})
    drained = client.post("/v1/admin/drain", json={"timeout": DRAIN_SECONDS}).json()
    assert drained["memories"] == memories, drained


def resident_mib(pid: int) -> float:
    """Return the resident memory of a process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


def size_of(folder: Path) -> int:
    """Return the bytes of a folder's files."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def measured(memories: int) -> dict[str, float]:
    """Return what a worker with so many memories takes."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with running_worker(folder) as (url, _), httpx.Client(base_url=url, timeout=DRAIN_SECONDS + 60) as client:
            publish(client, memories)
        began = time.perf_counter()
        with running_worker(folder) as (url, pid), httpx.Client(base_url=url, timeout=60.0) as client:
            found = {"memories": float(memories), "ready_seconds": time.perf_counter() - began}
            found["resident_mib"] = resident_mib(pid)
            for user in range(min(SEARCHED_USERS, memories // MEMORIES_OF_A_USER)):
                asked = {"user_id": f"u{user}", "query": "the night train", "recall": False}
                assert client.post("/v1/search", json=asked).json()["results"]
            found["resident_mib_after_searches"] = resident_mib(pid)
        found["log_bytes_a_memory"] = size_of(folder / "log") / memories
        found["shard_bytes_a_memory"] = size_of(folder / "shards") / memories
    return found


def main(sizes: tuple[int, ...] = SIZES) -> dict[str, object]:
    """Measure each size, in a folder and processes of its own."""
    results = []
    for memories in sizes:
        results.append(measured(memories))
        print(", ".join(f"{what} {value:,.1f}" for what, value in results[-1].items()), flush=True)
    return {"sizes": results}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("memories", nargs="*", type=int, default=SIZES)
    main(tuple(parser.parse_args().memories))
