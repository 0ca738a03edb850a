"""A producer of the log: started or closed again, and stopped within a bounded time."""

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
"""For which a producer that is stopped may still send."""


async def started(connection: Mapping[str, Any]) -> AIOKafkaProducer:
    """Return an idempotent producer that waits for all in-sync replicas. Raises Kafka's errors, and leaves nothing."""
    producer = AIOKafkaProducer(**connection, acks="all", enable_idempotence=True, max_request_size=MAX_LETTER_BYTES)
    try:
        await producer.start()
    except BaseException:
        await stop(producer)  # aiokafka leaves it open, and complains of it when it is collected
        raise
    return producer


async def stop(producer: AIOKafkaProducer) -> None:
    """Flush and close; what a broker does not take within FLUSH_S is left, its callers were told."""
    try:
        async with asyncio.timeout(FLUSH_S):
            await producer.stop()
    except (KafkaError, TimeoutError):
        pass  # `stop` does nothing a second time
    else:
        return
    if (sender := producer._sender.sender_task) is not None:  # noqa: SLF001
        sender.cancel()
    with suppress(KafkaError, TimeoutError):
        async with asyncio.timeout(FLUSH_S):
            await producer.client.close()
    if sender is not None:
        await asyncio.wait({sender}, timeout=FLUSH_S)
