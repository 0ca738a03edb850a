"""The parts of aiokafka that it does not document and that have no public equal: each is used here and nowhere else.

pyproject.toml holds aiokafka to one minor version; `tests/unit/repository/test_public_ground.py` fails where one of
these parts is another. What is public is imported where it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aiokafka.conn import collect_hosts, create_conn
from aiokafka.protocol.group import LeaveGroupRequest

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable, Coroutine

    from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
    from aiokafka.admin import AIOKafkaAdminClient

__all__ = [
    "collect_hosts",
    "coordinator_of",
    "create_conn",
    "is_rebalancing",
    "leave_group",
    "network_of",
    "observe",
    "sender_of",
]


def coordinator_of(consumer: AIOKafkaConsumer) -> Any:  # noqa: ANN401 - aiokafka's coordinator has no public class
    """Return the consumer's coordinator: its `member_id` in the group, and `close`, which leaves it."""
    return consumer._coordinator  # noqa: SLF001


def network_of(consumer: AIOKafkaConsumer) -> Any:  # noqa: ANN401 - aiokafka's client has no public class
    """Return the consumer's connections, to `close` them where its own `stop` did not get that far."""
    return consumer._client  # noqa: SLF001


def observe(
    consumer: AIOKafkaConsumer,
    beats: Callable[[Callable[[], Awaitable[bool]]], Callable[[], Awaitable[bool]]],
    commits: Callable[[Callable[..., Coroutine[Any, Any, None]]], Callable[..., Awaitable[None]]],
) -> None:
    """Have a started consumer send its heartbeats and its commits by functions of the caller.

    `beats` takes what sends a heartbeat and returns whether the group answered, `commits` what sends a commit; each
    returns what is called instead.
    """
    coordinator = coordinator_of(consumer)
    coordinator._do_heartbeat = beats(coordinator._do_heartbeat)  # noqa: SLF001
    coordinator._do_commit_offsets = commits(coordinator._do_commit_offsets)  # noqa: SLF001


def is_rebalancing(consumer: AIOKafkaConsumer) -> bool:
    """Return whether this member is to join the group again."""
    return bool(coordinator_of(consumer)._rejoin_needed_fut.done())  # noqa: SLF001


async def leave_group(admin: AIOKafkaAdminClient, group: str, member_id: str, coordinator: int) -> int:
    """Have a member leave a group; return Kafka's error code. Raises KafkaError."""
    response = await admin._send_request(LeaveGroupRequest(group, member_id), coordinator)  # noqa: SLF001
    code: int = response.error_code
    return code


def sender_of(producer: AIOKafkaProducer) -> asyncio.Task[None] | None:
    """Return the task that sends a producer's records; None before it has started."""
    task: asyncio.Task[None] | None = producer._sender.sender_task  # noqa: SLF001
    return task
