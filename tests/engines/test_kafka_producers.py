"""What producers of every kind publish on a real Kafka is remembered once, and each user's in order."""

from __future__ import annotations

import asyncio
import subprocess
import zlib
from typing import TYPE_CHECKING, Any

import orjson
import pytest
from aiokafka import AIOKafkaProducer
from engines.test_schema_registry import NOW, registered
from support.kafka_server import JARS
from support.master_key import MASTER_KEY
from support.registry_avro import end, in_registry_avro, turn

from mnemolog.settings import from_environment
from mnemolog.worker.worker import Worker
from schemas import codec
from schemas.identity import Owner
from schemas.inputs.input_events import parse_event
from schemas.messages.observations import SessionEnded, TurnRecorded
from schemas.topics import CONVERSATIONS, partition_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.registry_server import RegistryServer

PARTITIONS = 4
USERS = 5
TURNS = 6
DRAIN_S = 120.0
PRODUCERS = (
    "json", "keyless json", "console", "keyless console", "json by crc32", "json by fnv", "single-object",
    "single-object by crc32", "registry", "registry by fnv", "registry without keys", "everything twice",
)  # fmt: skip


def crc32(key: bytes) -> int:
    """Return the partition that librdkafka's `consistent` partitioner chooses."""
    return zlib.crc32(key) % PARTITIONS


def fnv(key: bytes) -> int:
    """Return the partition that Sarama's hash partitioner chooses: FNV-1a, as a signed number, without its sign."""
    value = 0x811C9DC5
    for byte in key:
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    signed = value - (1 << 32) if value >> 31 else value
    return abs(signed) % PARTITIONS


def owner(producer: str, user: int) -> Owner:
    return Owner("default", f"{producer} {user}")


def events(producer: str) -> list[dict[str, Any]]:
    """Return the turns of all users of a producer in turns, and the ends of their sessions."""
    users = [owner(producer, user).user_id for user in range(USERS)]
    said = [
        {"type": "TurnRecorded", "event_id": f"{user}-{n}", "user_id": user, "session_id": "s1", "role": "user"}
        | {"content": f"{user} 说了第{n}句", "occurred_at": "2026-01-05T08:00:00Z"}
        for n in range(TURNS)
        for user in users
    ]
    ends = [{"type": "SessionEnded", "event_id": f"{user}-end", "user_id": user, "session_id": "s1"} for user in users]
    return said + ends


def single_object(event: dict[str, Any]) -> bytes:
    return codec.encode(parse_event(event, tenant="default", accepted_at=NOW, event_id=""))


def by_registry(ids: dict[str, int]) -> Callable[[dict[str, Any]], bytes]:
    """Return what spells an event in registry Avro."""

    def spelt(event: dict[str, Any]) -> bytes:
        message = TurnRecorded if event["type"] == "TurnRecorded" else SessionEnded
        id_and_user = (event["event_id"], event["user_id"])
        fields = turn(id_and_user[0], event.get("content", ""), id_and_user[1])
        if message is SessionEnded:
            fields = end(*id_and_user)
        return in_registry_avro(ids[event["type"]], fields, codec.released_schema(message))

    return spelt


async def send(
    kafka: str,
    producer: str,
    spelt: Callable[[dict[str, Any]], bytes] = orjson.dumps,
    partitioner: Callable[[bytes], int | None] = lambda _: None,
    *,
    keyed: bool = True,
) -> None:
    """Publish a producer's events in their order, as a client in another language does."""
    one = AIOKafkaProducer(bootstrap_servers=kafka, acks="all")
    await one.start()
    for event in events(producer):
        key = Owner("default", event["user_id"]).key
        place = partitioner(key) if keyed else 0
        await one.send(CONVERSATIONS.name, spelt(event), key=key if keyed else None, partition=place)
    await one.stop()


async def console(kafka: str, producer: str, *, keyed: bool) -> None:
    """Publish a producer's events with Kafka's own console producer."""
    command = ["java", "-cp", f"{JARS}/*", "org.apache.kafka.tools.ConsoleProducer"]
    command += ["--bootstrap-server", kafka, "--topic", CONVERSATIONS.name]
    if keyed:
        command += ["--property", "parse.key=true", "--property", "key.separator=|"]
    keys = [f"default/{event['user_id']}|" if keyed else "" for event in events(producer)]
    lines = [key.encode() + orjson.dumps(event) for key, event in zip(keys, events(producer), strict=True)]
    await asyncio.to_thread(
        subprocess.run, command, input=b"\n".join(lines) + b"\n", check=True, capture_output=True, timeout=DRAIN_S
    )


async def run(kafka: str, registry: RegistryServer, folder: Path) -> dict[str, dict[str, list[str]]]:
    """Let every producer publish to one worker; return, by producer, each user's turns and memories in order."""
    settings = from_environment(
        {},
        master_key=MASTER_KEY,
        broker=f"kafka://{kafka}",
        schema_registry_url=registry.url,
        data_dir=folder,
        partitions=PARTITIONS,
        extractor="verbatim",
        decay_policy="off",
    )
    worker = Worker(settings)
    await worker.start()
    try:
        ids = {
            m.__name__: registered(registry, m.__name__, codec.released_schema(m)) for m in (TurnRecorded, SessionEnded)
        }
        avro = by_registry(ids)
        await send(kafka, "json")
        await send(kafka, "keyless json", keyed=False)
        await console(kafka, "console", keyed=True)
        await console(kafka, "keyless console", keyed=False)
        await send(kafka, "json by crc32", partitioner=crc32)
        await send(kafka, "json by fnv", partitioner=fnv)
        await send(kafka, "single-object", single_object)
        await send(kafka, "single-object by crc32", single_object, crc32)
        await send(kafka, "registry", avro)
        await send(kafka, "registry by fnv", avro, fnv)
        await send(kafka, "registry without keys", avro, keyed=False)
        for _ in range(2):
            await send(kafka, "everything twice", avro)
        counts = await worker.drain.run_local(DRAIN_S)
        assert counts["dead"] == 0
        found: dict[str, dict[str, list[str]]] = {}
        for producer in PRODUCERS:
            found[producer] = {}
            for user in range(USERS):
                who = owner(producer, user)
                turns = worker.shards.of(who).turns.of_session(who, "s1", 100)
                memories = worker.shards.state(who).memories.values()
                found[producer][f"turns of {user}"] = [t.message.content for t in turns]
                found[producer][f"memories of {user}"] = [m.content for m in memories]
        return found
    finally:
        await worker.stop()


@pytest.fixture(scope="module")
def found(
    own_kafka: str, own_registry: RegistryServer, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, dict[str, list[str]]]:
    return asyncio.run(run(own_kafka, own_registry, tmp_path_factory.mktemp("producers")))


def test_the_partitioners_are_no_javas():
    keys = [owner("json", user).key for user in range(50)]
    java = [partition_of(key, PARTITIONS) for key in keys]
    assert [crc32(key) for key in keys] != java
    assert [fnv(key) for key in keys] != java


@pytest.mark.parametrize("producer", PRODUCERS)
def test_what_a_producer_publishes_is_remembered_once_and_in_order(
    found: dict[str, dict[str, list[str]]], producer: str
):
    said = [[f"{owner(producer, user).user_id} 说了第{n}句" for n in range(TURNS)] for user in range(USERS)]
    for user in range(USERS):
        assert found[producer][f"turns of {user}"] == said[user]
        assert sorted(found[producer][f"memories of {user}"]) == said[user]
