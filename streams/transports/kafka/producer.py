"""The producer of the log: how it starts, and how it stops within a bounded time."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from schemas.topics import MAX_LETTER_BYTES

if TYPE_CHECKING:
    from collections.abc import Mapping

FLUSH_S: Final = 5.0
"""How long a producer that stops may flush."""


async def started(connection: Mapping[str, Any], flush_s: float = FLUSH_S) -> AIOKafkaProducer:
    """Return an idempotent producer that waits for all in-sync replicas. Raises Kafka's errors."""
    producer = AIOKafkaProducer(**connection, acks="all", enable_idempotence=True, max_request_size=MAX_LETTER_BYTES)
    try:
        await producer.start()
    except BaseException:
        await stop(producer, flush_s)  # aiokafka leaves it open, and warns when it is collected
        raise
    return producer


async def stop(producer: AIOKafkaProducer, flush_s: float = FLUSH_S) -> None:
    """Flush and close. What is not sent within `flush_s` is given up; its callers have had an error."""
    try:
        async with asyncio.timeout(flush_s):
            await producer.stop()
    except (KafkaError, TimeoutError):
        pass  # `stop` does nothing a second time
    else:
        return
    if (sender := producer._sender.sender_task) is not None:  # noqa: SLF001
        sender.cancel()
    with suppress(KafkaError, TimeoutError):
        async with asyncio.timeout(flush_s):
            await producer.client.close()
    if sender is not None:
        await asyncio.wait({sender}, timeout=flush_s)
