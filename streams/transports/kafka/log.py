"""The log on Kafka: appends are acknowledged by all in-sync replicas, and an idempotent producer avoids repeats."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from aiokafka import TopicPartition
from aiokafka.admin import RecordsToDelete

from schemas.log import Appended, LogError, LogUnavailable, Position, UnknownTopic
from schemas.topics import check_size, max_record_bytes
from streams.transports.batching import AppendBatcher
from streams.transports.kafka import group, topics
from streams.transports.kafka.aiokafka_parts import sender_of
from streams.transports.kafka.clients import KafkaClients
from streams.transports.kafka.errors import translated
from streams.transports.kafka.producer import FLUSH_S, stop_producer
from streams.transports.milliseconds import from_ms
from streams.transports.recent_records import RecentRecords, as_read

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime, timedelta

    from aiokafka import AIOKafkaProducer
    from aiokafka.admin import AIOKafkaAdminClient
    from aiokafka.structs import RecordMetadata

    from schemas.log import NewRecord, Record
    from streams.transports.kafka.group import Member
    from streams.transports.kafka.reader import TopicReader
    from streams.transports.kafka.security import KafkaSecurity

TIMEOUT_S = 30.0
APPEND_S = 15.0
"""An append that takes longer fails; the caller may repeat it, with a new producer."""
CLOSE_S = 3.0  # the time to close connections
LOG_APPEND_TIME = 1  # Kafka's timestamp type of a time that the broker has set


class KafkaLog:
    """The `Log` for several machines. An empty value with a key is a tombstone in Kafka (null), and reads as empty."""

    def __init__(
        self,
        servers: Sequence[str],
        *,
        security: KafkaSecurity | None = None,
        replication: int = topics.BROKERS_DEFAULT,
        client_id: str = "mnemolog",
        timeout_s: float = TIMEOUT_S,
        flush_s: float = FLUSH_S,
        clients: KafkaClients | None = None,
    ) -> None:
        """Take brokers as `host:port`; `start` connects. Each call gives up after `timeout_s`.

        Topics are created with `replication` replicas. A stopping producer may flush for `flush_s`. `clients` defaults
        to those of `servers`. Raises LogError for files of `security` that cannot be used.
        """
        self._clients = clients or KafkaClients(servers, security=security, client_id=client_id)
        self._replication = replication
        self._timeout_s = timeout_s
        self._flush_s = flush_s
        self._producer: AIOKafkaProducer | None = None
        self._admin: AIOKafkaAdminClient | None = None
        self._partitions: dict[str, int] = {}
        self._readers: dict[str, TopicReader] = {}
        self._recent = RecentRecords()
        """The last records acknowledged here: this worker folds them next, without reading from the broker."""
        self._doubted: AIOKafkaProducer | None = None
        """A producer that did not append in time and is being stopped: aiokafka's sender may hang indefinitely.
        The next append uses a new one."""
        self._starting = asyncio.Lock()
        """Held while a reader connects: two readers of one topic would each miss the other's records."""
        self._replacing = asyncio.Lock()
        """Held while a producer is replaced: callers that wait meanwhile share the new one."""
        self._abandoning: set[asyncio.Task[None]] = set()
        """Producers that are being stopped: `stop` waits for them."""
        self._batcher = AppendBatcher()
        self.hear_time: Callable[[datetime], None] = lambda _: None
        """Called with the broker's time of each acknowledged append."""

    async def start(self) -> None:
        """Connect. Raises LogUnavailable."""
        with translated("connecting"):
            async with asyncio.timeout(self._timeout_s):
                try:
                    self._admin = await self._clients.admin()
                    self._producer = await self._clients.producer(self._flush_s)
                except BaseException:
                    await self.stop()
                    raise

    async def stop(self) -> None:
        """Disconnect within seconds. Unacknowledged records may or may not be appended. Safe to call twice."""
        # Cleared first, so that waiting calls find the log stopped.
        readers, self._readers = self._readers, {}
        producer, self._producer = self._producer, None
        admin, self._admin = self._admin, None
        if producer is not None:
            self._abandon(producer)
        with suppress(TimeoutError):  # the broker does not answer
            async with asyncio.timeout(CLOSE_S):
                closing = [reader.stop() for reader in readers.values()] + ([admin.close()] if admin else [])
                await asyncio.gather(*closing, return_exceptions=True)  # aiokafka's consumer may raise CancelledError
        while self._abandoning:
            await asyncio.wait(self._abandoning)

    async def append(self, records: Sequence[NewRecord]) -> list[Appended]:
        """See `Log.append`.

        Raises LogUnavailable after APPEND_S; records that Kafka has not refused may still arrive for another FLUSH_S.
        """
        for record in records:
            check_size(record)
        sent: list[asyncio.Future[RecordMetadata]] = []
        producer = self._producer
        try:
            with translated("appending"):
                async with asyncio.timeout(min(self._timeout_s, APPEND_S)):
                    for topic, partition in {(record.topic, record.partition) for record in records}:
                        await self._require(topic, partition)
                    await self._batcher.wait(len(records))
                    producer = await self._usable_producer()
                    for record in records:
                        sent.append(await self._send(producer, record))  # noqa: PERF401 - kept if the next fails
                    # Awaited one by one: `gather` would take a fifth of the time of an append. `_keep` handles those
                    # that are not awaited.
                    appended = [_appended(await one) for one in sent]
                    await asyncio.sleep(0)  # until `_keep` was called for the last one
                    return appended
        except (LogError, asyncio.CancelledError):  # also if the caller gave up waiting
            if sent:  # refused records have taken sequence numbers, too
                self._doubt(producer)
            raise

    async def read(self, topic: str, partition: int, start: int, limit: int = 1000) -> list[Record]:
        """See `Log.read`."""
        await self._require(topic, partition)
        if recent := self._recent.read(topic, partition, start, limit):
            return recent
        with translated(f"reading {topic}:{partition}"):
            reader = await self._reader(topic)
            return await reader.read(partition, max(0, start), limit, self._timeout_s)

    async def end(self, topic: str, partition: int) -> int:
        """See `Log.end`."""
        await self._require(topic, partition)
        with translated(f"asking for the end of {topic}:{partition}"):
            async with asyncio.timeout(self._timeout_s):
                appended = self._recent.offsets(topic, partition)
                end = await (await self._reader(topic)).end(partition)
        if end < appended.stop:  # the topic was deleted, and created again
            self._recent.forget(topic, partition)
        return end

    async def earliest(self, topic: str, partition: int) -> int:
        """See `Log.earliest`."""
        await self._require(topic, partition)
        with translated(f"asking for the beginning of {topic}:{partition}"):
            async with asyncio.timeout(self._timeout_s):
                earliest = await (await self._reader(topic)).earliest(partition)
        if earliest > self._recent.offsets(topic, partition).start:
            self._recent.forget(topic, partition)
        return earliest

    async def partitions(self, topic: str) -> int:
        """See `Log.partitions`."""
        if topic not in self._partitions:
            with translated("asking for the topics"):
                async with asyncio.timeout(self._timeout_s):
                    self._partitions = await topics.partition_counts(self._admin_client())
        if (count := self._partitions.get(topic)) is None:
            raise UnknownTopic(f"there is no topic {topic!r}: `mnemolog topics create` creates it")
        return count

    async def create_topic(
        self, name: str, partitions: int, retention: timedelta | None = None, *, compact: bool = False
    ) -> None:
        """Create a topic with the broker's append time unless it exists; an existing one keeps its settings.

        `retention=None` keeps records indefinitely. Raises LogError if the topic has another number of partitions, or
        lacks the broker's append time.
        """
        with translated(f"creating topic {name}"):
            async with asyncio.timeout(self._timeout_s):
                config = topics.settings(retention, max_record_bytes(name), compact=compact)
                await topics.create(self._admin_client(), name, partitions, config, self._replication)
                await self._wait_until_known(name)
        if (existing := await self.partitions(name)) != partitions:
            advice = f"set MNEMOLOG_PARTITIONS={existing}, the number it has" if partitions > 1 else "delete it"
            raise LogError(f"topic {name} has {existing} partitions, not {partitions}: {advice}")

    async def drop_before(self, topic: str, partition: int, offset: int) -> None:
        """See `TrimmedLog.drop_before`. Requires the permission to delete from the topic."""
        await self._require(topic, partition)
        with translated(f"removing what is old from {topic}:{partition}"):
            async with asyncio.timeout(self._timeout_s):
                deletion = {TopicPartition(topic, partition): RecordsToDelete(offset)}
                await self._admin_client().delete_records(deletion)
        self._recent.forget(topic, partition)

    async def misfits(self, name: str, retention: timedelta | None, *, compact: bool = False) -> list[str]:
        """Return the settings of a topic that differ from those of `create_topic`, as `setting=value, not value`."""
        wanted = topics.settings(retention, max_record_bytes(name), compact=compact)
        with translated(f"asking for the settings of topic {name}"):
            async with asyncio.timeout(self._timeout_s):
                settings = await topics.misfits(self._admin_client(), name, wanted)
        return [f"{setting}, not {wanted[setting.partition('=')[0]]}" for setting in settings]

    async def members(self) -> list[Member]:
        """Return the workers in the group. Raises LogUnavailable, LogError."""
        with translated("asking who is in the group"):
            async with asyncio.timeout(self._timeout_s):
                return await group.members(self._admin_client())

    async def forget_member(self, member_id: str) -> bool:
        """Remove a dead worker from the group; return whether it was a member. Raises LogUnavailable, LogError."""
        with translated("taking a dead worker out of the group"):
            async with asyncio.timeout(self._timeout_s):
                return await group.forget(self._admin_client(), member_id)

    async def _wait_until_known(self, name: str) -> None:
        # Brokers learn of a new topic one after the other, and do not report when all know it.
        while not self._partitions.get(name):
            self._partitions = await topics.partition_counts(self._admin_client())

    async def _require(self, topic: str, partition: int) -> None:
        count = await self.partitions(topic)
        if not 0 <= partition < count:
            raise UnknownTopic(f"topic {topic} has partitions 0 to {count - 1}, not {partition}")

    async def _reader(self, topic: str) -> TopicReader:
        async with self._starting:
            if (reader := self._readers.get(topic)) is None:
                admin = self._admin_client()  # raises when the log is stopped
                reader = await self._clients.reader(topic, self._partitions[topic])
                if self._admin is not admin:  # stopped while it connected
                    await reader.stop()
                    raise LogUnavailable("the log is stopped")
                self._readers[topic] = reader
            return reader

    async def _usable_producer(self) -> AIOKafkaProducer:
        """Return the producer, replacing one that can no longer send."""
        async with self._replacing:
            if self._producer is None:
                raise LogUnavailable("the log is not started: call `start`")
            # The sender may have died, and its sequence numbers with it, or may wait indefinitely for a broker that was
            # restarted: aiokafka reports neither.
            sender = sender_of(self._producer)
            if sender is None or sender.done() or self._producer is self._doubted:
                fresh = await self._clients.producer(self._flush_s)
                if self._producer is None:  # stopped while it connected
                    self._abandon(fresh)
                    raise LogUnavailable("the log is stopped")
                broken, self._producer = self._producer, fresh
                if broken is not self._doubted:
                    self._abandon(broken)
            return self._producer

    def _doubt(self, producer: AIOKafkaProducer | None) -> None:
        """Stop a producer now, so that the next append replaces it.

        An idempotent producer of aiokafka never gives up: records of a failed append would arrive minutes later.
        """
        if producer is not None and producer is self._producer and producer is not self._doubted:
            self._doubted = producer
            self._abandon(producer)

    def _abandon(self, producer: AIOKafkaProducer) -> None:
        """Stop a producer in the background; it still flushes the records that other callers sent with it."""
        task = asyncio.get_running_loop().create_task(stop_producer(producer, self._flush_s))
        self._abandoning.add(task)
        task.add_done_callback(self._abandoning.discard)

    async def _send(self, producer: AIOKafkaProducer, record: NewRecord) -> asyncio.Future[RecordMetadata]:
        value = record.value if record.value or record.key is None else None
        acknowledgement: asyncio.Future[RecordMetadata] = await producer.send(
            record.topic, value, key=record.key, partition=record.partition, headers=list(record.headers)
        )
        acknowledgement.add_done_callback(lambda done: self._keep(record, done))  # called in the order of offsets
        return acknowledgement

    def _keep(self, record: NewRecord, done: asyncio.Future[RecordMetadata]) -> None:
        if done.cancelled() or done.exception() is not None or done.result().offset < 0:
            return
        place = _place(done.result())
        self.hear_time(place.recorded_at)
        self._recent.add([as_read(record, place)])

    def _admin_client(self) -> AIOKafkaAdminClient:
        if self._admin is None:
            raise LogUnavailable("the log is not started: call `start`")
        return self._admin


def _appended(metadata: RecordMetadata) -> Appended:
    if metadata.offset < 0:
        raise LogUnavailable("Kafka has the record, but does not say where any more: append it again")
    if metadata.timestamp_type != LOG_APPEND_TIME:
        raise LogError(f"topic {metadata.topic} has no append time: set message.timestamp.type=LogAppendTime")
    return _place(metadata)


def _place(metadata: RecordMetadata) -> Appended:
    return Appended(Position(metadata.topic, metadata.partition, metadata.offset), from_ms(metadata.timestamp))
