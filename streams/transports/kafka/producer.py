"""The start and stop of a producer: nothing stays open, and stopping takes a bounded time."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from aiokafka.errors import KafkaError

from streams.transports.kafka.aiokafka_parts import sender_of

if TYPE_CHECKING:
    from aiokafka import AIOKafkaProducer

FLUSH_S: Final = 5.0
"""How long a stopping producer may flush."""


async def start_producer(producer: AIOKafkaProducer, flush_s: float = FLUSH_S) -> AIOKafkaProducer:
    """Start a producer and return it. Raises Kafka's errors after stopping it."""
    try:
        await producer.start()
    except BaseException:
        await stop_producer(producer, flush_s)  # aiokafka leaves it open, and warns when it is freed
        raise
    return producer


async def stop_producer(producer: AIOKafkaProducer, flush_s: float = FLUSH_S) -> None:
    """Flush and close. Records that are not sent within `flush_s` are dropped; their callers have received an error."""
    try:
        async with asyncio.timeout(flush_s):
            await producer.stop()
    except (KafkaError, TimeoutError):
        pass  # `stop` does nothing a second time
    else:
        return
    if (sender := sender_of(producer)) is not None:
        sender.cancel()
    with suppress(KafkaError, TimeoutError):
        async with asyncio.timeout(flush_s):
            await producer.client.close()
    if sender is not None:
        await asyncio.wait({sender}, timeout=flush_s)
