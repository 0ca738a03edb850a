"""The three agents as Faust runs them: receive, handle, acknowledge when done."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol

import faust
from faust.types import TP

from projections.partitions.shards import NotHeld
from schemas.log import LogError, Position, Record
from schemas.topics import GLOBALS, INBOX, INPUTS, LEDGER
from streams.delivery.delivery import Delivery

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection
    from pathlib import Path

    from streams.agents.observe import Observe
    from streams.agents.project import Project
    from streams.agents.remember import Remember

OF_USERS = (*INPUTS, INBOX, LEDGER)
"""Topics whose equal partitions go to the same worker."""
COMMIT_EVERY_SECONDS = 0.5
SESSION_SECONDS = 15.0
"""A worker that is not heard of for so long loses its partitions."""
HEARTBEATS = 6
"""In a session."""
QUEUED_RECORDS = 4_096
"""For each agent; what is fetched beyond waits, and no other agent for it."""
ONE_DAY_SECONDS = 86_400.0
LONGEST_TURN_SECONDS = 0.001
"""An agent that never has to wait lets others have the event loop so often: a request may be one of them."""


class Moved(Protocol):
    """Hears of partitions that come and go."""

    def assigned(self, partitions: Collection[int]) -> None:
        """Take these partitions, and no others."""
        ...

    def revoked(self, partitions: Collection[int]) -> None:
        """Let go of these partitions; there may be none, and others move even so."""
        ...


def make_app(  # noqa: PLR0913 - called once, at the composition root, all by name
    *,
    name: str,
    broker: str,
    credentials: object = None,
    partitions: int,
    folder: Path,
    observe: Observe,
    remember: Remember,
    project: Project,
    moved: Moved,
    url: str | None = None,
    session_seconds: float = SESSION_SECONDS,
    failed: Callable[[BaseException], None],
    took: Callable[[str, float], None] = lambda _step, _seconds: None,
    give_way: Callable[[], Awaitable[None]] = lambda: asyncio.sleep(0),
) -> faust.App:
    """Build the Faust app of one worker; nothing starts yet.

    An event is acknowledged by the handler, when its work is durable: `stream_wait_empty` off and `noack` keep Faust
    from doing so by itself. An error that escapes a handler goes to `failed`, and the record stays open. `took` is told
    how many seconds each step took to take a record in; `give_way` is awaited before each turn of an agent.
    """
    app = faust.App(
        name,
        broker=broker,
        broker_credentials=credentials,
        datadir=str(folder),
        topic_partitions=partitions,
        web_enabled=False,
        stream_wait_empty=False,
        stream_buffer_maxsize=QUEUED_RECORDS,
        broker_commit_interval=COMMIT_EVERY_SECONDS,
        broker_max_poll_interval=ONE_DAY_SECONDS,
        consumer_auto_offset_reset="earliest",
        producer_acks=-1,
        broker_session_timeout=session_seconds,
        broker_heartbeat_interval=session_seconds / HEARTBEATS,
        broker_rebalance_timeout=session_seconds,  # who is waited for in vain has lost its partitions no sooner
        canonical_url=url,
    )

    def consume(topics: tuple[str, ...], handler: Observe | Remember | Project, label: str) -> None:
        channel = app.topic(*topics, key_serializer="raw", value_serializer="raw", key_type=bytes, value_type=bytes)

        async def run(stream: Any) -> None:  # noqa: ANN401 - Faust's stream is untyped
            turn = time.perf_counter()
            async for event in stream.noack().events():
                began = time.perf_counter()
                if began - turn > LONGEST_TURN_SECONDS:
                    await give_way()
                    turn = began = time.perf_counter()
                if event.message.generation_id != app.consumer_generation_id:
                    continue  # it waited until a rebalance was over: it comes again, after those before it
                try:
                    await handler.handle(_delivery(event, app))
                    took(label, time.perf_counter() - began)
                except NotHeld:
                    continue  # it was taken away: whoever has it now gets the record again
                except Exception as error:  # noqa: BLE001 - the boundary of a step: the record stays open
                    failed(error)
                    return

        app.agent(channel, name=label)(run)

    consume(tuple(t.name for t in INPUTS), observe, "observe")
    consume((INBOX.name,), remember, "remember")
    consume((LEDGER.name, GLOBALS.name), project, "project")

    _follow_group(app, observe, remember, moved, failed)
    return app


def _follow_group(
    app: faust.App, observe: Observe, remember: Remember, moved: Moved, failed: Callable[[BaseException], None]
) -> None:
    """Tell of partitions that come and go."""

    async def revoked(*arguments: Any, **_: Any) -> None:  # noqa: ANN401 - the app, and the partitions
        partitions = {tp.partition for tp in arguments[-1] if tp.topic == LEDGER.name}
        for partition in partitions:
            observe.revoke(partition)
            remember.revoke(partition)
        moved.revoked(partitions)

    async def assigned(*arguments: Any, **_: Any) -> None:  # noqa: ANN401 - the app, and the partitions
        try:
            partitions = _assigned(arguments[-1])
            for partition in set(range(app.conf.topic_partitions)) - set(partitions):
                observe.revoke(partition)  # a worker that was away too long is told of no revocation
                remember.revoke(partition)
            moved.assigned(partitions)
        except Exception as error:  # noqa: BLE001 - the boundary of a step
            failed(error)

    app.on_partitions_revoked.connect(revoked)
    app.on_partitions_assigned.connect(assigned)


def _assigned(places: set[TP]) -> list[int]:
    """Return the partitions among these places; each comes with all topics of users. Raises LogError."""
    by_topic = {topic.name: {tp.partition for tp in places if tp.topic == topic.name} for topic in OF_USERS}
    if len(set(map(frozenset, by_topic.values()))) > 1:
        raise LogError(f"topics of users are not assigned together ({by_topic}): give them equal partition counts")
    return sorted(by_topic[LEDGER.name])


def is_in_session(app: faust.App) -> bool:
    """Tell whether no other worker can have been given this one's partitions."""
    consumer: Any = app.consumer
    return bool(consumer.is_in_session())


def owners(app: faust.App) -> dict[int, str]:
    """Return the URL of the worker that has each partition, as far as this worker was told."""
    told = app.router.external_topics_metadata()
    return {int(p): str(url) for url, topics in told.items() for p in topics.get(LEDGER.name, ())}


def urls(app: faust.App) -> list[str]:
    """Return the URLs of all workers, those without a partition too."""
    return sorted(str(url) for url in app.router.external_topics_metadata())


def member_id(app: faust.App) -> str | None:
    """Return the id that Kafka's group has given to this worker; None before it has."""
    consumer: Any = app.consumer
    found: str | None = consumer.member_id
    return found


def handled(app: faust.App, topic: str, partition: int) -> int:
    """Return the offset before which everything of a topic's partition is done, in this worker's assignment."""
    consumer: Any = app.consumer
    return int(consumer.handled(TP(topic, partition)))


def _delivery(event: Any, app: faust.App) -> Delivery:  # noqa: ANN401 - Faust's event is untyped
    message = event.message
    record = Record(
        position=Position(message.topic, message.partition, message.offset),
        recorded_at=datetime.fromtimestamp(message.timestamp, UTC),
        key=message.key,
        value=message.value,
        headers=tuple(message.headers.items() if isinstance(message.headers, dict) else message.headers or ()),
    )
    return Delivery(record, event.ack, lambda: bool(message.generation_id == app.consumer_generation_id))
