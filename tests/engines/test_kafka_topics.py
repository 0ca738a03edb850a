"""The topics on a real Kafka as `topics create` makes them, and what the doctor says of topics that others made."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import orjson
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from schemas.topics import INPUTS, LEDGER, MAX_RECORD_BYTES, TOPICS
from streams.transports.kafka import topics

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

NOBODY = "127.0.0.1:9"
DAY_MS = 86_400_000
PATIENCE_S = 180
"""Only what hangs takes so long."""


async def mnemolog(*arguments: str, **settings: object) -> tuple[int, dict[str, Any], str]:
    """Run the command line with no other settings than these; return its exit code, its JSON, and its messages."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("MNEMOLOG_", "OPENAI_"))}
    environment = kept | {f"MNEMOLOG_{name.upper()}": str(value) for name, value in settings.items()}
    command = [sys.executable, "-m", "mnemolog", *arguments, "--json"]
    done = await asyncio.to_thread(
        subprocess.run, command, env=environment, capture_output=True, timeout=PATIENCE_S, check=False
    )
    return done.returncode, orjson.loads(done.stdout or b"{}"), done.stderr.decode()


async def wrong(**settings: object) -> dict[str, str]:
    """Return what the doctor says is wrong, and what to do about it, by component."""
    code, told, _ = await mnemolog("doctor", **settings)
    found = {c["name"]: f"{c['detail']}: {c['advice']}" for c in told["checks"] if not c["ok"]}
    assert (code, told["ok"]) == ((1, False) if found else (0, True))
    return found


@asynccontextmanager
async def admin(kafka: str) -> AsyncIterator[AIOKafkaAdminClient]:
    one = AIOKafkaAdminClient(bootstrap_servers=kafka)
    await one.start()
    yield one
    await one.close()


async def alter(kafka: str, topic: str, **settings: str) -> None:
    """Set a topic's settings; what is not named takes the broker's default."""
    named = {name.replace("_", "."): value for name, value in settings.items()}
    async with admin(kafka) as one:
        await one.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, named)])


async def test_topics_are_created_as_they_should_be_and_creating_them_again_changes_nothing(
    own_kafka: str, tmp_path: Path
):
    given = {
        "encryption": "off",
        "broker": f"kafka://{own_kafka}",
        "data_dir": tmp_path,
        "partitions": 3,
        "retention_days": 2,
    }
    for _ in range(2):
        code, told, _ = await mnemolog("topics", "create", **given, replication_factor=1)
        assert (code, told["topics"]) == (0, {t.name: 1 if t.single_partition else 3 for t in TOPICS})
    async with admin(own_kafka) as one:
        counts = await topics.partition_counts(one)
        for topic in TOPICS:
            assert counts[topic.name] == told["topics"][topic.name]
            kept = str(2 * DAY_MS) if topic in INPUTS else "-1"
            policy = "compact" if topic.compacted else "delete"
            wanted = {
                "message.timestamp.type": "LogAppendTime",
                "retention.ms": kept,
                "cleanup.policy": policy,
            }
            assert await topics.misfits(one, topic.name, wanted) == []
    code, _, said = await mnemolog("topics", "create", **(given | {"partitions": 4}))
    assert code == 1
    assert "has 3 partitions, not 4: set MNEMOLOG_PARTITIONS=3, the number it has" in said
    assert await wrong(**given) == {}
    assert "set MNEMOLOG_PARTITIONS=3" in (await wrong(**(given | {"partitions": 4})))["log"]


async def test_more_replicas_than_brokers_are_a_sentence(own_kafka: str, tmp_path: Path):
    given = {
        "encryption": "off",
        "broker": f"kafka://{own_kafka}",
        "data_dir": tmp_path,
        "partitions": 3,
        "retention_days": 2,
    }
    assert (await mnemolog("topics", "create", **given))[0] == 0
    async with admin(own_kafka) as one:
        await one.delete_topics([LEDGER.name])
        async with asyncio.timeout(PATIENCE_S):
            while LEDGER.name in await topics.partition_counts(one):  # noqa: ASYNC110 - Kafka tells nobody
                await asyncio.sleep(0.1)
    code, _, said = await mnemolog("topics", "create", **given, replication_factor=3)
    assert code == 1
    assert f"creating topic {LEDGER.name}: Kafka refuses" in said
    assert "replication factor" in said.lower()
    assert (await mnemolog("topics", "create", **given))[0] == 0


async def test_the_doctor_finds_a_topic_that_would_lose_memories_or_misdate_them(own_kafka: str, tmp_path: Path):
    given = {
        "encryption": "off",
        "broker": f"kafka://{own_kafka}",
        "data_dir": tmp_path,
        "partitions": 3,
        "retention_days": 2,
    }
    await mnemolog("topics", "create", **given)
    right = topics.settings(None, MAX_RECORD_BYTES, compact=False)
    await alter(own_kafka, LEDGER.name, **{**right, "retention.ms": str(7 * DAY_MS)})
    told = (await wrong(**given))["log"]
    assert f"{LEDGER.name} has retention.ms={7 * DAY_MS}, not -1: set it with `kafka-configs" in told
    await alter(own_kafka, LEDGER.name, **{**right, "message.timestamp.type": "CreateTime"})
    assert "message.timestamp.type=CreateTime, not LogAppendTime" in (await wrong(**given))["log"]
    await alter(own_kafka, LEDGER.name, **right)
    assert await wrong(**given) == {}


async def test_the_doctor_says_which_component_is_away(own_kafka: str, tmp_path: Path):
    away = {
        "encryption": "off",
        "broker": f"kafka://{NOBODY}",
        "schema_registry_url": f"http://{NOBODY}",
        "data_dir": tmp_path,
    }
    told = await wrong(**away, llm_base_url=f"http://{NOBODY}/v1")
    assert set(told) == {"log", "schema registry", "model"}
    assert "start Kafka, or correct MNEMOLOG_BROKER" in told["log"]
    assert "MNEMOLOG_SCHEMA_REGISTRY_URL" in told["schema registry"]
    no_registry = {
        "encryption": "off",
        "broker": f"kafka://{own_kafka}",
        "schema_registry_url": f"http://{own_kafka}",
        "data_dir": tmp_path,
    }
    assert set(await wrong(**no_registry, partitions=3, retention_days=2)) == {"schema registry"}
