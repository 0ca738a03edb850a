"""The log on a real Kafka passes the suite of all logs."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from contract.log_suite import LogSuite

from schemas.log import NewRecord, Record
from streams.transports.kafka.log import KafkaLog

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from schemas.log import Appended


class WrittenByAnother(KafkaLog):
    """A log that appends nothing itself: everything that it reads comes from the broker."""

    def __init__(self, servers: Sequence[str]) -> None:
        super().__init__(servers)
        self._other = KafkaLog(servers)

    async def start(self) -> None:
        await super().start()
        await self._other.start()

    async def stop(self) -> None:
        await super().stop()
        await self._other.stop()

    async def append(self, records: Sequence[NewRecord]) -> list[Appended]:
        return await self._other.append(records)


class TestKafkaLogThatAnotherWrites(LogSuite):
    @pytest.fixture
    async def log(self, kafka: str) -> AsyncIterator[KafkaLog]:
        log = WrittenByAnother([kafka])
        await log.start()
        yield log
        await log.stop()


class TestKafkaLog(LogSuite):
    @pytest.fixture
    async def log(self, kafka: str) -> AsyncIterator[KafkaLog]:
        log = KafkaLog([kafka])
        await log.start()
        yield log
        await log.stop()

    async def test_what_was_appended_here_is_read_as_the_broker_has_it(self, kafka: str, log: KafkaLog):
        name = f"topic-{uuid4()}"
        await log.create_topic(name, 2)
        headers = (("ce_id", b"1"), ("ce_id", b"2"))
        records = [
            NewRecord(topic=name, partition=1, key=key, value=value, headers=headers)
            for key, value in ((b"u", b"one"), (None, b""), (b"u", b""))
        ]
        await asyncio.gather(*(log.append([record]) for record in records))
        other = KafkaLog([kafka])
        await other.start()
        mine, theirs = await log.read(name, 1, 0), await other.read(name, 1, 0)
        await other.stop()
        assert mine == theirs
        assert {type(record) for record in mine} == {Record}

    async def test_what_another_appended_in_between_is_read_in_its_place(self, kafka: str, log: KafkaLog):
        name = f"topic-{uuid4()}"
        await log.create_topic(name, 1)
        other = KafkaLog([kafka])
        await other.start()
        for value, writer in ((b"mine", log), (b"theirs", other), (b"mine again", log)):
            await writer.append([NewRecord(topic=name, partition=0, key=b"u", value=value)])
        await other.stop()
        found = await log.read(name, 0, 0)
        assert [record.value for record in found] == [b"mine", b"theirs", b"mine again"]

    async def test_workers_that_start_together_create_topics_together(self, kafka: str):
        logs = [KafkaLog([kafka]) for _ in range(6)]
        await asyncio.gather(*(log.start() for log in logs))
        for _ in range(8):
            name = f"topic-{uuid4()}"
            await asyncio.gather(*(log.create_topic(name, 8) for log in logs))
            assert [await log.partitions(name) for log in logs] == [8] * len(logs)
        await asyncio.gather(*(log.stop() for log in logs))
