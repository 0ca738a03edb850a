"""After an erasure and the compaction of the keys, no byte of Kafka, Weaviate and the workers says what was erased."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from engines.several import Several, two_workers
from support.master_key import MASTER_KEY

from mnemolog.diagnostics.residue import Spellings
from schemas import codec
from schemas.identity import Owner
from schemas.messages.data_keys import DataKey
from schemas.topics import KEYS
from streams.sealing.key_files import read_keys
from streams.sealing.user_keys import CLOCKS_DIFFER, SEGMENT_TIME, UserKeys
from streams.transports.kafka import topics
from streams.transports.kafka.log import KafkaLog

if TYPE_CHECKING:
    from pathlib import Path

    from support.weaviate_server import WeaviateServer

USERS = [f"Quirinius-{n}" for n in range(6)]
GONE = USERS[:3]
WORDS = ["Quirinius", "Vexleyham", "Zorblattia", "Mirvandel", "Dranfolio", "Yalquist"]
"""Of everybody's ids, turns, remembered facts, metadata, screenshots and articles."""
UPSTREAMS = "Bexomoor"
"""What a program beside mnemolog has published in clear."""
COMPACTED_SECONDS = 120.0
"""The cleaner looks every 15 seconds; files are deleted a second after."""


async def live(two: Several, user: str) -> None:
    """Say something of every kind."""
    common = {"user_id": user, "occurred_at": "2026-01-05T08:00:00Z"}
    turn = {"type": "TurnRecorded", "session_id": f"s-{user}", "role": "user"}
    picture = {"type": "ScreenshotAnalysed", "screenshot_id": f"IMG-{user}", "app": "Dranfolio"}
    events = [
        turn | {"event_id": f"t-{user}", "content": "I live in Vexleyham."},
        turn | {"event_id": f"u-{user}", "content": "I work at Zorblattia."},
        picture | {"event_id": f"i-{user}", "text": "Payment of 42.50 euros to Dranfolio"},
    ]
    await two.json(0, "POST", "/v1/events", [common | event for event in events])
    await two.remember(1, user, "keeps a Mirvandel", metadata={"note": "Yalquist"})


def found_in(folder: Path, words: list[str]) -> dict[str, set[str]]:
    """Return the files with words in any spelling, each with the spellings."""
    spellings = Spellings(words)
    found: dict[str, set[str]] = {}
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):  # the engines delete files of theirs meanwhile
            if path.is_file() and (seen := spellings.find(path.read_bytes())):
                found[str(path.relative_to(folder))] = {f"{words[line - 1]}: {spelling}" for line, spelling in seen}
    return found


def holds(folder: Path, pieces: list[bytes]) -> bool:
    """Return whether any file has any of some bytes."""
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):
            if path.is_file():
                data = path.read_bytes()
                if any(piece in data for piece in pieces):
                    return True
    return False


async def publish_in_clear(address: str, user: str) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=address)
    await producer.start()
    event = b'{"type": "TurnRecorded", "event_id": "c-1", "user_id": "%s", "session_id": "c", "role": "user", ' % (
        user.encode()
    )
    key = f"default/{user}".encode()
    await producer.send_and_wait("mnemolog.conversations", event + b'"content": "I like Bexomoor."}', key=key)
    await producer.stop()


async def compact_at_once(address: str) -> None:
    """Have the topic of the keys compacted within seconds instead of a day, by the same settings."""
    soon = {"segment.ms": "100", "max.compaction.lag.ms": "100", "file.delete.delay.ms": "1000"}
    admin = AIOKafkaAdminClient(bootstrap_servers=address)
    await admin.start()
    changed = topics.settings(None, 0, compact=True) | soon
    await admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, KEYS.name, configs=changed)])
    await admin.close()


async def test_what_is_left_after_compaction_is_what_the_receipts_list(tmp_path: Path, node: WeaviateServer):
    async with two_workers(tmp_path, node.url, EXTRACTOR="rules") as two:
        address = two.workers[0]._environment["MNEMOLOG_BROKER"].removeprefix("kafka://")
        for user in USERS:
            await live(two, user)
        await publish_in_clear(address, "upstreams-own")
        await two.json(0, "POST", "/v1/admin/drain", {"timeout": 60})
        assert found_in(tmp_path, WORDS) == {}  # all is sealed, of everybody
        inner = KafkaLog([address])
        await inner.start()
        keys = UserKeys(inner, read_keys(MASTER_KEY, "the test's key"))
        await keys.follow()
        owners = [Owner("default", user) for user in [*GONE, "upstreams-own"]]
        ids = {key_id for owner in owners for key_id in keys.ids_of(owner)}
        lying = {record.key: record.value for record in await inner.read(KEYS.name, 0, 0) if record.key in ids}
        wrapped = [codec.decode_as(value, DataKey).wrapped for value in lying.values()]
        assert len(wrapped) >= len(GONE)
        assert await asyncio.to_thread(holds, tmp_path / "kafka", wrapped)
        receipts: list[Any] = [
            await two.json(n % 2, "DELETE", f"/v1/users/{user}") for n, user in enumerate([*GONE, "upstreams-own"])
        ]
        await compact_at_once(address)
        await keys.follow()
        await keys.let_compact(datetime.now(UTC) + SEGMENT_TIME + 2 * CLOCKS_DIFFER)  # as a worker does by then
        await inner.stop()
        async with asyncio.timeout(COMPACTED_SECONDS):
            while await asyncio.to_thread(holds, tmp_path / "kafka", wrapped):  # noqa: ASYNC110 - another process does it
                await asyncio.sleep(1)
        assert found_in(tmp_path, WORDS) == {}
        places = {path.split("/")[2].rpartition("-")[0] for path in found_in(tmp_path, [UPSTREAMS])}
        assert places == {"mnemolog.conversations"}
        assert places <= {one["where"] for one in receipts[-1]["remains"]}
        for user in GONE:
            assert await two.found(0, user, "Mirvandel") == []
        for user in USERS[len(GONE) :]:
            assert "keeps a Mirvandel" in await two.found(1, user, "Mirvandel")
