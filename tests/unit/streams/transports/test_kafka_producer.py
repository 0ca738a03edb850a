"""A producer that is given up holds up nobody, and is closed; Kafka itself is in tests/engines."""

from __future__ import annotations

import asyncio
import gc
from itertools import count
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from aiokafka.errors import KafkaConnectionError

from schemas.log import LogUnavailable, NewRecord, Record
from streams.sealing.user_keys import ARRIVAL_SECONDS
from streams.transports.kafka.clients import KafkaClients
from streams.transports.kafka.log import APPEND_S, KafkaLog
from streams.transports.kafka.producer import FLUSH_S, start_producer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

SILENT, HEALTHY = 0, 1


class HalfSilentProducer:
    """What aiokafka's does while one partition has no leader: its batch is never flushed."""

    def __init__(self, *, starts_slowly: bool) -> None:
        self.starts_slowly = starts_slowly
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


class Reader:
    """What a broker says of the partition, whatever was appended."""

    first, last = 0, 3

    def __init__(self) -> None:
        self.closed = False

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
        """Note it."""
        self.closed = True


class Admin:
    """A cluster with one topic of two partitions."""

    async def describe_topics(self) -> list[dict[str, Any]]:
        """Name the topic."""
        return [{"topic": "t", "partitions": [SILENT, HEALTHY]}]

    async def delete_records(self, _: object) -> None:
        """Do nothing."""

    async def close(self) -> None:
        """Do nothing."""


class Clients(KafkaClients):
    """Half silent producers, and one reader that connects when it may."""

    def __init__(self) -> None:
        super().__init__(["nobody:1"])
        self.producers: list[HalfSilentProducer] = []
        self.starts_slowly = False
        self.the_reader = Reader()
        self.connecting, self.may_connect = asyncio.Event(), asyncio.Event()
        self.may_connect.set()

    async def admin(self) -> Any:
        """Return the cluster."""
        return Admin()

    async def producer(self, flush_s: float) -> Any:
        """Return another producer."""
        self.producers.append(HalfSilentProducer(starts_slowly=self.starts_slowly))
        return await start_producer(self.producers[-1], flush_s)

    async def reader(self, topic: str, partitions: int) -> Any:
        """Return the reader when it may connect."""
        del topic, partitions
        self.connecting.set()
        await self.may_connect.wait()
        return self.the_reader


@pytest.fixture
def clients() -> Clients:
    return Clients()


async def started(clients: Clients, timeout_s: float = 0.5) -> KafkaLog:
    log = KafkaLog([], timeout_s=timeout_s, flush_s=1.5, clients=clients)
    await log.start()
    return log


@pytest.fixture
async def log(clients: Clients) -> KafkaLog:
    return await started(clients)


def record(partition: int) -> list[NewRecord]:
    return [NewRecord(topic="t", partition=partition, key=b"k", value=b"v")]


async def test_a_healthy_partition_does_not_wait_for_the_flush_of_a_silent_one(log: KafkaLog, clients: Clients):
    with pytest.raises(LogUnavailable):
        await log.append(record(SILENT))
    assert await log.append(record(HEALTHY))  # within 0.5 s
    first, second = clients.producers
    assert not first.closed
    await log.stop()
    assert (first.closed, second.closed) == (True, True)


async def test_what_was_given_up_is_not_sent_for_ever(log: KafkaLog, clients: Clients):
    with pytest.raises(LogUnavailable):
        await log.append(record(SILENT))
    async with asyncio.timeout(120):
        while not clients.producers[0].closed:  # noqa: ASYNC110 - nobody tells of it
            await asyncio.sleep(0.01)
    await log.stop()


def test_a_log_gives_up_before_an_erasure_destroys_the_key():
    assert APPEND_S + FLUSH_S <= ARRIVAL_SECONDS


async def test_a_producer_on_which_nothing_was_sent_is_not_doubted(log: KafkaLog, clients: Clients):
    with pytest.raises(LogUnavailable):
        await log.append(record(SILENT))
    clients.starts_slowly = True
    with pytest.raises(LogUnavailable):
        await log.append(record(HEALTHY))  # it waits for a new producer
    clients.starts_slowly = False
    assert await log.append(record(HEALTHY))
    third = clients.producers[-1]
    async with log._replacing:
        waiting = asyncio.ensure_future(log.append(record(HEALTHY)))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    assert await log.append(record(HEALTHY))
    assert clients.producers[-1] is third
    await log.stop()


@pytest.mark.parametrize(
    "connect",
    [KafkaClients.admin, lambda clients: clients.producer(1.0), lambda clients: clients.reader("t", 1)],
    ids=["admin", "producer", "reader"],
)
async def test_what_cannot_connect_leaves_nothing_open(connect: Callable[[KafkaClients], Awaitable[object]]):
    said: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: said.append(context))
    with pytest.raises(KafkaConnectionError):
        await connect(KafkaClients(["127.0.0.1:9"]))
    gc.collect()  # aiokafka complains when it collects what was left open
    assert said == []


async def appended_before(log: KafkaLog, clients: Clients) -> Reader:
    await log.append(record(HEALTHY) * 3)
    assert (await log.earliest("t", HEALTHY), await log.end("t", HEALTHY)) == (0, 3)
    assert len(await log.read("t", HEALTHY, 0)) == 3
    return clients.the_reader


async def test_what_was_removed_is_read_no_more(log: KafkaLog, clients: Clients):
    await appended_before(log, clients)
    await log.drop_before("t", HEALTHY, 2)
    assert await log.read("t", HEALTHY, 0) == []
    await log.stop()


async def test_what_the_broker_has_removed_is_read_no_more(log: KafkaLog, clients: Clients):
    (await appended_before(log, clients)).first = 1
    assert await log.earliest("t", HEALTHY) == 1
    assert await log.read("t", HEALTHY, 0) == []
    await log.stop()


async def test_what_was_in_a_topic_of_the_same_name_is_read_no_more(log: KafkaLog, clients: Clients):
    (await appended_before(log, clients)).last = 2
    assert await log.end("t", HEALTHY) == 2
    assert await log.read("t", HEALTHY, 0) == []
    await log.stop()


async def test_a_reader_that_connects_while_the_log_is_stopped_is_closed(clients: Clients):
    log = await started(clients, timeout_s=20.0)
    clients.may_connect.clear()
    reading = asyncio.ensure_future(log.read("t", HEALTHY, 0))
    await clients.connecting.wait()
    await log.stop()
    clients.may_connect.set()
    with pytest.raises(LogUnavailable, match="stopped"):
        await reading
    assert clients.the_reader.closed
