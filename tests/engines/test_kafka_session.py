"""A worker on a real Kafka that does not come along in a rebalance: the group goes on without it, and it knows."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from contract.transport_worker import PARTITIONS, PATIENCE_S, Worker

from streams.transports.kafka.log import KafkaLog

if TYPE_CHECKING:
    from pathlib import Path

HEARTBEAT_SECONDS = 1.0


async def test_answers_to_heartbeats_do_not_count_while_the_group_waits_for_who_does_not_let_go(
    kafka: str, tmp_path: Path
):
    group, topic, log = f"group-{uuid4()}", f"topic-{uuid4()}", KafkaLog([kafka])
    await log.start()
    await log.create_topic(topic, PARTITIONS)
    letting_go, may_go = asyncio.Event(), asyncio.Event()

    async def busy(*_: Any, **__: Any) -> None:
        letting_go.set()
        await may_go.wait()

    first, second = (
        Worker(f"kafka://{kafka}", group, topic, str(tmp_path / name), heartbeat_seconds=HEARTBEAT_SECONDS)
        for name in ("first", "second")
    )
    async with first.running(), asyncio.timeout(2 * PATIENCE_S), AsyncExitStack() as stack:
        stack.callback(may_go.set)
        consumer = first.app.consumer
        while not consumer.assignment():  # noqa: ASYNC110 - Faust has no event for it
            await asyncio.sleep(0.01)
        first.app.on_partitions_revoked.connect(busy)
        joining = asyncio.create_task(stack.enter_async_context(second.running()))
        await letting_go.wait()
        began = time.monotonic()
        await asyncio.sleep(4 * HEARTBEAT_SECONDS)
        renewed = consumer._thread.renewed
        may_go.set()
        while consumer._thread.renewed < began + 4 * HEARTBEAT_SECONDS:  # noqa: ASYNC110 - it is in the group again
            await asyncio.sleep(0.01)
        await joining
    assert renewed < began
    await log.stop()
