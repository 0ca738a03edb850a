"""A producer that is given up holds up nobody, and is closed; Kafka itself is in tests/engines."""

from __future__ import annotations

import asyncio
import gc
from functools import partial
from itertools import count
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from aiokafka.errors import KafkaConnectionError

from schemas.log import LogUnavailable, NewRecord, Record
from streams.transports.kafka import producer
from streams.transports.kafka.log import KafkaLog
from streams.transports.kafka.reader import TopicReader

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

SILENT, HEALTHY = 0, 1


class HalfSilentProducer:
    """What aiokafka's does while one partition has no leader: its batch is never flushed."""

    made: list[HalfSilentProducer]
    starts_slowly = False

    def __init__(self, **_: Any) -> None:
        self.made.append(self)
        self.closed = False
        self.offsets, self.waiting = count(), list[asyncio.Future[Any]]()
        self.client = SimpleNamespace(close=self._close)

    async def start(self) -> None:
        """Start the sender."""
        self._sender = SimpleNamespace(sender_task=asyncio.ensure_future(asyncio.Event().wait()))
        if self.starts_slowly:
            await asyncio.Event().wait()

    async def send(self, topic: str, _value: bytes, *, partition: int, **_: Any) -> asyncio.Future[Any]:
        """Return what is acknowledged at once, or never."""
        acknowledged = asyncio.get_running_loop().create_future()
        if partition == HEALTHY:
            at = {"offset": next(self.offsets), "timestamp": 1, "timestamp_type": 1}
            acknowledged.set_result(SimpleNamespace(topic=topic, partition=partition, **at))
        else:
            self.waiting.append(acknowledged)
        return acknowledged

    async def stop(self) -> None:
        """Flush, which takes for ever."""
        if self.waiting:
            await asyncio.Event().wait()
        self._sender.sender_task.cancel()
        await self._close()

    async def _close(self) -> None:
        self.closed = True


@pytest.fixture
async def log(monkeypatch: pytest.MonkeyPatch) -> KafkaLog:
    HalfSilentProducer.made = []
    monkeypatch.setattr(producer, "AIOKafkaProducer", HalfSilentProducer)
    log = KafkaLog(["nobody:1"], timeout_s=0.1, flush_s=0.3)
    log._partitions = {"t": 2}
    log._producer = await producer.started({})
    return log


def record(partition: int) -> list[NewRecord]:
    return [NewRecord(topic="t", partition=partition, key=b"k", value=b"v")]


async def test_a_healthy_partition_does_not_wait_for_the_flush_of_a_silent_one(log: KafkaLog):
    with pytest.raises(LogUnavailable):
        await log.append(record(SILENT))
    assert await log.append(record(HEALTHY))  # within 0.1 s
    first, second = HalfSilentProducer.made
    assert not first.closed
    await log.stop()
    assert (first.closed, second.closed) == (True, True)


async def test_a_producer_on_which_nothing_was_sent_is_not_doubted(log: KafkaLog, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(LogUnavailable):
        await log.append(record(SILENT))
    monkeypatch.setattr(HalfSilentProducer, "starts_slowly", True)
    with pytest.raises(LogUnavailable):
        await log.append(record(HEALTHY))  # it waits for a new producer
    monkeypatch.setattr(HalfSilentProducer, "starts_slowly", False)
    assert await log.append(record(HEALTHY))
    third = HalfSilentProducer.made[-1]
    async with log._replacing:
        waiting = asyncio.ensure_future(log.append(record(HEALTHY)))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    assert await log.append(record(HEALTHY))
    assert HalfSilentProducer.made[-1] is third
    await log.stop()


@pytest.mark.parametrize("begin", [producer.started, partial(TopicReader.start, "t", 1)])
async def test_what_cannot_connect_leaves_nothing_open(begin: Callable[[dict[str, Any]], Awaitable[object]]):
    said: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: said.append(context))
    with pytest.raises(KafkaConnectionError):
        await begin({"bootstrap_servers": ["127.0.0.1:9"]})
    gc.collect()  # aiokafka complains when it collects what was left open
    assert said == []


class Reader:
    """What a broker says of the partition, whatever was appended."""

    first, last = 0, 3

    async def end(self, _: int) -> int:
        """Return the end that the test says."""
        return self.last

    async def earliest(self, _: int) -> int:
        """Return the beginning that the test says."""
        return self.first

    async def read(self, *_: object) -> list[Record]:
        """Return nothing: the broker was asked."""
        return []

    async def stop(self) -> None:
        """Do nothing."""


async def appended_before(log: KafkaLog, monkeypatch: pytest.MonkeyPatch) -> Reader:
    reader = Reader()
    monkeypatch.setattr(log, "_readers", {"t": reader})
    monkeypatch.setattr(log, "_admin", SimpleNamespace(delete_records=AsyncNothing(), close=AsyncNothing()))
    await log.append(record(HEALTHY) * 3)
    assert (await log.earliest("t", HEALTHY), await log.end("t", HEALTHY)) == (0, 3)
    assert len(await log.read("t", HEALTHY, 0)) == 3
    return reader


class AsyncNothing:
    """A call that succeeds."""

    async def __call__(self, *_: object) -> None:
        """Return nothing."""


async def test_what_was_removed_is_read_no_more(log: KafkaLog, monkeypatch: pytest.MonkeyPatch):
    await appended_before(log, monkeypatch)
    await log.drop_before("t", HEALTHY, 2)
    assert await log.read("t", HEALTHY, 0) == []
    await log.stop()


async def test_what_the_broker_has_removed_is_read_no_more(log: KafkaLog, monkeypatch: pytest.MonkeyPatch):
    (await appended_before(log, monkeypatch)).first = 1
    assert await log.earliest("t", HEALTHY) == 1
    assert await log.read("t", HEALTHY, 0) == []
    await log.stop()


async def test_what_was_in_a_topic_of_the_same_name_is_read_no_more(log: KafkaLog, monkeypatch: pytest.MonkeyPatch):
    (await appended_before(log, monkeypatch)).last = 2
    assert await log.end("t", HEALTHY) == 2
    assert await log.read("t", HEALTHY, 0) == []
    await log.stop()


async def test_a_reader_that_connects_while_the_log_is_stopped_is_closed(
    log: KafkaLog, monkeypatch: pytest.MonkeyPatch
):
    reader, connecting, may_connect, closed = Reader(), asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def started(*_: object) -> Reader:
        connecting.set()
        await may_connect.wait()
        return reader

    async def stop() -> None:
        closed.set()

    monkeypatch.setattr(TopicReader, "start", started)
    monkeypatch.setattr(log, "_admin", SimpleNamespace(close=AsyncNothing()))
    monkeypatch.setattr(log, "_timeout_s", 20.0)
    monkeypatch.setattr(reader, "stop", stop)
    reading = asyncio.ensure_future(log.read("t", HEALTHY, 0))
    await connecting.wait()
    await log.stop()
    may_connect.set()
    with pytest.raises(LogUnavailable, match="stopped"):
        await reading
    assert closed.is_set()
    assert log._readers == {}
