"""Topics on Kafka: their partitions, their settings, and their creation with the broker's append time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from aiokafka.admin import NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import TopicAlreadyExistsError, UnknownTopicOrPartitionError, for_code

from schemas.log import LogError
from schemas.topics import MAX_RECORD_BYTES

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import timedelta

    from aiokafka.admin import AIOKafkaAdminClient

BATCH_BYTES = MAX_RECORD_BYTES + 12
"""The largest compressed batch of our topics, which is Kafka's own default. It is set for each topic, so that one
request cannot fill a worker's memory in a cluster with a larger default."""
APPEND_TIME = {"message.timestamp.type": "LogAppendTime"}
COMPACTION = {
    "segment.ms": str(3_600_000),
    "min.cleanable.dirty.ratio": "0.01",
    "max.compaction.lag.ms": str(86_400_000),
    "delete.retention.ms": str(315_360_000_000),
}
"""The settings of a compacted topic. A record with a tombstone is gone within a day, because Kafka compacts only closed
segments. The tombstone stays for ten years, so that the destroyed record is not mistaken for a lost one."""
RETRY_SECONDS = 0.1
BROKERS_DEFAULT = -1  # the replication factor that stands for the cluster's default


async def partition_counts(admin: AIOKafkaAdminClient) -> dict[str, int]:
    """Return every topic's number of partitions.

    It requests all topics, because a request for a missing one creates it if the broker is configured so.
    """
    return {topic["topic"]: len(topic["partitions"]) for topic in await admin.describe_topics()}


def settings(retention: timedelta | None, max_bytes: int, *, compact: bool) -> dict[str, str]:
    """Return a topic's settings; `retention=None` keeps records indefinitely."""
    milliseconds = -1 if retention is None else int(retention.total_seconds() * 1000)
    policy = "compact" if compact else "delete"
    config = {**APPEND_TIME, "cleanup.policy": policy, "retention.ms": str(milliseconds), "retention.bytes": "-1"}
    if compact:
        config |= COMPACTION
    if max_bytes > MAX_RECORD_BYTES:  # otherwise the brokers' own limit, which may be larger
        config["max.message.bytes"] = str(max_bytes)
    return config


async def create(
    admin: AIOKafkaAdminClient,
    name: str,
    partitions: int,
    config: Mapping[str, str],
    replication: int = BROKERS_DEFAULT,
) -> None:
    """Create a topic unless it exists. Raises Kafka's errors, and LogError for one without the broker's append time."""
    # aiokafka takes either a replication factor or assignments
    assignments: dict[int, list[int]] | None = {} if replication == BROKERS_DEFAULT else None
    bounded = {"max.message.bytes": str(BATCH_BYTES), **config}
    topic = NewTopic(name, partitions, replication, replica_assignments=assignments, topic_configs=bounded)
    response = await admin.create_topics([topic])
    _, code, message, *_ = response.topic_errors[0]
    error = for_code(code)
    if error is TopicAlreadyExistsError:
        await _require_append_time(admin, name)
    elif code:
        raise error(message)


async def misfits(admin: AIOKafkaAdminClient, name: str, wanted: Mapping[str, str]) -> list[str]:
    """Return the settings of a topic that differ from those wanted, as `name=value`. Raises Kafka's errors."""
    keys = dict.fromkeys(wanted, "")
    [response] = await admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, name, keys)])
    different: list[str] = []
    for code, message, _, _, entries in response.resources:
        if code:
            raise for_code(code)(message)
        different += [f"{key}={value}" for key, value, *_ in entries if key in wanted and value != wanted[key]]
    return different


async def _require_append_time(admin: AIOKafkaAdminClient, name: str) -> None:
    while True:
        try:
            settings_ = await misfits(admin, name, APPEND_TIME)
            break
        except UnknownTopicOrPartitionError:  # another worker has just created it, and this broker does not know yet
            await asyncio.sleep(RETRY_SECONDS)
    for setting in settings_:
        wanted = APPEND_TIME[setting.partition("=")[0]]
        raise LogError(f"topic {name} has {setting}: set it to {wanted}, log time is the broker's")
