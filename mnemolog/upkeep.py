"""What a worker looks after by itself, besides its agents: everybody's memories, and what has grown old."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from mnemolog.peers import PeerUnavailable, WorkersDiffer
from mnemolog.together import same_settings
from projections.retention import drop_expired
from projections.shard_trouble import ShardUnavailable
from streams.patience import PatientReads
from streams.transports.sqlite_log import SqliteLog

if TYPE_CHECKING:
    from mnemolog.composition import Worker
    from projections.shards import Shards
    from streams.transports.kafka_log import KafkaLog

log = logging.getLogger("mnemolog")
FOLLOW_EVERY_SECONDS: Final = 1.0
LOOK_FOR_OLD_SECONDS: Final = 3600.0


async def follow_for_ever(shards: Shards) -> None:
    """Fold global memories that others decide."""
    while True:
        await asyncio.sleep(FOLLOW_EVERY_SECONDS)
        with suppress(ShardUnavailable):
            await shards.follow_globals()


async def say_if_settings_differ(worker: Worker) -> None:
    """Log it when another worker has other settings of those that all must share."""
    with suppress(PeerUnavailable):  # who cannot be asked says it when it starts itself
        try:
            await same_settings(worker)
        except WorkersDiffer as error:
            log.error("%s; until then searches miss memories, and drain and rebuild are refused", error)  # noqa: TRY400 - an operator's matter


async def drop_old(held: SqliteLog | KafkaLog, shards: Shards) -> None:
    """Drop from the log what is older than its retention, and from the shards what the log holds no more."""
    if isinstance(held, SqliteLog):  # Kafka's brokers do it by themselves
        await held.apply_retention()
    with suppress(ShardUnavailable):  # readiness says it, and the next look drops what is left
        await drop_expired(PatientReads(held), shards)


async def drop_old_for_ever(held: SqliteLog | KafkaLog, shards: Shards) -> None:
    """Look again and again for what has grown old."""
    while True:
        await drop_old(held, shards)
        await asyncio.sleep(LOOK_FOR_OLD_SECONDS)
