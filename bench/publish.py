"""`POST /v1/events` in batches of 500 against the transport's own send of the same bytes, and the log's append of them.

    python bench/publish.py

A worker runs in a process of its own, and one client posts to it over HTTP on loopback, batch after batch. It is
compared with `SqliteLog.append` of the records that the worker makes of the events, in batches of 500 too. `MEMORIZE`
is off, because otherwise the worker would remember at the same time as it accepts events. The send is what an agent of
Faust would do: it gives 500 records to the producer of `sqlite://`, and waits until all are acknowledged. The append
below it is one call for 500 records. Both are measured before and after each round, because the machine's speed
changes.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import faust
import httpx
import orjson

from bench.latency import free_port
from bench.rounds import Rounds
from mnemolog.publishing.publisher import headers_of
from schemas import codec
from schemas.inputs.input_events import parse_event
from schemas.log import NewRecord
from schemas.topics import CONVERSATIONS, partition_of
from streams.transports.sqlite.log import SqliteLog

if TYPE_CHECKING:
    from collections.abc import Iterator

BATCH = 500
EVENTS = 10_000
PARTITIONS = 8
ROUNDS = 5
USERS = 200
START_SECONDS = 60.0
STOP_SECONDS = 60.0


def events(run: int) -> list[dict[str, Any]]:
    """Return turns as a service would post them; each run has ids of its own."""
    return [
        {
            "type": "TurnRecorded",
            "event_id": f"t-{run}-{n}",
            "user_id": f"u{n % USERS}",
            "agent_id": "luna",
            "session_id": f"s{n % USERS}",
            "role": "user",
            "content": f"Message {n}: on Sundays I like to walk along the river with my sister and her two dogs.",
            "occurred_at": "2026-01-05T08:00:00Z",
        }
        for n in range(EVENTS)
    ]


def records(posted: list[dict[str, Any]]) -> list[NewRecord]:
    """Return the records that the worker appends for the events."""
    found = []
    for event in posted:
        message = parse_event(event, tenant="default", accepted_at=datetime.now(UTC), event_id=event["event_id"])
        key = message.envelope.owner.key
        found.append(
            NewRecord(
                topic=CONVERSATIONS.name,
                partition=partition_of(key, PARTITIONS),
                key=key,
                value=codec.encode(message),
                headers=headers_of(message),
            )
        )
    return found


@contextlib.contextmanager
def running_worker(folder: Path, start_seconds: float = START_SECONDS, /, **settings: str) -> Iterator[tuple[str, int]]:
    """Run a worker while the block lasts; yield its URL and process id."""
    port = free_port()
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MNEMOLOG_")}
    command = [sys.executable, "-m", "mnemolog", "up", "--data", str(folder), "--port", str(port)]
    own = {"MNEMOLOG_LOG_LEVEL": "warning"} | {f"MNEMOLOG_{name}": value for name, value in settings.items()}
    process = subprocess.Popen(command, env=environment | own)  # noqa: S603 - our own command
    url = f"http://127.0.0.1:{port}"
    try:
        until = time.monotonic() + start_seconds
        while not _is_ready(url):
            assert process.poll() is None, "the worker has ended"
            assert time.monotonic() < until, "the worker does not start"
            time.sleep(0.1)
        yield url, process.pid
    finally:
        process.terminate()
        process.wait(STOP_SECONDS)


def _is_ready(url: str) -> bool:
    try:
        return httpx.get(f"{url}/health/ready").is_success
    except httpx.TransportError:
        return False


def posting(client: httpx.Client, posted: list[dict[str, Any]]) -> float:
    """Return how many events per second are accepted, and wait until the worker has read them all."""
    bodies = [orjson.dumps(posted[start : start + BATCH]) for start in range(0, len(posted), BATCH)]
    began = time.perf_counter()
    for body in bodies:
        answer = client.post("/v1/events", content=body, headers={"content-type": "application/json"})
        assert answer.status_code == 202, answer.text
    seconds = time.perf_counter() - began
    client.post("/v1/admin/drain").raise_for_status()
    return len(posted) / seconds


async def appending(log: SqliteLog, spelt: list[NewRecord]) -> float:
    """Return how many of the same records per second the log appends."""
    began = time.perf_counter()
    for start in range(0, len(spelt), BATCH):
        await log.append(spelt[start : start + BATCH])
    return len(spelt) / (time.perf_counter() - began)


async def sending(producer: Any, spelt: list[NewRecord]) -> float:  # noqa: ANN401 - Faust's producer is untyped
    """Return how many of the same records per second the transport sends."""
    began = time.perf_counter()
    for start in range(0, len(spelt), BATCH):
        sent = [
            await producer.send(r.topic, r.key, r.value, r.partition, None, list(r.headers))
            for r in spelt[start : start + BATCH]
        ]
        await asyncio.gather(*sent)
    return len(spelt) / (time.perf_counter() - began)


async def main() -> dict[str, object]:
    """Measure in alternating rounds."""
    send = Rounds("POST /v1/events, against the transport's send", 0.2)
    append = Rounds("POST /v1/events, against the log's append", None)
    with tempfile.TemporaryDirectory() as name:
        log = SqliteLog.open(Path(name) / "log")
        await log.create_topic(CONVERSATIONS.name, PARTITIONS)
        app = faust.App("sending", broker=f"sqlite://{log.directory}", datadir=name, web_enabled=False)
        producer = app.transport.create_producer()
        await producer.start()
        running = running_worker(Path(name) / "worker", MEMORIZE="false")
        with running as (url, _), httpx.Client(base_url=url, timeout=60.0) as client:
            for run in range(ROUNDS):
                posted = events(run)
                spelt = records(posted)
                sent, appended = await sending(producer, spelt), await appending(log, spelt)
                ours = posting(client, posted)
                send.add(ours, (sent + await sending(producer, spelt)) / 2)
                append.add(ours, (appended + await appending(log, spelt)) / 2)
        await producer.stop()
        log.close()
    return {"send": send.result(), "append": append.result()}


if __name__ == "__main__":
    asyncio.run(main())
