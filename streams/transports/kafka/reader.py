"""The reader of a topic: one consumer without a group, whose idle partitions are paused."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from aiokafka import AIOKafkaConsumer, TopicPartition

from schemas.log import LogUnavailable, Position, Record
from streams.transports.milliseconds import from_ms

if TYPE_CHECKING:
    from aiokafka.structs import ConsumerRecord

FETCH_BYTES = 4 << 20
ONE_WAIT_MS = 200
BROKER_WAIT_MS = 5
"""How long a fetch waits at the broker for more records, which delays the fetches of other partitions."""


class TopicReader:
    """Reads any partition of one topic from any offset: several partitions concurrently, each by one read at a time."""

    def __init__(self, consumer: AIOKafkaConsumer, topic: str) -> None:
        """Take over a started consumer; use `start` to create a reader."""
        self._consumer = consumer
        self._topic = topic
        self._positions: dict[int, int] = {}
        self._locks: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._wanted: set[TopicPartition] = set()
        """The partitions whose ends `_asking` is about to request."""
        self._asking: asyncio.Task[dict[TopicPartition, int]] | None = None

    @classmethod
    async def start(cls, topic: str, partitions: int, connection: dict[str, Any]) -> TopicReader:
        """Connect. Raises Kafka's errors."""
        consumer = AIOKafkaConsumer(
            **connection,
            group_id=None,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            max_partition_fetch_bytes=FETCH_BYTES,
            fetch_max_wait_ms=BROKER_WAIT_MS,
        )
        try:
            await consumer.start()
        except BaseException:
            await consumer.stop()
            raise
        tps = [TopicPartition(topic, partition) for partition in range(partitions)]
        consumer.assign(tps)
        consumer.pause(*tps)
        return cls(consumer, topic)

    async def stop(self) -> None:
        """Disconnect."""
        await self._consumer.stop()

    async def end(self, partition: int) -> int:
        """Return the partition's end, which all in-sync replicas have reached. Concurrent calls share a request."""
        self._wanted.add(tp := TopicPartition(self._topic, partition))
        if self._asking is None:
            self._asking = asyncio.create_task(self._ask_ends())
            # The callers may have given up waiting.
            self._asking.add_done_callback(lambda done: done.cancelled() or done.exception())
        asking = self._asking
        return int((await asyncio.shield(asking))[tp])

    async def _ask_ends(self) -> dict[TopicPartition, int]:
        await asyncio.sleep(0)  # lets concurrent callers join
        wanted, self._wanted, self._asking = self._wanted, set(), None
        ends: dict[TopicPartition, int] = await self._consumer.end_offsets(wanted)
        return ends

    async def earliest(self, partition: int) -> int:
        """Return the first offset that the partition still has."""
        tp = TopicPartition(self._topic, partition)
        return int((await self._consumer.beginning_offsets([tp]))[tp])

    async def read(self, partition: int, start: int, limit: int, timeout_s: float) -> list[Record]:
        """Return at most `limit` records from `start` on; [] at the end. Raises LogUnavailable after `timeout_s`."""
        tp = TopicPartition(self._topic, partition)
        async with self._locks[partition]:
            if self._positions.get(partition) != start:
                self._consumer.seek(tp, start)
                self._positions[partition] = start
            end = self._consumer.highwater(tp) or 0  # as of the last fetch: records before it exist
            if start >= end:
                end = await self.end(partition)
            return await self._fetch(tp, end, limit, timeout_s) if start < end else []

    async def _fetch(self, tp: TopicPartition, end: int, limit: int, timeout_s: float) -> list[Record]:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_s
        self._consumer.resume(tp)
        try:
            while loop.time() < deadline:
                fetched = await self._consumer.getmany(tp, timeout_ms=ONE_WAIT_MS, max_records=limit)
                records = fetched.get(tp)
                self._positions[tp.partition] = position = await self._consumer.position(tp)
                if records:
                    return [_record(record) for record in records]
                if position >= end:  # retention or compaction removed the rest
                    return []
        finally:
            if self._positions[tp.partition] >= (self._consumer.highwater(tp) or 0):
                self._consumer.pause(tp)  # otherwise aiokafka sends a request every half second while nothing is read
        raise LogUnavailable(f"{tp.topic}:{tp.partition} is not at its end, but Kafka sent nothing: try again")


def _record(record: ConsumerRecord[bytes, bytes]) -> Record:
    return Record(
        position=Position(record.topic, record.partition, record.offset),
        recorded_at=from_ms(record.timestamp),
        key=record.key,
        value=record.value or b"",
        headers=tuple(record.headers),
    )
