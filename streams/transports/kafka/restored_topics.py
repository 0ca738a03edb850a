"""New topics, filled with the records of an earlier log at the same offsets and with the same times.

A topic that is being filled has the setting with which Kafka keeps the records' own times. No worker starts on such a
topic, so that a half-filled one is never used.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from aiokafka import TopicPartition
from aiokafka.admin import RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import for_code

from schemas.log import LogError
from schemas.topics import max_record_bytes
from streams.transports.kafka import topics
from streams.transports.kafka.errors import translated
from streams.transports.kafka.producer import FLUSH_S, stop_producer
from streams.transports.milliseconds import to_ms

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterator, Iterable
    from datetime import timedelta

    from aiokafka import AIOKafkaProducer
    from aiokafka.admin import AIOKafkaAdminClient
    from aiokafka.structs import RecordMetadata

    from schemas.log import Record
    from streams.transports.kafka.clients import KafkaClients

OWN_TIME: Final = {"message.timestamp.type": "CreateTime", "retention.ms": "-1"}
FILLER: Final = b""
"""The value that takes the place of a record that the earlier log had removed, until it is removed here as well."""
EXISTS: Final = (
    "topic {} exists: restore into a cluster that has none of mnemolog's topics, or delete them, if what they hold is "
    "not needed"
)
AT_ONCE: Final = 1_000
"""The most records in flight."""


class RestoredTopics:
    """Creates topics and fills them. After an interruption, a topic is filled from its end on."""

    def __init__(
        self, admin: AIOKafkaAdminClient, producer: AIOKafkaProducer, clients: KafkaClients, replication: int
    ) -> None:
        """Take connected clients; use `opened` to create an instance."""
        self._admin = admin
        self._producer = producer
        self._clients = clients
        self._replication = replication
        self._wanted: dict[str, dict[str, str]] = {}

    @classmethod
    @asynccontextmanager
    async def opened(cls, clients: KafkaClients, replication: int) -> AsyncIterator[RestoredTopics]:
        """Connect, and disconnect at the end. Raises LogUnavailable, LogError."""
        with translated("connecting"):
            admin = await clients.admin()
        try:
            with translated("connecting"):
                producer = await clients.producer(FLUSH_S)
            try:
                yield cls(admin, producer, clients, replication)
            finally:
                await stop_producer(producer)
        finally:
            await admin.close()

    async def require_none(self, names: Iterable[str]) -> None:
        """Raise LogError if one of these topics exists."""
        with translated("asking for the topics"):
            there = await topics.partition_counts(self._admin)
        for name in names:
            if name in there:
                raise LogError(EXISTS.format(name))

    def want(self, name: str, retention: timedelta | None, *, compact: bool) -> dict[str, str]:
        """Store, and return, the settings that `finish` gives a topic."""
        bounded = {"max.message.bytes": str(topics.BATCH_BYTES)}
        self._wanted[name] = bounded | topics.settings(retention, max_record_bytes(name), compact=compact)
        return self._wanted[name]

    async def create(self, name: str, partitions: int, retention: timedelta | None, *, compact: bool) -> None:
        """Create a topic, or use one that an interrupted restoration has left. Raises LogError if any other exists."""
        wanted = self.want(name, retention, compact=compact)
        with translated(f"creating topic {name}"):
            if name in await topics.partition_counts(self._admin):
                if await topics.misfits(self._admin, name, OWN_TIME):
                    raise LogError(EXISTS.format(name))
                return
            await topics.create(self._admin, name, partitions, wanted | OWN_TIME, self._replication)
            while name not in await topics.partition_counts(self._admin):
                pass  # brokers learn of it one after the other

    async def fill(
        self, topic: str, partition: int, records: Iterable[Record], earliest: int, least: int, *, compact: bool
    ) -> int:
        """Append records at their offsets; return the next offset, which is at least `least`.

        The records before `earliest` are deleted. In a compacted topic, only the order counts, not the offsets.
        """
        with translated(f"filling {topic}:{partition}"):
            reader = await self._clients.reader(topic, partition + 1)
            try:
                at = there = await reader.end(partition)
            finally:
                await reader.stop()
            sent: list[tuple[int, asyncio.Future[RecordMetadata]]] = []
            for number, record in enumerate(records):
                offset = number if compact else record.position.offset
                if offset < there:
                    continue  # from before the interruption: a key that was destroyed since must not return
                while at < offset:
                    sent.append((at, await self._send(topic, partition, FILLER, None, record)))
                    at += 1
                value = record.value if record.value or record.key is None else None
                sent.append((at, await self._send(topic, partition, value, record.key, record)))
                at += 1
                if len(sent) >= AT_ONCE:
                    await self._settle(topic, partition, sent)
            while not compact and at < least:
                sent.append((at, await self._producer.send(topic, FILLER, partition=partition)))
                at += 1
                if len(sent) >= AT_ONCE:
                    await self._settle(topic, partition, sent)
            await self._settle(topic, partition, sent)
            if not compact and earliest:
                await self._admin.delete_records({TopicPartition(topic, partition): RecordsToDelete(earliest)})
        return at

    async def finish(self) -> None:
        """Give the topics their final settings, with which workers start on them. Repeating it changes nothing."""
        with translated("giving the topics their settings"):
            for name, wanted in self._wanted.items():
                resource = ConfigResource(ConfigResourceType.TOPIC, name, wanted)
                for answer in await self._admin.alter_configs([resource]):
                    for code, message, *_ in answer.resources:
                        if code:
                            raise for_code(code)(message)

    async def _send(
        self, topic: str, partition: int, value: bytes | None, key: bytes | None, record: Record
    ) -> asyncio.Future[RecordMetadata]:
        headers = [] if value == FILLER else list(record.headers)
        sent: asyncio.Future[RecordMetadata] = await self._producer.send(
            topic, value, key=key, partition=partition, headers=headers, timestamp_ms=to_ms(record.recorded_at)
        )
        return sent

    @staticmethod
    async def _settle(topic: str, partition: int, sent: list[tuple[int, asyncio.Future[RecordMetadata]]]) -> None:
        """Wait for the records in flight. Raises LogError if another producer appends as well."""
        for offset, one in sent:
            if (found := (await one).offset) != offset:
                raise LogError(
                    f"{topic}:{partition} took a record at {found} that must stand at {offset}: somebody else appends "
                    "to it; stop that, delete mnemolog's topics and restore again"
                )
        sent.clear()
