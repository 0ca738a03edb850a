"""Kafka is away, comes back, or has a topic that does not suit: clear errors, and the log works again."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from aiokafka.admin import AIOKafkaAdminClient
from contract.log_suite import new, read_all
from support.free_ports import free_ports
from support.kafka_server import KafkaServer

from schemas.log import LogError, LogUnavailable
from streams.transports.kafka import topics
from streams.transports.kafka.log import KafkaLog

if TYPE_CHECKING:
    from pathlib import Path


async def test_a_broker_that_is_not_there_is_unavailable():
    [nobody] = free_ports(1)
    log = KafkaLog([f"127.0.0.1:{nobody}"], timeout_s=3)
    with pytest.raises(LogUnavailable, match="connecting"):
        await log.start()
    with pytest.raises(LogUnavailable, match="not started"):
        await log.partitions("any")


async def test_the_log_works_again_when_the_broker_is_back(kafka: str, tmp_path: Path):
    assert kafka  # another broker: this one is stopped
    port, controller = free_ports(2)
    server = KafkaServer(tmp_path, port, controller=controller)
    server.start()
    log = KafkaLog([server.address], timeout_s=120)
    await log.start()
    await log.create_topic("ledger", 1)
    await log.append([new("ledger", b"before")])
    server.stop()
    away = KafkaLog([server.address], timeout_s=2)
    with pytest.raises(LogUnavailable):
        await away.start()
    server.start()
    await log.append([new("ledger", b"after")])
    assert [record.value for record in await read_all(log, "ledger")] == [b"before", b"after"]
    await log.stop()
    server.stop()


async def test_a_topic_with_the_writers_time_is_refused(kafka: str):
    name = f"topic-{uuid4()}"
    admin = AIOKafkaAdminClient(bootstrap_servers=kafka)
    await admin.start()
    await topics.create(admin, name, 1, {"message.timestamp.type": "CreateTime"})
    await admin.close()
    log = KafkaLog([kafka])
    await log.start()
    with pytest.raises(LogError, match="set it to LogAppendTime"):
        await log.create_topic(name, 1)
    with pytest.raises(LogError, match="has no append time"):
        await log.append([new(name, b"x")])
    await log.stop()
