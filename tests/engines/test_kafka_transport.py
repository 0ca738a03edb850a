"""The Kafka transport passes the suite of all transports, against a real Kafka."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

import pytest
from contract.log_suite import new
from contract.transport_suite import TransportSuite
from contract.transport_worker import PATIENCE_S, Worker

from streams.transports.kafka.log import KafkaLog

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

LOOKED_AT_S = 1.0
"""Faust looks for what hangs four times in it."""


class TestKafkaTransport(TransportSuite):
    scheme = "kafka"
    transport = "streams.transports.kafka.transport:Transport"

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

    async def test_partitions_that_are_idle_or_wait_for_their_agent_are_no_errors(
        self, worker: Callable[..., Worker], log: KafkaLog, topic: str, caplog: pytest.LogCaptureFixture
    ):
        async with worker(gate=asyncio.Event()).running() as one:
            await log.append([new(topic, b"waits"), new(topic, b"waits too")])
            async with asyncio.timeout(PATIENCE_S):
                while not one.app.consumer.assignment():  # noqa: ASYNC110 - Faust has no event for it
                    await asyncio.sleep(0.01)
            thread = one.app.consumer._thread
            for limit in ("fetch_request", "fetch_response", "stream", "commit"):
                setattr(thread, f"tp_{limit}_timeout_secs", 0)  # Faust's minutes
            caplog.clear()  # of a broker that has just started
            await asyncio.sleep(LOOKED_AT_S)
            assert [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == []

    async def test_who_leaves_has_committed_what_was_done_and_commits_nothing_more(
        self, worker: Callable[..., Worker], log: KafkaLog, topic: str
    ):
        await log.append([new(topic, b"0")])
        leaving, heir = worker(acknowledges=lambda event: event.value == b"0"), worker()
        async with leaving.running(), asyncio.timeout(3 * PATIENCE_S):
            await leaving.has(1)
            await log.append([new(topic, b"1")])
            await leaving.has(2)
            await leaving.app.consumer.leave()
            async with heir.running():
                assert await heir.has(1) == [(0, b"1")], "nobody waits for who has left"
                assert leaving.app.consumer.member_id is None
                leaving.events[1].ack()
                assert not await leaving.app.consumer.commit()
                await log.append([new(topic, b"2")])
                assert (await heir.has(2))[1:] == [(0, b"2")]
