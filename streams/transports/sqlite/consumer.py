"""Faust's consumer over the embedded log: one process has every partition, and rebalances only on request."""

from __future__ import annotations

import asyncio
import zlib
from collections import defaultdict
from contextlib import suppress
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar

from faust.assignor.client_assignment import ClientAssignment, ClientMetadata
from faust.types import TP, ConsumerMessage

from schemas.log import LogUnavailable
from schemas.topics import partition_of
from streams.transports.safe_delivery import SafeDelivery
from streams.transports.sqlite.unread_records import UnreadRecords

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from faust.types import AppT

    from schemas.log import Record
    from streams.transports.sqlite.log import SqliteLog

RECORDS_AT_ONCE = 500  # the most of one partition in one fetch; Faust's broker_max_poll_records overrides it
LOG_APPEND_TIME = 1  # Kafka's timestamp type of a time that the log has set


class Consumer(SafeDelivery):
    """Delivers records of the transport's log to the app's agents."""

    consumer_stopped_errors: ClassVar[tuple[type[BaseException], ...]] = ()

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - Faust's signature, passed on
        super().__init__(*args, **kwargs)
        self._assigned: set[TP] = set()
        self._unread = UnreadRecords(
            self._partitions_changed.set, self.app.conf.broker_max_poll_records or RECORDS_AT_ONCE
        )
        self._rebalancing = asyncio.Lock()

    @property
    def log_(self) -> SqliteLog:
        """The log (`log` is Faust's name for its logger)."""
        return self.transport.sqlite_log  # type: ignore[attr-defined,no-any-return] # ours, not in Faust's interface

    # -- assignment

    async def subscribe(self, topics: Iterable[str]) -> None:
        """Replace the subscription; missing topics are created with the app's number of partitions."""
        self._unread.follow(self.log_)
        names = set(topics)
        for topic in names - self.log_.topics().keys():
            await self.log_.create_topic(topic, self.app.conf.topic_partitions)
        counts = {topic: self.log_.topics()[topic].partitions for topic in names}
        # Not awaited: the rebalance waits for something that Faust does only after this coroutine has returned.
        self.add_future(self.rebalance({TP(topic, p) for topic, count in counts.items() for p in range(count)}))

    async def rebalance(self, assigned: set[TP] | None = None) -> None:
        """Revoke all partitions and assign `assigned`, by default the same ones, in a new generation.

        As after any rebalance, uncommitted records are delivered again, and late acknowledgements do not count.
        """
        async with self._rebalancing:
            app = self.app
            app.on_rebalance_start()
            if self._assigned:
                await self.on_partitions_revoked(set(self._assigned))
            # The generation, the assignment and the data of Faust's router are set before anything is delivered.
            app.consumer_generation_id += 1
            self._assigned = set(self._assigned if assigned is None else assigned)
            self._unread.clear()
            _fill_assignor(app, self._assigned)
            await self.on_partitions_assigned(set(self._assigned), app.consumer_generation_id)

    async def leave(self) -> None:
        """Do nothing: there is no group, and no other worker to take over."""

    def is_in_session(self) -> bool:
        """Return True: no other worker can have this machine's partitions."""
        return True

    def assignment(self) -> set[TP]:
        """Return the partitions of this generation."""
        return self._assigned

    # -- reading

    async def on_stop(self) -> None:
        """Stop following the log."""
        await super().on_stop()
        self._unread.close()

    async def _getmany(self, active_partitions: set[TP] | None, timeout: float) -> dict[TP, list[Record]]:  # noqa: ASYNC109
        """Fetch the available records, or wait until the log grows or more partitions may be fetched from.

        In the latter case, the caller calls again with all partitions that may be fetched from by then.
        """
        active = self._assigned if active_partitions is None else active_partitions
        if not (fetched := await self._fetched(active)) and timeout > 0:
            with suppress(TimeoutError):
                async with asyncio.timeout(timeout):
                    await self._partitions_changed.wait()
            fetched = await self._fetched(active)
        return fetched

    async def _fetched(self, active: set[TP]) -> dict[TP, list[Record]]:
        if not self.flow_active or self.should_stop:
            return {}
        behind = [tp for place in self._unread.places() if (tp := TP(*place)) in active]
        return {tp: records for tp in behind if (records := await self._unread.take(tp))}

    def _to_message(self, tp: TP, record: Record) -> ConsumerMessage:
        return ConsumerMessage(
            tp.topic,
            tp.partition,
            record.position.offset,
            record.recorded_at.timestamp(),
            LOG_APPEND_TIME,
            list(record.headers),
            record.key,
            record.value,
            None,
            tp=tp,
            generation_id=self.app.consumer_generation_id,
        )

    # -- positions

    async def seek_to_committed(self) -> Mapping[TP, int | None]:  # type: ignore[override] # None: nothing committed
        """Go to the committed offsets, and return them. A partition without one begins where the reset policy says."""
        committed = {tp: self.log_.committed(self.app.conf.id, *tp) for tp in self._assigned}
        for tp, offset in committed.items():
            if tp.topic not in self.app.tables.changelog_topics:
                self._unread.go_to(tp, offset if offset is not None else await self._reset_position(tp))
        return committed

    async def _reset_position(self, tp: TP) -> int:
        if self.app.conf.consumer_auto_offset_reset == "latest":
            return await self.log_.end(*tp)
        return await self.log_.earliest(*tp)

    async def _commit(self, offsets: Mapping[TP, int]) -> bool:
        try:
            await self.log_.commit_offsets(self.app.conf.id, {(tp.topic, tp.partition): o for tp, o in offsets.items()})
        except LogUnavailable as error:
            self.log.warning("the offsets were not committed, the next commit tries again: %s", error)
            return False
        return True

    async def _rewind(self, tp: TP, offset: int) -> None:
        self._unread.go_to(tp, offset)

    async def _seek(self, partition: TP, offset: int) -> None:
        self._unread.go_to(partition, offset)

    async def seek_wait(self, partitions: Mapping[TP, int]) -> None:
        """Go to these offsets, and set `_read_offset`, on which Faust's recovery of tables relies."""
        for tp, offset in partitions.items():
            self._unread.go_to(tp, offset)
            if offset > 0:
                self._read_offset[tp] = offset
            else:
                self._read_offset.pop(tp, None)

    async def position(self, tp: TP) -> int | None:
        """Return the next offset to fetch."""
        return self._unread.position(tp)

    def highwater(self, tp: TP) -> int:
        """Return the offset that the next record will get."""
        return self.log_.end_now(*tp)

    async def highwaters(self, *partitions: TP) -> Mapping[TP, int]:
        """Return the `highwater` of each partition."""
        return {tp: self.highwater(tp) for tp in partitions}

    async def earliest_offsets(self, *partitions: TP) -> Mapping[TP, int]:
        """Return the first offset that each partition still has."""
        return {tp: await self.log_.earliest(*tp) for tp in partitions}

    # -- topics

    async def create_topic(self, topic: str, partitions: int, replication: int, **settings: Any) -> None:  # noqa: ANN401, ARG002
        """See the transport's `create_topic`; one machine keeps no replicas."""
        await self.transport.create_topic(topic, partitions, **settings)  # type: ignore[attr-defined] # ours

    def topic_partitions(self, topic: str) -> int | None:
        """Return the topic's number of partitions; None if there is no such topic."""
        settings = self.log_.topics().get(topic)
        return settings.partitions if settings else None

    def key_partition(self, topic: str, key: bytes | None, partition: int | None = None) -> int | None:
        """Return `partition`, or else the key's partition; None without either, or if the key's topic is unknown."""
        count = self.topic_partitions(topic)
        if partition is not None or key is None or count is None:
            return partition
        return partition_of(key, count)

    def _new_topicpartition(self, topic: str, partition: int) -> TP:
        return TP(topic, partition)


def _fill_assignor(app: AppT, assigned: Collection[TP]) -> None:
    """Give Faust's assignor the answer that it would get from the group's leader."""
    actives: defaultdict[str, list[int]] = defaultdict(list)
    for tp in sorted(assigned):
        actives[tp.topic].append(tp.partition)
    url, changelogs = str(app.conf.canonical_url), app.tables.changelog_topics
    metadata = ClientMetadata(
        assignment=ClientAssignment(actives=dict(actives), standbys={}),
        url=url,
        changelog_distribution={url: {t: p for t, p in actives.items() if t in changelogs}},
        external_topic_distribution={url: {t: p for t, p in actives.items() if t not in changelogs}},
        topic_groups=dict.fromkeys(actives, 0),
    )
    answer: Any = SimpleNamespace(assignment=list(actives.items()), user_data=zlib.compress(metadata.dumps()))
    assignor: Any = app.assignor
    assignor.on_assignment(answer)
