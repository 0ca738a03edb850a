"""The connected clients of one Kafka cluster, through which a log reaches the network."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaConnectionError

from schemas.topics import MAX_LETTER_BYTES
from streams.transports.kafka.errors import ask_why
from streams.transports.kafka.producer import start_producer
from streams.transports.kafka.reader import TopicReader
from streams.transports.kafka.security import KafkaSecurity

if TYPE_CHECKING:
    from collections.abc import Sequence

BATCH_BYTES: Final = 256 << 10
"""The most bytes of one partition in a request: aiokafka's default of 16 KiB fits only three decisions with vectors."""


class KafkaClients:
    """Connects clients. Each method may raise Kafka's errors, and then leaves nothing open."""

    def __init__(
        self, servers: Sequence[str], *, security: KafkaSecurity | None = None, client_id: str = "mnemolog"
    ) -> None:
        """Take brokers as `host:port`. Raises LogError for files of `security` that cannot be used."""
        self._servers = list(servers)
        self._security = (security or KafkaSecurity()).connection()
        self._connection: dict[str, Any] = {
            "bootstrap_servers": self._servers, "client_id": client_id, **self._security
        }  # fmt: skip

    async def admin(self) -> AIOKafkaAdminClient:
        """Return a client for topics and the group."""
        admin = AIOKafkaAdminClient(**self._connection)
        try:
            await admin.start()
        except BaseException as error:
            with suppress(Exception):
                await admin.close()
            if isinstance(error, KafkaConnectionError):
                await ask_why(self._servers, self._security)
            raise
        return admin

    async def producer(self, flush_s: float) -> AIOKafkaProducer:
        """Return an idempotent producer that waits for all in-sync replicas."""
        producer = AIOKafkaProducer(
            **self._connection,
            acks="all",
            enable_idempotence=True,
            max_request_size=MAX_LETTER_BYTES,
            max_batch_size=BATCH_BYTES,
        )
        return await start_producer(producer, flush_s)

    async def reader(self, topic: str, partitions: int) -> TopicReader:
        """Return a reader of all partitions of a topic."""
        return await TopicReader.start(topic, partitions, self._connection)
