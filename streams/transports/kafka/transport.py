"""The Faust transport `kafka://host:port`: aiokafka with safe delivery and an idempotent producer."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar, Final

from faust.transport.drivers import aiokafka as driver
from faust.types import TP

from schemas.topics import partition_of
from streams.transports.kafka.aiokafka_parts import coordinator_of, is_rebalancing, network_of, observe
from streams.transports.kafka.topics import APPEND_TIME
from streams.transports.safe_delivery import SafeDelivery

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Mapping, MutableMapping

    from faust.types import ConsumerT, ProducerT

COMMIT_SECONDS: Final = 5.0
"""A commit that takes longer is given up: the next one commits the same or more."""
LEAVE_SECONDS: Final = 3.0
"""How long a stopping worker waits to leave the group."""


class ConsumerThread(driver.AIOKafkaConsumerThread):
    """The thread that communicates with the group. It records when this worker's session was last renewed."""

    renewed = 0.0
    """The time at which the session was last renewed, by `time.monotonic`: when partitions were assigned, or when the
    last heartbeat was sent that the group answered while it was not rebalancing. The time of sending counts, not that
    of the answer, because the group may count from then on."""

    has_left = False
    """Whether the worker has left the group, so that others may have its partitions."""

    async def on_start(self) -> None:
        """Watch the heartbeats, and retrieve the errors of abandoned commits."""
        await super().on_start()
        consumer = self._ensure_consumer()

        def watched(beat: Callable[[], Awaitable[bool]]) -> Callable[[], Awaitable[bool]]:
            async def watch() -> bool:
                sent = time.monotonic()
                is_answered = bool(await beat())
                # A group that rebalances answers a member that has not joined again, and then goes on without it.
                if is_answered and not is_rebalancing(consumer):
                    self.renewed = sent
                return is_answered

            return watch

        def spared(commit: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., asyncio.Task[None]]:
            def spare(*arguments: Any) -> asyncio.Task[None]:  # noqa: ANN401 - passed on
                task = asyncio.get_running_loop().create_task(commit(*arguments))
                task.add_done_callback(lambda done: done.cancelled() or done.exception())
                return task

            return spare

        observe(consumer, watched, spared)

    async def on_partitions_assigned(self, assigned: set[TP], generation_id: int = 0) -> None:
        """Begin a session now: the main loop may handle the assignment much later."""
        self.renewed = time.monotonic()
        await super().on_partitions_assigned(assigned, generation_id)

    @property
    def member_id(self) -> str | None:
        """The id of this worker in the group; None before it has joined."""
        return None if self._consumer is None else coordinator_of(self._consumer).member_id or None

    async def leave(self) -> None:
        """Leave the group if a broker answers in time. From now on, nothing is committed."""
        self.has_left = True
        if self._consumer is not None:
            with suppress(TimeoutError):
                await asyncio.wait_for(coordinator_of(self._consumer).close(), LEAVE_SECONDS)

    async def _commit(self, offsets: Mapping[TP, int]) -> bool:
        """Return whether the group took the commit in time: aiokafka would retry until the broker is back."""
        if self.has_left:
            return False
        try:
            async with asyncio.timeout(COMMIT_SECONDS):
                return bool(await super()._commit(offsets))
        except TimeoutError:
            return False

    async def on_thread_stop(self) -> None:
        """Leave the group if a broker answers; otherwise the group notices when the session ends."""
        try:
            async with asyncio.timeout(LEAVE_SECONDS):
                await super().on_thread_stop()
        except (TimeoutError, asyncio.CancelledError):  # aiokafka's fetcher, cancelled while it waits, raises that too
            if self._consumer is not None:
                with suppress(TimeoutError):
                    await asyncio.wait_for(network_of(self._consumer).close(), LEAVE_SECONDS)


class Consumer(SafeDelivery, driver.Consumer):
    """Faust's Kafka consumer, delivering safely."""

    _thread: ConsumerThread

    def _new_consumer_thread(self) -> ConsumerThread:
        return ConsumerThread(self, loop=self.loop, beacon=self.beacon)

    def verify_event_path(self, now: float, tp: TP) -> None:
        """Do nothing: Faust would report idle, waiting and new partitions as stuck.

        Metrics show the backlog, and the worker reports a log that does not answer.
        """

    def is_in_session(self) -> bool:
        """Return whether this worker's session is still valid, so that no other worker can have its partitions.

        A worker that was frozen or cut off from the broker for longer has to assume that others have them.
        """
        return time.monotonic() - self._thread.renewed < self.app.conf.broker_session_timeout

    async def leave(self) -> None:
        """Commit the finished work and leave the group, so that others take over while this worker closes.

        The caller must have ended its leases. A group that does not answer in time notices when the session ends.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(LEAVE_SECONDS):
                await self.commit()
                await self._thread.call_thread(self._thread.leave)

    @property
    def member_id(self) -> str | None:
        """The id of this worker in the group; None before it has joined."""
        return self._thread.member_id

    poll_timeout_s = 0.25
    """Shorter than the default, because a partition whose queue has room again must wait for the running fetch to end
    before it is fetched."""

    async def seek_to_committed(self) -> Mapping[TP, int]:
        """Seek to the committed offsets, and to the beginning of partitions without one.

        aiokafka leaves a partition without a commit where its last fetch ended: records that were fetched but not
        delivered before a rebalance would be lost.
        """
        committed: Mapping[TP, int] = await super().seek_to_committed()
        if self.app.conf.consumer_auto_offset_reset == "earliest":
            changelogs = self.app.tables.changelog_topics
            new = [tp for tp, offset in committed.items() if offset is None and tp.topic not in changelogs]
            if new:
                await self._thread.call_thread(self._seek_all_in_thread, await self.earliest_offsets(*new))
        return committed

    async def _seek_all_in_thread(self, offsets: Mapping[TP, int]) -> None:
        # Seek to explicit offsets: between `seek_to_beginning` and its answer, a partition has no position, and Faust's
        # livelock detector, which requests it, would crash the app.
        for tp, offset in offsets.items():
            if tp in self.assignment():
                await self._seek(tp, offset)

    async def _rewind(self, tp: TP, record: Any) -> None:  # noqa: ANN401 - aiokafka's record
        await self._thread.call_thread(self._seek_in_thread, tp, record.offset, self.app.consumer_generation_id)

    async def _seek_in_thread(self, tp: TP, offset: int, generation: int) -> None:
        # The thread may have been in the middle of a rebalance; the new generation sets its own positions.
        if generation == self.app.consumer_generation_id and tp in self.assignment():
            await self._seek(tp, offset)


class Producer(driver.Producer):
    """Faust's Kafka producer, made idempotent, which waits for all in-sync replicas."""

    def _settings_extra(self) -> Mapping[str, Any]:
        return {"acks": "all", "enable_idempotence": True}

    def key_partition(self, topic: str, key: bytes) -> TP:
        """Return the key's partition; Faust's own method knows only topics that this producer has sent to."""
        count = self.app.consumer.topic_partitions(topic)
        return super().key_partition(topic, key) if count is None else TP(topic, partition_of(key, count))


class Transport(driver.Transport):
    """Creates topics with the broker's append time."""

    Consumer: ClassVar[type[ConsumerT]] = Consumer
    Producer: ClassVar[type[ProducerT]] = Producer

    def _topic_config(self, *args: Any, **kwargs: Any) -> MutableMapping[str, Any]:  # noqa: ANN401 - Faust's signature
        return {**super()._topic_config(*args, **kwargs), **APPEND_TIME}
