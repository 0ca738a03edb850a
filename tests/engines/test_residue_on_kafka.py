"""After an erasure and the compaction of the keys, no byte of Kafka, Weaviate and the workers says what was erased."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from contract.seeing_model import SeeingModel
from engines.residue_search import found_in, topics_of
from engines.several import Several, two_workers
from support.canaries import letter, user, word, words
from support.canary_lives import ERASED, KEPT, USERS, each, lives, speaks
from support.master_key import MASTER_KEY

from mnemolog.diagnostics.residue import Spellings
from schemas import codec
from schemas.identity import Owner
from schemas.log import NewRecord
from schemas.messages.data_keys import DataKey
from schemas.topics import CONVERSATIONS, KEYS, TOPICS, partition_of
from streams.sealing.key_files import read_keys
from streams.sealing.sealed_log import SealedLog
from streams.sealing.user_keys import CLOCKS_DIFFER, SEGMENT_TIME, UserKeys
from streams.transports.kafka import topics
from streams.transports.kafka.log import KafkaLog

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from support.canary_lives import Ask
    from support.weaviate_server import WeaviateServer

UPSTREAM = "upstreams-own"
"""A user of whom a program beside mnemolog has published in clear."""
UPSTREAMS_WORDS = ["Thornybrook", "Gravelmoor"]
"""Of an event, and of a record that nobody can decode."""
COMPACTED_SECONDS = 400.0
"""The cleaner looks every second; files are deleted a second after. Only what hangs takes so long."""


def asks_by_turns(two: Several) -> Callable[[int], Ask]:
    """Return, for a user, whom to ask: every other one asks the other worker first, and each request the next."""

    def ask_of(number: int) -> Ask:
        turn = number

        async def ask(method: str, path: str, body: Any) -> Any:
            nonlocal turn
            turn += 1
            return await two.json(turn % 2, method, path, body)

        return ask

    return ask_of


def holds(folder: Path, pieces: list[bytes]) -> bool:
    """Return whether any file that Kafka has of the keys has any of some bytes."""
    for path in folder.glob(f"kafka/data/{KEYS.name}-*/*"):
        with suppress(FileNotFoundError):
            data = path.read_bytes()
            if any(piece in data for piece in pieces):
                return True
    return False


async def publish_in_clear(address: str) -> None:
    """Publish an event, and what is none, as other programs do."""
    event = b'{"type": "TurnRecorded", "event_id": "c-1", "user_id": "%s", "session_id": "c", "role": "user", ' % (
        UPSTREAM.encode()
    )
    said, broken = UPSTREAMS_WORDS
    producer = AIOKafkaProducer(bootstrap_servers=address)
    await producer.start()
    for value in (event + b'"content": "I like %s."}' % said.encode(), b"\0%s is no event" % broken.encode()):
        await producer.send_and_wait(CONVERSATIONS.name, value, key=f"default/{UPSTREAM}".encode())
    await producer.stop()


async def let_fail(log: KafkaLog, keys: UserKeys) -> None:
    """Append, sealed, a record of each user that nobody can decode: a dead letter keeps its bytes."""
    count, owned = (
        await log.partitions(CONVERSATIONS.name),
        [Owner("default", user(number)).key for number in range(USERS)],
    )
    await SealedLog(log, keys).append(
        [
            NewRecord(topic=CONVERSATIONS.name, partition=partition_of(key, count), key=key, value=letter(number))
            for number, key in enumerate(owned)
        ]
    )


async def opened(inner: KafkaLog, keys: UserKeys, words: list[str]) -> set[str]:
    """Return those words that can be read by who has Kafka and the master key."""
    log, said = SealedLog(inner, keys), list[bytes]()
    for topic in TOPICS:
        for partition in range(await inner.partitions(topic.name)):
            start = 0
            while records := await log.read(topic.name, partition, start):
                said += [(one.key or b"") + b" " + one.value for one in records]
                start = records[-1].position.offset + 1
    found = await asyncio.to_thread(Spellings(words).find, b"\n".join(said))
    return {words[line - 1] for line, _ in found}


async def compact_at_once(address: str) -> None:
    """Have the topic of the keys compacted within seconds instead of a day, by the same settings."""
    soon = {"segment.ms": "100", "max.compaction.lag.ms": "100", "file.delete.delay.ms": "1000"}
    admin = AIOKafkaAdminClient(bootstrap_servers=address)
    await admin.start()
    changed = topics.settings(None, 0, compact=True) | soon
    await admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, KEYS.name, configs=changed)])
    await admin.close()


async def drain(two: Several) -> None:
    await two.json(0, "POST", "/v1/admin/drain", {"timeout": 60})


async def listed(two: Several, number: int, user_id: str) -> list[str]:
    """Return what a worker says that a user's memories are."""
    answer = await two.json(number, "GET", f"/v1/memories?user_id={user_id}&page_size=200")
    return [one["content"] for one in answer["items"]]


async def till_it_is_due(keys: UserKeys) -> None:
    """Let the last tombstone's segment close, as a worker does an hour after the last key was destroyed."""
    await keys.follow()
    await keys.let_compact(datetime.now(UTC) + SEGMENT_TIME + 2 * CLOCKS_DIFFER)


@asynccontextmanager
async def unsealed(two: Several) -> AsyncIterator[KafkaLog]:
    """Read and write Kafka beside the workers."""
    log = KafkaLog([broker(two)])
    await log.start()
    try:
        yield log
    finally:
        await log.stop()


def broker(two: Several) -> str:
    return two.workers[0]._environment["MNEMOLOG_BROKER"].removeprefix("kafka://")


async def test_what_is_left_after_compaction_is_what_the_receipts_list(tmp_path: Path, node: WeaviateServer):
    everyone = [one for number in range(USERS) for one in words(number)]
    ids = [user(number) for number in range(USERS)]
    with SeeingModel() as model:
        seeing = {"EXTRACTOR": "model", "LLM_BASE_URL": model.base_url, "LLM_MODEL": "scripted", "LLM_API_KEY": "none"}
        more = {"LLM_VISION": "true", "IDLE_SECONDS": "1"}
        async with two_workers(tmp_path, node.url, **seeing, **more) as two, unsealed(two) as inner:
            ask_of, keys = asks_by_turns(two), UserKeys(inner, read_keys(MASTER_KEY, "the test's key"))
            await each(range(USERS), lambda number: lives(ask_of(number), number))
            await keys.follow()
            await let_fail(inner, keys)
            await publish_in_clear(broker(two))
            await drain(two)
            model.play("prose")  # three times, and the answer is given up
            await each(range(USERS), lambda number: speaks(ask_of(number), number, "s2", "rejected"))
            await drain(two)
            model.play("ok")
            await each(range(USERS), lambda number: speaks(ask_of(number), number, "s3", "open"))
            await drain(two)
            assert await opened(inner, keys, [*everyone, *ids]) == {*everyone, *ids}
            assert await asyncio.to_thread(found_in, tmp_path, [*everyone, *ids]) == {}  # all is sealed, of everybody
            gone = [*map(user, ERASED), UPSTREAM]
            key_ids = {key_id for one in gone for key_id in keys.ring.ids_of(Owner("default", one))}
            lying = {one.key: one.value for one in await inner.read(KEYS.name, 0, 0) if one.key in key_ids}
            wrapped = [codec.decode_as(value, DataKey).wrapped for value in lying.values()]
            assert len(wrapped) >= len(gone)
            assert await asyncio.to_thread(holds, tmp_path, wrapped)
            receipts: list[Any] = await asyncio.gather(
                *(two.json(n % 2, "DELETE", f"/v1/users/{one}") for n, one in enumerate(gone))
            )
            await compact_at_once(broker(two))
            await till_it_is_due(keys)
            assert await opened(inner, keys, everyone) == {one for number in KEPT for one in words(number)}
            async with asyncio.timeout(COMPACTED_SECONDS):
                while await asyncio.to_thread(holds, tmp_path, wrapped):  # noqa: ASYNC110 - another process does it
                    await asyncio.sleep(1)
            assert await asyncio.to_thread(found_in, tmp_path, [*everyone, *ids]) == {}
            found = await asyncio.to_thread(found_in, tmp_path, UPSTREAMS_WORDS)
            places = topics_of(found)
            assert places == {CONVERSATIONS.name}
            assert all(places <= {one["where"] for one in receipt["remains"]} for receipt in receipts)
            for n, one in enumerate(gone):
                assert await listed(two, n % 2, one) == []
                assert await two.found(1 - n % 2, one, "Mirvandel") == []
            for number in KEPT:
                assert any(word("caption", number) in one for one in await listed(two, number % 2, user(number)))
