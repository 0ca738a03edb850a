"""`agent-memory-integrity` judges a log on Kafka, whose records nobody can edit in place: the ledger's topic is copied.

The copy goes through the edit, and takes the topic's place: with the times of the records, and without a gap where one
is gone, as offsets on Kafka have none then.
"""

from __future__ import annotations

import asyncio
import shutil
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

from agmi.attacks.at_rest import ALL_AT_REST_ATTACKS, AT_REST_ATTACKS_WITH_SNAPSHOT, ForgeAttack, SnapshotRollbackAttack
from agmi.check import LABELS
from support.integrity_store import PARTITIONS, IntegrityStore, Stored, judged
from support.master_key import MASTER_KEY
from support.tables import each

from schemas.log import Position, Record
from schemas.topics import LEDGER
from streams.transports.kafka.clients import KafkaClients
from streams.transports.kafka.log import KafkaLog
from streams.transports.kafka.restored_topics import RestoredTopics
from streams.transports.kafka.topics import partition_counts
from streams.transports.milliseconds import from_ms, to_ms
from streams.transports.sqlite.rows import headers_from_bytes, headers_to_bytes

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from aiokafka.admin import AIOKafkaAdminClient

EIGHT: Final = [LABELS[edit.name] for edit in ALL_AT_REST_ATTACKS]
NINE: Final = [LABELS[edit.name] for edit in AT_REST_ATTACKS_WITH_SNAPSHOT]


class KafkaStore(IntegrityStore):
    """On Kafka: whoever can delete topics and make them again."""

    def __init__(self, broker: str) -> None:
        """Take the broker."""
        super().__init__()
        self._broker = broker
        self._clients = KafkaClients([broker])
        self._records: dict[int, Stored] = {}
        """The ledger's first partition as it was read last, with the edits made since."""
        self._is_edited = False

    @property
    def settings(self) -> dict[str, Any]:
        return {"broker": f"kafka://{self._broker}", "master_key": MASTER_KEY}

    def setup(self) -> None:
        super().setup()
        asyncio.run(self._empty())
        self._is_edited = False

    def stored(self) -> dict[int, Stored]:
        self._replace()
        self._records = asyncio.run(self._read())
        return self._records

    def put(self, offset: int, record: Stored | None) -> None:
        if record is None:
            del self._records[offset]
        else:
            self._records[offset] = record
        self._is_edited = True

    def reload(self) -> None:
        self._replace()

    def snapshot_store(self) -> tuple[dict[int, Stored], Path]:
        token = self.folder / "older"
        shutil.copytree(self.data, token)
        return self.stored(), token

    def restore_store(self, token: tuple[dict[int, Stored], Path]) -> None:
        self._records, older = token
        self._is_edited = True
        shutil.rmtree(self.data)
        older.rename(self.data)

    def _replace(self) -> None:
        """Have the topic hold what was edited."""
        if self._is_edited:
            asyncio.run(self._copy())
            self._is_edited = False

    async def _read(self) -> dict[int, Stored]:
        log = KafkaLog([self._broker])
        await log.start()
        try:
            assert await log.end(LEDGER.name, 1) == 0
            records = await log.read(LEDGER.name, 0, 0)
        finally:
            await log.stop()
        return {
            one.position.offset: Stored(
                to_ms(one.recorded_at),
                one.key,
                one.value,
                headers_to_bytes(tuple(one.headers)) if one.headers else None,
            )
            for one in records
        }

    async def _copy(self) -> None:
        records = [
            Record(
                position=Position(LEDGER.name, 0, offset),
                recorded_at=from_ms(one.at_ms),
                key=one.key,
                value=one.value,
                headers=headers_from_bytes(one.headers) if one.headers else (),
            )
            for offset, (_, one) in enumerate(sorted(self._records.items()))
        ]
        async with self._admin() as admin:
            await _delete(admin, [LEDGER.name])
        async with RestoredTopics.opened(self._clients, 1) as topics:
            await topics.create(LEDGER.name, PARTITIONS, None, compact=False)
            await topics.fill(LEDGER.name, 0, records, 0, 0, compact=False)
            await topics.finish()

    async def _empty(self) -> None:
        async with self._admin() as admin:
            names = [name for name in await partition_counts(admin) if not name.startswith("__")]
            await _delete(admin, names)

    @asynccontextmanager
    async def _admin(self) -> AsyncIterator[AIOKafkaAdminClient]:
        admin = await self._clients.admin()
        try:
            yield admin
        finally:
            await admin.close()


class WithHeadsAlone(KafkaStore):
    """A machine that has no shard of the log, and a folder with heads that were kept."""

    keeps_heads = True

    def verify(self) -> bool:
        shutil.rmtree(self.data / "shards", ignore_errors=True)
        return super().verify()


class ServedOnKafka(WithHeadsAlone):
    """A worker on such a machine."""

    detection_point = "read"

    def verify(self) -> bool:
        return self.is_served_anew()


async def _delete(admin: AIOKafkaAdminClient, names: list[str]) -> None:
    if names:
        await admin.delete_topics(names)
    while set(names) & set(await partition_counts(admin)):
        pass


@each("edit", ALL_AT_REST_ATTACKS, ids=EIGHT)
def test_every_edit_of_the_ledger_is_reported_by_a_machine_that_has_its_shards(own_kafka: str, edit: type):
    assert judged(KafkaStore(own_kafka), edit) == "REPORTED"


@each("edit", AT_REST_ATTACKS_WITH_SNAPSHOT, ids=NINE)
def test_every_edit_of_the_ledger_is_reported_where_heads_are_kept_elsewhere(own_kafka: str, edit: type):
    assert judged(WithHeadsAlone(own_kafka), edit) == "REPORTED"


@each("edit", AT_REST_ATTACKS_WITH_SNAPSHOT, ids=NINE)
def test_a_worker_without_shards_answers_nothing_of_a_log_that_heads_kept_elsewhere_contradict(
    own_kafka: str, edit: type
):
    """T5 alone contradicts none: what is forged without the key is void, and Ann's memories are her own."""
    assert judged(ServedOnKafka(own_kafka), edit) == ("ACCEPTED" if edit is ForgeAttack else "REJECTED")


def test_an_older_ledger_is_genuine_where_nothing_is_kept_elsewhere(own_kafka: str):
    assert judged(KafkaStore(own_kafka), SnapshotRollbackAttack) == "ACCEPTED"
