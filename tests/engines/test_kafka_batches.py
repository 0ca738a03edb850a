"""On a real Kafka a batch is bounded as it is sent; what it unpacks to is bounded by what compression can do."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
from uuid import uuid4

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import MessageSizeTooLargeError

from schemas.topics import MAX_RECORD_BYTES
from streams.transports.kafka.log import KafkaLog
from streams.transports.kafka.topics import BATCH_BYTES, misfits

MIB = 1 << 20
UNPACKED_MIB = 96
"""Of a batch of less than half a MiB: more than 200:1."""


async def send(kafka: str, topic: str, values: list[bytes], compression: str | None) -> None:
    """Send values as one batch."""
    size = 2 * sum(map(len, values)) + MIB
    producer = AIOKafkaProducer(
        bootstrap_servers=kafka, max_request_size=size, max_batch_size=size, compression_type=compression
    )
    await producer.start()
    try:
        batch = producer.create_batch()
        for value in values:
            assert batch.append(key=b"default/u1", value=value, timestamp=None) is not None
        await (await producer.send_batch(batch, topic, partition=0))
    finally:
        await producer.stop()


async def test_our_topics_take_no_larger_batch_whatever_the_cluster_would(kafka: str):
    log, topic = KafkaLog([kafka]), f"topic-{uuid4()}"
    await log.start()
    await log.create_topic(topic, 1)
    admin = AIOKafkaAdminClient(bootstrap_servers=kafka)
    await admin.start()
    assert await misfits(admin, topic, {"max.message.bytes": str(BATCH_BYTES)}) == []
    [found] = await admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)])
    [source] = [entry[3] for entry in found.resources[0][4] if entry[0] == "max.message.bytes"]
    assert source == 1, "it is the topic's own, not the cluster's default"
    await admin.close()
    with pytest.raises(MessageSizeTooLargeError):
        await send(kafka, topic, [b"x" * (MAX_RECORD_BYTES + 100)], None)
    await log.stop()


async def test_a_batch_that_unpacks_200_fold_takes_its_unpacked_size_a_few_times_and_gives_it_back(kafka: str):
    """The limit that remains: aiokafka unpacks a batch as a whole. docs/explanation/security.md says what it takes."""
    log, topic = KafkaLog([kafka]), f"topic-{uuid4()}"
    await log.start()
    await log.create_topic(topic, 1)
    await send(kafka, topic, [b"not an event " * (MIB // 13)] * UNPACKED_MIB, "gzip")
    gc.collect()
    tracemalloc.start()
    try:
        start, unpacked = 0, 0
        while start < UNPACKED_MIB:
            records = await asyncio.wait_for(log.read(topic, 0, start), 60)
            unpacked += sum(len(record.value) for record in records)
            start = records[-1].position.offset + 1
        _, peak = tracemalloc.get_traced_memory()
        del records
        await log.stop()
        gc.collect()
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert unpacked > (UNPACKED_MIB - 1) * MIB
    print(f"peak {peak / MIB:.0f} MiB, kept {kept / MIB:.0f} MiB of {UNPACKED_MIB} MiB unpacked")  # noqa: T201
    assert peak < 4 * UNPACKED_MIB * MIB
    assert kept < UNPACKED_MIB * MIB / 4
