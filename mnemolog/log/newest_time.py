"""The time of the log's newest record, with which a worker's clock is compared at its start."""

from __future__ import annotations

from typing import TYPE_CHECKING

from schemas.topics import INBOX
from streams.transports.sqlite.log import SqliteLog

if TYPE_CHECKING:
    from datetime import datetime

    from streams.transports.kafka.log import KafkaLog


async def newest_time(log: SqliteLog | KafkaLog) -> datetime | None:
    """Return the time of the newest record, or None without records; on Kafka, of the inboxes, which receive ticks."""
    if isinstance(log, SqliteLog):
        return log.newest_time()
    times = []
    for partition in range(await log.partitions(INBOX.name)):
        end = await log.end(INBOX.name, partition)
        times += [record.recorded_at for record in await log.read(INBOX.name, partition, end - 1, 1)] if end else []
    return max(times, default=None)
