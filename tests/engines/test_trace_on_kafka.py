"""A trace goes through a real Kafka, and from the worker that is asked to the one that has the user."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import orjson
import pytest
from aiokafka import AIOKafkaProducer
from contract.telemetry.otlp_receiver import Receiver, running_receiver
from engines.several import SOON_SECONDS, Several, two_workers

from schemas.topics import CONVERSATIONS, partition_of

if TYPE_CHECKING:
    from pathlib import Path

TRACES = {f"u{number}": f"{number}" * 32 for number in range(1, 9)}
PRODUCED = "a" * 32


def spans_of(collector: Receiver, trace: str) -> list[Any]:
    return [span for span in collector.spans() if span.trace_id.hex() == trace]


async def until(collector: Receiver, trace: str, *names: str) -> list[Any]:
    """Wait until a trace has spans of these names."""
    async with asyncio.timeout(SOON_SECONDS):
        while not set(names) <= {span.name for span in spans_of(collector, trace)}:  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.1)
    return spans_of(collector, trace)


def servers(collector: Receiver) -> set[int]:
    """Return how many workers the requests were answered by, the one that was asked and who has the user."""
    return {sum(span.name == "POST /v1/memories" for span in spans_of(collector, one)) for one in TRACES.values()}


async def produce(two: Several, event: dict[str, str | bool], trace: str) -> None:
    """Append an event as a producer of any language does: past HTTP, in clear."""
    address = two.workers[0]._environment["MNEMOLOG_BROKER"].removeprefix("kafka://")
    producer = AIOKafkaProducer(bootstrap_servers=address)
    await producer.start()
    try:
        key = f"default/{event['user_id']}".encode()
        headers = [("traceparent", f"00-{trace}-b7ad6b7169203331-01".encode())]
        place = partition_of(key, 8)
        await producer.send_and_wait(CONVERSATIONS.name, orjson.dumps(event), key=key, partition=place, headers=headers)
    finally:
        await producer.stop()


@pytest.mark.asyncio
@pytest.mark.usefixtures("kafka_jars")
async def test_a_trace_leads_through_kafka_and_between_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with running_receiver() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "100")
        async with two_workers(tmp_path, "embedded") as two:
            for user, trace in TRACES.items():
                body = {"user_id": user, "content": "likes oolong tea"}
                answer = await two.ask(0, "POST", "/v1/memories", body, traceparent=f"00-{trace}-b7ad6b7169203331-01")
                assert answer.status_code == 201, answer.text
            for trace in TRACES.values():
                await until(collector, trace, "create_memory", "decide", "fold", "POST /v1/memories")
            async with asyncio.timeout(SOON_SECONDS):  # some users are the other worker's, and it is part of the trace
                while servers(collector) != {1, 2}:  # noqa: ASYNC110 - each worker sends its spans in its own time
                    await asyncio.sleep(0.1)
            event: dict[str, str | bool] = {
                "type": "TurnRecorded",
                "event_id": "e1",
                "user_id": "up",
                "session_id": "s",
                "role": "user",
                "content": "I like sencha tea",
                "infer": False,
            }
            await produce(two, event, PRODUCED)
            await until(collector, PRODUCED, "extract", "decide", "fold")
            assert await two.found(1, "up", "sencha") == ["I like sencha tea"]
