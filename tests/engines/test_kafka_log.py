"""The log on a real Kafka passes the suite of all logs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from contract.log_suite import LogSuite

from streams.transports.kafka_log import KafkaLog

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


class TestKafkaLog(LogSuite):
    @pytest.fixture
    async def log(self, kafka: str) -> AsyncIterator[KafkaLog]:
        log = KafkaLog([kafka])
        await log.start()
        yield log
        await log.stop()
