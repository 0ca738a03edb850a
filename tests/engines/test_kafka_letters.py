"""On a real Kafka what the brokers take becomes a dead letter, however it was compressed."""

from __future__ import annotations

from uuid import uuid4

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from contract.log_suite import new

from mnemolog.operations.dead_letters import DeadLetters
from schemas.log import LogError, RecordTooLarge
from schemas.messages.dead_letters import TOO_LARGE
from schemas.topics import DEAD_LETTERS, MAX_LETTER_BYTES, MAX_RECORD_BYTES
from streams.delivery.dead_letter import KEPT_BYTES, put_aside
from streams.transports.kafka.log import KafkaLog

PARTITIONS = 4
OVERHEAD_BYTES = 100
"""Of a batch that holds one record."""


@pytest.mark.parametrize(
    ("compression", "size"), [(None, MAX_RECORD_BYTES - OVERHEAD_BYTES), ("gzip", 8 * MAX_RECORD_BYTES)]
)
async def test_the_largest_record_that_a_producer_can_send_becomes_a_dead_letter(
    kafka: str, compression: str | None, size: int
):
    log, topic = KafkaLog([kafka]), f"topic-{uuid4()}"
    await log.start()
    await log.create_topic(topic, 1)
    await log.create_topic(DEAD_LETTERS.name, PARTITIONS)
    value = b"not an event " * (size // 13)
    producer = AIOKafkaProducer(
        bootstrap_servers=kafka, max_request_size=2 * size, max_batch_size=2 * size, compression_type=compression
    )
    await producer.start()
    await producer.send_and_wait(topic, value, key=b"default/u1")
    await producer.stop()
    [record] = await log.read(topic, 0, 0)
    await put_aside(log, record, "decode", "neither single-object Avro nor JSON" * 100)
    [letter] = [x for x in await DeadLetters(log).waiting() if x.topic == topic]
    assert (letter.value, letter.key) == (value, b"default/u1")
    await log.stop()


async def test_a_record_that_is_too_large_for_its_topic_is_refused_before_it_is_sent(kafka: str):
    log, topic = KafkaLog([kafka]), f"topic-{uuid4()}"
    await log.start()
    await log.create_topic(topic, 1)
    for size in (MAX_RECORD_BYTES + 1, MAX_RECORD_BYTES - 10):
        with pytest.raises(RecordTooLarge, match="at most 1048576 are allowed"):
            await log.append([new(topic, b"x"), new(topic, b"x" * size)])
    [appended] = await log.append([new(topic, b"x")])
    assert appended.position.offset == 0
    await log.stop()


async def test_a_record_larger_than_any_letter_leaves_its_beginning_and_stops_nothing(kafka: str):
    log, topic = KafkaLog([kafka]), f"topic-{uuid4()}"
    await log.start()
    await log.create_topic(topic, 1)
    await log.create_topic(DEAD_LETTERS.name, PARTITIONS)
    value = b"not an event " * (2 * MAX_LETTER_BYTES // 13)
    producer = AIOKafkaProducer(
        bootstrap_servers=kafka, max_request_size=2 * len(value), max_batch_size=2 * len(value), compression_type="gzip"
    )
    await producer.start()
    await producer.send_and_wait(topic, value, key=b"default/u1")
    await producer.stop()
    [record] = await log.read(topic, 0, 0)
    await put_aside(log, record, "decode", "neither single-object Avro nor JSON")
    [letter] = [x for x in await DeadLetters(log).waiting() if x.topic == topic]
    assert (letter.reason, letter.value) == (TOO_LARGE, value[:KEPT_BYTES])
    await log.stop()


async def test_what_a_broker_refuses_for_its_size_leaves_a_log_that_appends(kafka: str):
    topic, admin = f"topic-{uuid4()}", AIOKafkaAdminClient(bootstrap_servers=kafka)
    await admin.start()
    narrow = {"max.message.bytes": "1000", "message.timestamp.type": "LogAppendTime"}
    await admin.create_topics([NewTopic(topic, 1, 1, topic_configs=narrow)])
    await admin.close()
    log = KafkaLog([kafka])
    await log.start()
    await log.append([new(topic, b"x")])
    with pytest.raises(LogError, match="Kafka refuses"):
        await log.append([new(topic, b"x" * 2000)])
    [appended] = await log.append([new(topic, b"x")])
    assert appended.position.offset == 1
    await log.stop()
