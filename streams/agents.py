"""The three agents as Faust runs them: receive, handle, acknowledge when done."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import faust
from faust.types import TP

from schemas.log import Position, Record
from schemas.topics import GLOBALS, INBOX, INPUTS, LEDGER
from streams.delivery import Delivery

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from streams.observe import Observe
    from streams.project import Project
    from streams.remember import Remember

COMMIT_EVERY_SECONDS = 0.5
ONE_DAY_SECONDS = 86_400.0
LONGEST_TURN_SECONDS = 0.001
"""An agent that never has to wait lets others have the event loop so often: a request may be one of them."""


def make_app(
    *,
    name: str,
    broker: str,
    partitions: int,
    folder: Path,
    observe: Observe,
    remember: Remember,
    project: Project,
    failed: Callable[[BaseException], None],
    took: Callable[[str, float], None] = lambda _step, _seconds: None,
) -> faust.App:
    """Build the Faust app of one worker; nothing starts yet.

    An event is acknowledged by the handler, when its work is durable: `stream_wait_empty` off and `noack` keep Faust
    from doing so by itself. An error that escapes a handler goes to `failed`, and the record stays open. `took` is told
    how many seconds each step took to take a record in.
    """
    app = faust.App(
        name,
        broker=broker,
        datadir=str(folder),
        topic_partitions=partitions,
        web_enabled=False,
        stream_wait_empty=False,
        stream_buffer_maxsize=4096,
        broker_commit_interval=COMMIT_EVERY_SECONDS,
        broker_max_poll_interval=ONE_DAY_SECONDS,
        consumer_auto_offset_reset="earliest",
        producer_acks=-1,
    )

    def consume(topics: tuple[str, ...], handler: Observe | Remember | Project, label: str) -> None:
        channel = app.topic(*topics, key_serializer="raw", value_serializer="raw", key_type=bytes, value_type=bytes)

        async def run(stream: Any) -> None:  # noqa: ANN401 - Faust's stream is untyped
            turn = time.perf_counter()
            async for event in stream.noack().events():
                began = time.perf_counter()
                if began - turn > LONGEST_TURN_SECONDS:
                    await asyncio.sleep(0)
                    turn = began = time.perf_counter()
                try:
                    await handler.handle(_delivery(event))
                    took(label, time.perf_counter() - began)
                except Exception as error:  # noqa: BLE001 - the boundary of a step: the record stays open
                    failed(error)
                    return

        app.agent(channel, name=label)(run)

    consume(tuple(t.name for t in INPUTS), observe, "observe")
    consume((INBOX.name,), remember, "remember")
    consume((LEDGER.name, GLOBALS.name), project, "project")

    async def revoked(*arguments: Any, **_: Any) -> None:  # noqa: ANN401 - the app, and the partitions
        for partition in sorted({tp.partition for tp in arguments[-1]}):
            observe.revoke(partition)
            remember.revoke(partition)

    app.on_partitions_revoked.connect(revoked)
    return app


def handled(app: faust.App, topic: str, partition: int) -> int:
    """Return the offset before which everything of a topic's partition is done, in this worker's assignment."""
    consumer: Any = app.consumer
    return int(consumer.handled(TP(topic, partition)))


def _delivery(event: Any) -> Delivery:  # noqa: ANN401 - Faust's event is untyped
    message = event.message
    record = Record(
        position=Position(message.topic, message.partition, message.offset),
        recorded_at=datetime.fromtimestamp(message.timestamp, UTC),
        key=message.key,
        value=message.value,
        headers=tuple(message.headers.items() if isinstance(message.headers, dict) else message.headers or ()),
    )
    return Delivery(record, event.ack)
