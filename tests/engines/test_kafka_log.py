"""The log on a real Kafka passes the suite of all logs."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from contract.log_suite import TrimmedLogSuite

from streams.transports.kafka_log import KafkaLog

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


class TestKafkaLog(TrimmedLogSuite):
    @pytest.fixture
    async def log(self, kafka: str) -> AsyncIterator[KafkaLog]:
        log = KafkaLog([kafka])
        await log.start()
        yield log
        await log.stop()

    async def test_workers_that_start_together_create_topics_together(self, kafka: str):
        logs = [KafkaLog([kafka]) for _ in range(6)]
        await asyncio.gather(*(log.start() for log in logs))
        for _ in range(8):
            name = f"topic-{uuid4()}"
            await asyncio.gather(*(log.create_topic(name, 8) for log in logs))
            assert [await log.partitions(name) for log in logs] == [8] * len(logs)
        await asyncio.gather(*(log.stop() for log in logs))
