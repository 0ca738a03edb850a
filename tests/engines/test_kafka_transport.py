"""The Kafka transport passes the suite of all transports, against a real Kafka."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from contract.transport_suite import TransportSuite
from contract.transport_worker import PATIENCE_S, Worker

from streams.transports.kafka_log import KafkaLog

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


class TestKafkaTransport(TransportSuite):
    scheme = "kafka"
    transport = "streams.transports.kafka:Transport"

    @pytest.fixture
    async def log(self, kafka: str) -> AsyncIterator[KafkaLog]:
        log = KafkaLog([kafka])
        await log.start()
        yield log
        await log.stop()

    @pytest.fixture
    def url(self, kafka: str) -> str:
        return f"kafka://{kafka}"

    async def rebalance(self, worker: Worker) -> None:
        consumer = worker.app.consumer
        before = worker.app.consumer_generation_id
        thread = consumer._thread
        thread.thread_loop.call_soon_threadsafe(thread._consumer._coordinator.request_rejoin)
        async with asyncio.timeout(PATIENCE_S):
            while worker.app.consumer_generation_id == before:  # noqa: ASYNC110 - Faust has no event for it
                await asyncio.sleep(0.01)
