"""One memory erased for good on Kafka: no key opens its words any more, and all else stays for who folds anew."""

from __future__ import annotations

import asyncio
from shutil import rmtree
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from engines.several import SOON_SECONDS, Several, two_workers
from support.master_key import MASTER_KEY

from mnemolog.operations.erasing.receipts import is_signed
from schemas.topics import REPLACEMENTS, TOPICS
from streams.sealing.key_files import read_keys
from streams.sealing.replacements import Replacements
from streams.sealing.sealed_log import SealedLog
from streams.sealing.user_keys import UserKeys
from streams.transports.kafka.log import KafkaLog

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from support.weaviate_server import WeaviateServer

pytestmark = pytest.mark.asyncio(loop_scope="module")
USER = "zara"
WORD = "Vexleyham"
OTHER = "Zorblattia"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def two(tmp_path_factory: pytest.TempPathFactory, weaviate: WeaviateServer) -> AsyncIterator[Several]:
    async with two_workers(tmp_path_factory.mktemp("erasing-one"), weaviate.url, EXTRACTOR="rules") as several:
        yield several


async def say(two: Several, event_id: str, content: str, session_id: str) -> None:
    event = {"type": "TurnRecorded", "event_id": event_id, "user_id": USER, "session_id": session_id, "role": "user"}
    await two.json(0, "POST", "/v1/events", event | {"content": content})


async def memories(two: Several, number: int) -> dict[str, str]:
    listed = await two.json(number, "GET", f"/v1/memories?user_id={USER}")
    return {one["content"]: one["memory_id"] for one in listed["items"]}


async def where_opened(address: str, word: str) -> list[str]:
    """Return where a word can be read by who has Kafka and the master key."""
    inner = KafkaLog([address])
    await inner.start()
    try:
        keys = UserKeys(inner, read_keys(MASTER_KEY, "the test's key"))
        await keys.follow()
        log = SealedLog(inner, keys, replacements=Replacements(inner, keys))
        found = []
        for topic in TOPICS:
            for partition in range(await inner.partitions(topic.name)):
                start = 0
                while records := await log.read(topic.name, partition, start):
                    found += [str(one.position) for one in records if word.encode() in (one.key or b"") + one.value]
                    start = records[-1].position.offset + 1
        return found
    finally:
        await inner.stop()


async def total(two: Several) -> Any:
    return (await two.json(0, "GET", "/v1/admin/digest"))["total"]


async def test_its_words_are_opened_by_no_key_and_the_rest_is_whole_for_who_folds_anew(two: Several):
    address = two.workers[0]._environment["MNEMOLOG_BROKER"].removeprefix("kafka://")
    await say(two, "t1", f"My name is Quirinius. I live in {WORD}.", "s1")
    await say(two, "t2", f"I work at {OTHER}.", "s2")
    await two.json(0, "POST", "/v1/admin/drain", {"timeout": 60})
    before = await memories(two, 1)
    [memory_id] = [one for content, one in before.items() if WORD in content]
    assert await where_opened(address, WORD)
    preview = await two.json(1, "DELETE", f"/v1/memories/{memory_id}?forever=true&preview=true&user_id={USER}")
    path = f"/v1/memories/{memory_id}?forever=true&user_id={USER}"
    receipts = [await two.json(number, "DELETE", path) for number in (0, 1)]
    assert receipts[0] == receipts[1]
    assert receipts[0]["event_ids"] == preview["event_ids"] == ["t1"]
    assert {one["where"] for one in receipts[0]["remains"]} >= {"mnemolog.conversations", "mnemolog.keys", "index"}
    assert await where_opened(address, WORD) == []
    assert await where_opened(address, OTHER)
    for number in (0, 1):
        assert memory_id not in (left := await memories(two, number)).values()
        assert {content for content in before if WORD not in content} == set(left)
        assert not any(WORD in text for text in await two.found(number, USER, WORD))
    live = await total(two)
    assert (await two.json(0, "POST", "/v1/admin/rebuild"))["equal"]
    assert await total(two) == live
    for worker in two.workers:
        worker.kill()
        rmtree(worker.folder / "data" / "shards")
    for worker in two.workers:
        worker.start()
    for worker in two.workers:
        await worker.ready()
    async with asyncio.timeout(SOON_SECONDS):
        while await total(two) != live:  # noqa: ASYNC110 - it is another process
            await asyncio.sleep(0.3)
    listed = await two.json(0, "GET", "/v1/erasures")
    assert is_signed(receipts[0], listed["public_key"])
    assert (await two.json(1, "GET", f"/v1/memories?user_id={USER}"))["total"] == len(before) - 1


async def replacements_left(address: str) -> int:
    """Return how many replacements are left after compaction, whoever could open them."""
    inner = KafkaLog([address])
    await inner.start()
    try:
        newest: dict[bytes, bytes] = {}
        start = 0
        while records := await inner.read(REPLACEMENTS.name, 0, start):
            newest |= {record.key or b"": record.value for record in records}
            start = records[-1].position.offset + 1
        return sum(bool(value) for value in newest.values())
    finally:
        await inner.stop()


async def test_with_the_user_what_replaced_the_records_goes_too(two: Several):
    address = two.workers[0]._environment["MNEMOLOG_BROKER"].removeprefix("kafka://")
    assert await replacements_left(address) > 0
    await two.json(0, "DELETE", f"/v1/users/{USER}")
    assert await replacements_left(address) == 0
    assert await where_opened(address, OTHER) == []
