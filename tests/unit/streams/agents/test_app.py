"""The agents' group: what is told of partitions that come and go."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from faust.types import TP

from mnemolog.settings import from_environment
from streams.agents.app import OF_USERS, make_app
from streams.transports.kafka.transport import Transport

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path


class Told:
    """Takes the place of both agents with work in hand, and of who holds partitions."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def revoke(self, partition: int) -> None:
        self.notes.append(f"drop {partition}")

    def assigned(self, partitions: Collection[int]) -> None:
        self.notes.append(f"hold {sorted(partitions)}")

    def revoked(self, partitions: Collection[int]) -> None:
        self.notes.append(f"let go of {sorted(partitions)}")


async def test_a_group_is_joined_with_the_longest_session_that_may_be_set(tmp_path: Path):
    told: Any = Told()
    longest = from_environment({}, session_seconds=1_800).session_seconds
    app = make_app(
        name="agents", broker="kafka://127.0.0.1:1", partitions=1, folder=tmp_path, observe=told, remember=told,
        project=told, moved=told, failed=lambda _error: None, session_seconds=longest,
    )  # fmt: skip
    app.transport = Transport(app.conf.broker_consumer, app, app.loop)
    consumer: Any = app.consumer
    try:
        await consumer._thread._create_consumer(loop=asyncio.get_running_loop()).stop()
    finally:
        consumer._thread.thread_loop.close()


async def test_partitions_that_went_without_a_revocation_lose_their_work_before_the_others_are_held(tmp_path: Path):
    told: Any = Told()
    app = make_app(
        name="agents", broker="sqlite://", partitions=4, folder=tmp_path, observe=told, remember=told, project=told,
        moved=told, failed=lambda _error: None,
    )  # fmt: skip
    await app.on_partitions_revoked.send(set())
    await app.on_partitions_assigned.send({TP(topic.name, p) for topic in OF_USERS for p in (1, 3)})
    assert told.notes == ["let go of []", "drop 0", "drop 0", "drop 2", "drop 2", "hold [1, 3]"]
