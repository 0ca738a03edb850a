"""The Faust app of the three agents: receive, handle, acknowledge when the work is durable."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import faust
from faust.tables.manager import TableManager
from faust.types import TP

from projections.partitions.assignment import NotHeld
from projections.shard.errors import ShardDamaged
from schemas.log import LogError, LogUnavailable, Position, Record
from schemas.topics import GLOBALS, INBOX, INPUTS, LEDGER
from streams.agents.faust_pauses import spare_pauses, take_turns
from streams.delivery.delivery import Delivery
from streams.delivery.priority import LONGEST_TURN_SECONDS
from streams.delivery.retry import retry

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection
    from pathlib import Path

    from schemas.topics import Topic
    from streams.agents.observe import Observe
    from streams.agents.project import Project
    from streams.agents.remember import Remember

App: TypeAlias = faust.App
OF_USERS = (*INPUTS, INBOX, LEDGER)
"""Topics whose partitions of equal number are assigned to the same worker."""
COMMIT_EVERY_SECONDS = 0.5
SESSION_SECONDS = 8.0
"""A worker that sends no heartbeat for this long loses its partitions."""
HEARTBEATS = 6
"""The fewest heartbeats sent in the time of a session."""
HEARTBEAT_SECONDS = 0.5
"""A worker learns by a heartbeat that the group rebalances, and no user is answered until the last one has joined."""
REQUEST_SECONDS = 90.0
"""The least time limit of a request to the broker. Faust does not start if it is shorter than the session."""
QUEUED_RECORDS = 4_096
"""The size of each agent's queue. When it is full, its partitions wait, and those of other agents do not."""
ONE_DAY_SECONDS = 86_400.0
"""For how long an agent whose queue is never empty keeps the event loop: an HTTP request may wait for it."""


class _NoTables(TableManager):
    """Faust's tables, of which there are none, so that a starting worker does not wait a second for them."""

    async def sleep(self, n: object) -> None:  # noqa: ARG002 - the second
        """Give way once."""
        await asyncio.sleep(0)


class AssignmentListener(Protocol):
    """A listener that is called when partitions are assigned to this worker or revoked."""

    def assigned(self, partitions: Collection[int]) -> None:
        """Hold exactly these partitions from now on."""
        ...

    def revoked(self, partitions: Collection[int]) -> None:
        """Give up these partitions. There may be none: then a rebalance moved only those of other workers."""
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
    moved: AssignmentListener,
    url: str | None = None,
    session_seconds: float = SESSION_SECONDS,
    failed: Callable[[BaseException], None],
    took: Callable[[str, float], None] = lambda _step, _seconds: None,
    give_way: Callable[[], Awaitable[None]] = lambda: asyncio.sleep(0),
    open_record: Callable[[Record], Awaitable[Record]] | None = None,
) -> faust.App:
    """Build the Faust app of one worker; nothing starts yet.

    The handler acknowledges an event when its work is durable: `stream_wait_empty` off and `noack` keep Faust from
    doing so. An error that escapes a handler goes to `failed`, and its record stays unacknowledged. `took` gets the
    name of the step and the seconds that its handler took; `give_way` is awaited before each turn of an agent.
    `open_record` opens what was sealed, for Faust reads around the log; a record whose user was erased is done at once.
    """
    spare_pauses()
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
        broker_request_timeout=max(REQUEST_SECONDS, session_seconds),
        broker_heartbeat_interval=min(HEARTBEAT_SECONDS, session_seconds / HEARTBEATS),
        # Not shorter: a worker that does not join the rebalance holds its partitions until its session ends.
        broker_rebalance_timeout=session_seconds,
        canonical_url=url,
        TableManager=_NoTables,
    )

    def consume(topics: tuple[str, ...], handler: Observe | Remember | Project, label: str) -> None:
        channel = app.topic(*topics, key_serializer="raw", value_serializer="raw", key_type=bytes, value_type=bytes)

        async def run(stream: Any) -> None:  # noqa: ANN401 - Faust's stream is untyped
            take_turns()
            turn = time.perf_counter()
            async for event in stream.noack().events():
                began = time.perf_counter()
                if began - turn > LONGEST_TURN_SECONDS:
                    await give_way()
                    turn = began = time.perf_counter()
                if not is_current(app, event.message):
                    continue  # it is delivered again, after those before it
                try:
                    delivery = _delivery(event, app)
                    if open_record is not None and handler is not project:  # which looks at no record's content
                        delivery = await _opened(delivery, open_record)
                    if delivery.record.is_erased:
                        event.ack()
                        continue
                    await retry(partial(_handle_current, handler, delivery), ShardDamaged)
                    took(label, time.perf_counter() - began)
                except NotHeld:
                    continue  # revoked meanwhile: the record is delivered again to the partition's new owner
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
    app: faust.App,
    observe: Observe,
    remember: Remember,
    moved: AssignmentListener,
    failed: Callable[[BaseException], None],
) -> None:
    """Pass assignments and revocations on to the agents and to `moved`."""

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
                observe.revoke(partition)  # a worker whose session ended gets an assignment without a revocation
                remember.revoke(partition)
            moved.assigned(partitions)
        except Exception as error:  # noqa: BLE001 - the boundary of a step
            failed(error)

    app.on_partitions_revoked.connect(revoked)
    app.on_partitions_assigned.connect(assigned)


def _assigned(places: set[TP]) -> list[int]:
    """Return the partitions of an assignment. Raises LogError unless all topics of users have the same ones."""
    by_topic = {topic.name: {tp.partition for tp in places if tp.topic == topic.name} for topic in OF_USERS}
    if len(set(map(frozenset, by_topic.values()))) > 1:
        raise LogError(f"topics of users are not assigned together ({by_topic}): give them equal partition counts")
    return sorted(by_topic[LEDGER.name])


def is_in_session(app: faust.App) -> bool:
    """Return whether this worker's session lasts, so that no other worker can have its partitions."""
    consumer: Any = app.consumer
    return bool(consumer.is_in_session())


async def leave_group(app: faust.App) -> None:
    """Leave the group ahead of `app.stop()`, which takes its time. The caller has ended its leases."""
    consumer: Any = app.consumer
    await consumer.leave()


def owners(app: faust.App) -> dict[int, str]:
    """Return the URL of each partition's worker, as of the last rebalance that this worker took part in."""
    by_url = app.router.external_topics_metadata()
    return {int(p): str(url) for url, topics in by_url.items() for p in topics.get(LEDGER.name, ())}


def urls(app: faust.App) -> list[str]:
    """Return the URLs of all workers, also of those without a partition."""
    return sorted(str(url) for url in app.router.external_topics_metadata())


def withhold(app: faust.App, partitions: Collection[int]) -> None:
    """Stop the delivery of these partitions from now on, and resume that of all others."""
    consumer: Any = app.consumer
    consumer.withhold({TP(topic.name, partition) for partition in partitions for topic in OF_USERS})


def deliver_again(app: faust.App, partitions: Collection[int], topics: Collection[Topic] = OF_USERS) -> None:
    """Deliver all records of these partitions again that are not acknowledged; the others' delivery goes on.

    Until then nothing of them is to be delivered: see `withhold`.
    """
    consumer: Any = app.consumer
    consumer.starts.again({TP(topic.name, partition) for partition in partitions for topic in topics})


def is_current(app: faust.App, message: Any) -> bool:  # noqa: ANN401 - Faust's message is untyped
    """Return whether a message belongs to the present delivery of its partition; a stale one is delivered again."""
    consumer: Any = app.consumer
    return bool(message.generation_id == app.consumer_generation_id and consumer.starts.is_current(message))


def member_id(app: faust.App) -> str | None:
    """Return this worker's id in Kafka's group; None before it has joined."""
    consumer: Any = app.consumer
    its_id: str | None = consumer.member_id
    return its_id


def handled(app: faust.App, topic: str, partition: int) -> int:
    """Return the offset before which all records of a partition are acknowledged, in this worker's assignment."""
    consumer: Any = app.consumer
    return int(consumer.handled(TP(topic, partition)))


async def _handle_current(handler: Observe | Remember | Project, delivery: Delivery) -> None:
    """Handle a record, unless it is delivered again: damage to the shard of its own partition brings that about."""
    if delivery.is_current():
        await handler.handle(delivery)


async def _opened(delivery: Delivery, open_record: Callable[[Record], Awaitable[Record]]) -> Delivery:
    """Return a delivery of the record as it was appended; waits while its key cannot be read."""
    opened = await retry(partial(open_record, delivery.record), LogUnavailable)
    return delivery if opened is delivery.record else Delivery(opened, delivery.ack, delivery.is_current)


def _delivery(event: Any, app: faust.App) -> Delivery:  # noqa: ANN401 - Faust's event is untyped
    message = event.message
    record = Record(
        position=Position(message.topic, message.partition, message.offset),
        recorded_at=datetime.fromtimestamp(message.timestamp, UTC),
        key=message.key,
        value=message.value,
        headers=tuple(message.headers.items() if isinstance(message.headers, dict) else message.headers or ()),
    )
    return Delivery(record, event.ack, partial(is_current, app, message))
