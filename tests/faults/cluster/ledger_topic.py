"""The ledger's topic, as whoever administers Kafka can read it, cut it, append to it, and put another in its place."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from support.master_key import MASTER_KEY

from schemas.log import NewRecord, Position
from schemas.topics import LEDGER
from streams.sealing.key_files import read_keys
from streams.sealing.sealed_log import SealedLog
from streams.sealing.user_keys import UserKeys
from streams.transports.kafka import topics
from streams.transports.kafka.clients import KafkaClients
from streams.transports.kafka.log import KafkaLog
from streams.transports.kafka.restored_topics import RestoredTopics

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from schemas.log import Record

PAUSE_SECONDS: Final = 0.2


class LedgerTopic:
    """The records of each partition as they lie, sealed."""

    def __init__(self, addresses: Sequence[str]) -> None:
        """Connect when something is asked for, anew each time: the topic may be another one."""
        self._addresses = addresses

    @asynccontextmanager
    async def _log(self) -> AsyncIterator[KafkaLog]:
        log = KafkaLog(self._addresses, client_id="administrator")
        await log.start()
        try:
            yield log
        finally:
            await log.stop()

    async def read(self) -> list[list[Record]]:
        """Return the records of each partition."""
        found = list[list["Record"]]()
        async with self._log() as log:
            for partition in range(await log.partitions(LEDGER.name)):
                known: list[Record] = []
                while new := await log.read(LEDGER.name, partition, known[-1].position.offset + 1 if known else 0):
                    known += new
                found.append(known)
        return found

    async def replace(self, partitions: Sequence[Sequence[Record]]) -> None:
        """Delete the topic, and make another of that name with these records, one after the other, at their times."""
        clients = KafkaClients(self._addresses)
        admin = await clients.admin()
        try:
            await admin.delete_topics([LEDGER.name])
            while LEDGER.name in await topics.partition_counts(admin):  # noqa: ASYNC110 - Kafka tells nobody
                await asyncio.sleep(PAUSE_SECONDS)
        finally:
            await admin.close()
        async with RestoredTopics.opened(clients, topics.BROKERS_DEFAULT) as made:
            await made.create(LEDGER.name, len(partitions), None, compact=False)
            for number, records in enumerate(partitions):
                placed = [
                    replace(record, position=Position(LEDGER.name, number, offset))
                    for offset, record in enumerate(records)
                ]
                await made.fill(LEDGER.name, number, placed, 0, 0, compact=False)
            await made.finish()

    async def cut(self, partition: int, before: int) -> None:
        """Delete the records before an offset."""
        async with self._log() as log:
            await log.drop_before(LEDGER.name, partition, before)

    async def append_as_they_lie(self, records: Sequence[Record]) -> None:
        """Append records again, each to its partition."""
        async with self._log() as log:
            await log.append(
                [
                    NewRecord(topic=LEDGER.name, partition=one.position.partition, key=one.key, value=one.value)
                    for one in records
                ]
            )

    async def append_sealed(self, records: Sequence[NewRecord]) -> None:
        """Append records as a worker that has the master key does."""
        async with self._log() as log:
            keys = UserKeys(log, read_keys(MASTER_KEY, "the row's key"))
            await keys.follow()
            await SealedLog(log, keys).append(records)
