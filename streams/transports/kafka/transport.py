"""The Faust transport `kafka://host:port`: aiokafka, with safe commits, guarded acknowledgements, no duplicates."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar, Final

from faust.transport.drivers import aiokafka as driver
from faust.types import TP

from schemas.topics import partition_of
from streams.transports.kafka.topics import APPEND_TIME
from streams.transports.safe_delivery import SafeDelivery

if TYPE_CHECKING:
    from collections.abc import Mapping, MutableMapping

    from faust.types import ConsumerT, ProducerT

COMMIT_SECONDS: Final = 5.0
"""A commit that takes longer is given up: the next one says the same or more, and what is not committed comes again."""
LEAVE_SECONDS: Final = 3.0
"""How long a worker that stops tries to leave the group."""


class ConsumerThread(driver.AIOKafkaConsumerThread):
    """The thread that speaks to the group; it knows when the group last heard of this worker."""

    heard = 0.0
    """When the group last heard of this worker, by `time.monotonic`: when it was given its partitions, or sent the last
    heartbeat that was answered while the group was not rebalancing."""

    async def on_start(self) -> None:
        """Watch the heartbeats, and hear what becomes of a commit that is given up."""
        await super().on_start()
        coordinator = self._ensure_consumer()._coordinator  # noqa: SLF001 - aiokafka tells nobody
        beat = coordinator._do_heartbeat  # noqa: SLF001

        async def watched() -> bool:
            sent = time.monotonic()
            heard = bool(await beat())
            # A group that rebalances answers whoever has not joined again, and then goes on without it
            if heard and not coordinator._rejoin_needed_fut.done():  # noqa: SLF001
                self.heard = sent
            return heard

        coordinator._do_heartbeat = watched  # noqa: SLF001
        commit = coordinator._do_commit_offsets  # noqa: SLF001

        def heard_of(*arguments: Any) -> asyncio.Task[None]:  # noqa: ANN401 - passed on
            task = asyncio.get_running_loop().create_task(commit(*arguments))
            task.add_done_callback(lambda done: done.cancelled() or done.exception())
            return task

        coordinator._do_commit_offsets = heard_of  # noqa: SLF001

    async def on_partitions_assigned(self, assigned: set[TP], generation_id: int = 0) -> None:
        """Begin a session: the group has just heard of this worker, whose main loop may come to it much later."""
        self.heard = time.monotonic()
        await super().on_partitions_assigned(assigned, generation_id)

    async def _commit(self, offsets: Mapping[TP, int]) -> bool:
        """Commit, or say that the group did not take it: aiokafka would try until the broker is back."""
        try:
            async with asyncio.timeout(COMMIT_SECONDS):
                return bool(await super()._commit(offsets))
        except TimeoutError:
            return False

    async def on_thread_stop(self) -> None:
        """Leave the group, if a broker answers: who does not leave is missed after a session."""
        try:
            async with asyncio.timeout(LEAVE_SECONDS):
                await super().on_thread_stop()
        except (TimeoutError, asyncio.CancelledError):  # aiokafka's fetcher, cancelled while it waits, raises that too
            if self._consumer is not None:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._consumer._client.close(), LEAVE_SECONDS)  # noqa: SLF001 - `stop` did not come to it


class Consumer(SafeDelivery, driver.Consumer):
    """Faust's Kafka consumer, delivering safely."""

    _thread: ConsumerThread

    def _new_consumer_thread(self) -> ConsumerThread:
        return ConsumerThread(self, loop=self.loop, beacon=self.beacon)

    def verify_event_path(self, now: float, tp: TP) -> None:
        """Say nothing: Faust guesses that a partition hangs where one is idle, waits for its agent, or has just come.

        What is behind is in the metrics, and that the log does not answer is said by the worker.
        """

    def is_in_session(self) -> bool:
        """Tell whether no other worker can have been given this one's partitions.

        One that was frozen, or cut off from the broker, for longer than the group's session cannot know.
        """
        return time.monotonic() - self._thread.heard < self.app.conf.broker_session_timeout

    @property
    def member_id(self) -> str | None:
        """The id that the group has given to this process; None before it has."""
        consumer = self._thread._consumer  # noqa: SLF001 - aiokafka tells nobody
        return (consumer._coordinator.member_id or None) if consumer is not None else None  # noqa: SLF001

    # A partition that is full again is not in the fetch that runs: it must not wait a second for the others.
    poll_timeout_s = 0.25

    async def seek_to_committed(self) -> Mapping[TP, int]:
        """Go to where the group is to go on; where it has committed nothing, to the beginning.

        aiokafka leaves a partition without a commit where its last fetch ended: what was fetched and not delivered at a
        rebalance would be lost.
        """
        committed: Mapping[TP, int] = await super().seek_to_committed()
        if self.app.conf.consumer_auto_offset_reset == "earliest":
            changelogs = self.app.tables.changelog_topics
            new = [tp for tp, offset in committed.items() if offset is None and tp.topic not in changelogs]
            if new:
                await self._thread.call_thread(self._seek_all_in_thread, await self.earliest_offsets(*new))
        return committed

    async def _seek_all_in_thread(self, offsets: Mapping[TP, int]) -> None:
        # To explicit offsets: between `seek_to_beginning` and its answer a partition has no position, and Faust's
        # livelock detector, which asks for it, would crash the app.
        for tp, offset in offsets.items():
            if tp in self.assignment():
                await self._seek(tp, offset)

    async def _rewind(self, tp: TP, record: Any) -> None:  # noqa: ANN401 - aiokafka's record
        await self._thread.call_thread(self._seek_in_thread, tp, record.offset, self.app.consumer_generation_id)

    async def _seek_in_thread(self, tp: TP, offset: int, generation: int) -> None:
        # The thread may have been in the middle of a rebalance, and the new generation sets its own positions
        if generation == self.app.consumer_generation_id and tp in self.assignment():
            await self._seek(tp, offset)


class Producer(driver.Producer):
    """Faust's Kafka producer, which a broker does not take twice from, and waits for all in-sync replicas."""

    def _settings_extra(self) -> Mapping[str, Any]:
        return {"acks": "all", "enable_idempotence": True}

    def key_partition(self, topic: str, key: bytes) -> TP:
        """Return the key's partition; Faust's own knows only topics that this producer has sent to."""
        count = self.app.consumer.topic_partitions(topic)
        return super().key_partition(topic, key) if count is None else TP(topic, partition_of(key, count))


class Transport(driver.Transport):
    """Creates topics with the broker's append time."""

    Consumer: ClassVar[type[ConsumerT]] = Consumer
    Producer: ClassVar[type[ProducerT]] = Producer

    def _topic_config(self, *args: Any, **kwargs: Any) -> MutableMapping[str, Any]:  # noqa: ANN401 - Faust's signature
        return {**super()._topic_config(*args, **kwargs), **APPEND_TIME}
