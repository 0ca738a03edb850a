"""Opens, closes and prepares the log of the settings."""

from __future__ import annotations

from contextlib import asynccontextmanager
from datetime import timedelta
from typing import TYPE_CHECKING
from urllib.parse import quote

from mnemolog.log.private_files import FOLDER_MODE
from schemas.topics import TOPICS
from streams.transports.directory_lock import DirectoryLock
from streams.transports.kafka.log import KafkaLog
from streams.transports.kafka.security import KafkaSecurity
from streams.transports.sqlite.log import SqliteLog

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from datetime import datetime
    from pathlib import Path

    from mnemolog.settings import Settings
    from schemas.topics import Topic


async def open_log(settings: Settings, now: Callable[[], datetime] | None = None) -> SqliteLog | KafkaLog:
    """Open the log; `now` returns the times that the embedded log records. Raises LogError."""
    if settings.is_embedded:
        _make(settings.data_dir)
        return SqliteLog.open(settings.data_dir.resolve() / "log", now)
    kafka = KafkaLog(brokers(settings), security=kafka_security(settings), replication=settings.replication_factor)
    try:
        await kafka.start()
    except BaseException:
        await kafka.stop()
        raise
    return kafka


def brokers(settings: Settings) -> list[str]:
    """Return the addresses of the Kafka brokers as `host:port`."""
    return settings.broker.removeprefix("kafka://").split(",")


def broker_url(settings: Settings) -> str:
    """Return the URL of the log in Faust's format."""
    if settings.is_embedded:
        return f"sqlite://{quote(str(settings.data_dir.resolve() / 'log'))}"
    return settings.broker.replace(",", ";kafka://")


def kafka_security(settings: Settings) -> KafkaSecurity:
    """Return the TLS and SASL options for the Kafka clients."""
    password = settings.kafka_sasl_password
    return KafkaSecurity(
        protocol=settings.kafka_security_protocol,
        mechanism=settings.kafka_sasl_mechanism,
        username=settings.kafka_sasl_username,
        password=password.get_secret_value() if password else None,
        cafile=settings.kafka_ssl_cafile,
        certfile=settings.kafka_ssl_certfile,
        keyfile=settings.kafka_ssl_keyfile,
    )


def lock_directory(settings: Settings) -> DirectoryLock:
    """Lock the data directory against other processes, as the embedded log does by itself. Raises LogError."""
    folder = settings.data_dir.resolve() / "log"
    _make(folder)
    return DirectoryLock.take(folder)


def _make(folder: Path) -> None:
    """Create a folder if it does not exist. Raises OSError with a full sentence."""
    try:
        folder.mkdir(FOLDER_MODE, parents=True, exist_ok=True)
    except OSError as error:
        reason = f"the data directory {folder} cannot be created: {error.strerror}; name another with --data"
        raise OSError(reason) from error


async def close_log(log: SqliteLog | KafkaLog) -> None:
    """Close the log."""
    if isinstance(log, SqliteLog):
        log.close()
    else:
        await log.stop()


@asynccontextmanager
async def opened_log(settings: Settings) -> AsyncIterator[SqliteLog | KafkaLog]:
    """Open the log, and close it at the end. Raises LogError."""
    log = await open_log(settings)
    try:
        yield log
    finally:
        await close_log(log)


async def create_topics(log: SqliteLog | KafkaLog, settings: Settings) -> dict[str, int]:
    """Create the missing topics; return the number of partitions of each topic.

    Raises LogError if a topic has another number of partitions.
    """
    created = {}
    for topic in TOPICS:
        created[topic.name] = 1 if topic.single_partition else settings.partitions
        retention = retention_of(topic, settings)
        await log.create_topic(topic.name, created[topic.name], retention, compact=topic.compacted)
    return created


def retention_of(topic: Topic, settings: Settings) -> timedelta | None:
    """Return how long the records of a topic are kept; None for indefinitely."""
    days = settings.retention_days
    return timedelta(days=days) if topic.expires and days else None
