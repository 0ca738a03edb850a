"""The undocumented parts of aiokafka that have no public equivalent: they are used only here.

pyproject.toml limits aiokafka to one minor version, and `tests/unit/repository/test_public_ground.py` fails if one of
these parts has changed. Public parts are imported where they are used.
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
    """Return the consumer's coordinator: it has a `member_id` in the group, and its `close` leaves the group."""
    return consumer._coordinator  # noqa: SLF001


def network_of(consumer: AIOKafkaConsumer) -> Any:  # noqa: ANN401 - aiokafka's client has no public class
    """Return the consumer's connections, to `close` them if its own `stop` did not."""
    return consumer._client  # noqa: SLF001


def observe(
    consumer: AIOKafkaConsumer,
    beats: Callable[[Callable[[], Awaitable[bool]]], Callable[[], Awaitable[bool]]],
    commits: Callable[[Callable[..., Coroutine[Any, Any, None]]], Callable[..., Awaitable[None]]],
) -> None:
    """Make a started consumer send its heartbeats and its commits through functions of the caller.

    `beats` takes the function that sends a heartbeat and returns whether the group answered; `commits` takes the
    function that sends a commit. Each returns the function that the consumer calls instead.
    """
    coordinator = coordinator_of(consumer)
    coordinator._do_heartbeat = beats(coordinator._do_heartbeat)  # noqa: SLF001
    coordinator._do_commit_offsets = commits(coordinator._do_commit_offsets)  # noqa: SLF001


def is_rebalancing(consumer: AIOKafkaConsumer) -> bool:
    """Return whether this member must join the group again."""
    return bool(coordinator_of(consumer)._rejoin_needed_fut.done())  # noqa: SLF001


async def leave_group(admin: AIOKafkaAdminClient, group: str, member_id: str, coordinator: int) -> int:
    """Make a member leave a group, and return Kafka's error code. Raises KafkaError."""
    response = await admin._send_request(LeaveGroupRequest(group, member_id), coordinator)  # noqa: SLF001
    code: int = response.error_code
    return code


def sender_of(producer: AIOKafkaProducer) -> asyncio.Task[None] | None:
    """Return the task that sends a producer's records; None before it has started."""
    task: asyncio.Task[None] | None = producer._sender.sender_task  # noqa: SLF001
    return task
