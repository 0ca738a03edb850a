"""What every log does: one behaviour suite. A test module per engine subclasses `LogSuite` and gives it a `log`."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Protocol
from uuid import uuid4

import pytest

from schemas.log import Log, LogError, NewRecord, Position, TrimmedLog, UnknownTopic

if TYPE_CHECKING:
    from schemas.log import Record


class TopicLog(Log, Protocol):
    """A log that can also create topics: both of ours can."""

    async def create_topic(
        self, name: str, partitions: int, retention: timedelta | None = None, *, compact: bool = False
    ) -> None:
        """Create a topic, or leave it as it is."""
        ...


class TrimmedTopicLog(TopicLog, TrimmedLog, Protocol):
    """One whose oldest records can be removed."""


def new(topic: str, value: bytes, partition: int = 0, key: bytes | None = b"default/xiaoming") -> NewRecord:
    """Return a record to append, with Xiaoming as its user."""
    return NewRecord(topic=topic, partition=partition, key=key, value=value)


async def read_all(log: Log, topic: str, partition: int = 0, limit: int = 1000) -> list[Record]:
    """Read a partition from its start to its end."""
    records: list[Record] = []
    while page := await log.read(topic, partition, records[-1].position.offset + 1 if records else 0, limit):
        records += page
    return records


class LogSuite:
    """The contract of `schemas.log.Log`."""

    @pytest.fixture
    async def topic(self, log: TopicLog) -> str:
        """Return a topic of three partitions that nobody has used."""
        name = f"topic-{uuid4()}"
        await log.create_topic(name, 3)
        return name

    async def test_an_empty_partition_ends_where_it_begins(self, log: TopicLog, topic: str):
        assert (await log.earliest(topic, 1), await log.end(topic, 1), await log.read(topic, 1, 0)) == (0, 0, [])

    async def test_what_was_acknowledged_is_read_back_in_order(self, log: TopicLog, topic: str):
        appended = await log.append([new(topic, b"one"), new(topic, b"two"), new(topic, b"three")])
        records = await log.read(topic, 0, 0)
        assert [record.value for record in records] == [b"one", b"two", b"three"]
        assert [(a.position, a.recorded_at) for a in appended] == [(r.position, r.recorded_at) for r in records]
        assert appended[0].position == Position(topic, 0, 0)

    async def test_each_partition_counts_its_own_offsets(self, log: TopicLog, topic: str):
        appended = await log.append([new(topic, b"a", 0), new(topic, b"b", 2), new(topic, b"c", 0)])
        assert [(a.position.partition, a.position.offset) for a in appended] == [(0, 0), (2, 0), (0, 1)]
        assert [await log.end(topic, partition) for partition in range(3)] == [2, 0, 1]

    async def test_key_value_and_headers_come_back_byte_for_byte(self, log: TopicLog, topic: str):
        headers = (("ce_id", b"\x00\xff"), ("ce_type", "记住".encode()), ("ce_id", b""))
        record = NewRecord(
            topic=topic, partition=0, key="default/小明".encode(), value=bytes(range(256)), headers=headers
        )
        await log.append([record, new(topic, b"", key=None)])
        first, second = await log.read(topic, 0, 0)
        assert (first.key, first.value, first.headers) == (record.key, record.value, headers)
        assert (second.key, second.value, second.headers) == (None, b"", ())

    async def test_a_large_value_comes_back(self, log: TopicLog, topic: str):
        value = bytes(range(256)) * 3000
        await log.append([new(topic, value)])
        assert [record.value for record in await log.read(topic, 0, 0)] == [value]

    async def test_appending_nothing_is_nothing(self, log: TopicLog, topic: str):
        assert await log.append([]) == []
        assert await log.end(topic, 0) == 0

    async def test_a_read_starts_at_its_start_and_stops_at_its_limit(self, log: TopicLog, topic: str):
        await log.append([new(topic, b"%d" % n) for n in range(10)])
        assert [record.value for record in await log.read(topic, 0, 4, 3)] == [b"4", b"5", b"6"]
        assert [record.value for record in await log.read(topic, 0, 9, 3)] == [b"9"]
        assert [record.value for record in await log.read(topic, 0, 2, 2)] == [b"2", b"3"]

    async def test_reading_beyond_the_end_is_empty_and_does_not_wait(self, log: TopicLog, topic: str):
        await log.append([new(topic, b"only")])
        async with asyncio.timeout(60):  # nothing is appended that it could wait for
            assert await log.read(topic, 0, 1) == []
            assert await log.read(topic, 0, 100) == []

    async def test_a_reader_that_reads_on_meets_each_record_once(self, log: TopicLog, topic: str):
        for round_ in range(3):
            await log.append([new(topic, b"%d" % (round_ * 500 + n)) for n in range(500)])
        values = [int(record.value) for record in await read_all(log, topic, limit=64)]
        assert values == list(range(1500))

    async def test_what_is_appended_after_a_read_is_in_the_next(self, log: TopicLog, topic: str):
        for n in range(5):
            await log.append([new(topic, b"%d" % n)])
            assert [record.value for record in await log.read(topic, 0, n)] == [b"%d" % n]

    async def test_concurrent_calls_keep_the_order_within_each_call(self, log: TopicLog, topic: str):
        calls = [log.append([new(topic, b"%d/%d" % (call, n)) for n in range(10)]) for call in range(20)]
        offsets = [a.position.offset for appended in await asyncio.gather(*calls) for a in appended]
        records = await read_all(log, topic)
        assert sorted(offsets) == list(range(200))
        for call in range(20):
            mine = [r.value for r in records if r.value.startswith(b"%d/" % call)]
            assert mine == [b"%d/%d" % (call, n) for n in range(10)]

    async def test_concurrent_readers_of_several_partitions_do_not_disturb_each_other(self, log: TopicLog, topic: str):
        await log.append([new(topic, b"%d" % n, n % 3) for n in range(300)])
        pages = await asyncio.gather(*(read_all(log, topic, p, limit=7) for p in (0, 1, 2, 0, 1, 2)))
        expected = [[b"%d" % n for n in range(300) if n % 3 == p] for p in (0, 1, 2, 0, 1, 2)]
        assert [[record.value for record in page] for page in pages] == expected

    async def test_log_time_is_aware_utc_and_never_decreases(self, log: TopicLog, topic: str):
        before = datetime.now(UTC) - timedelta(seconds=5)
        for n in range(20):
            await log.append([new(topic, b"%d" % n), new(topic, b"%d" % n)])
        times = [record.recorded_at for record in await read_all(log, topic)]
        assert times == sorted(times)
        assert before < times[0] <= times[-1] < before + timedelta(minutes=10)
        assert {time.utcoffset() for time in times} == {timedelta(0)}

    async def test_an_unknown_topic_is_refused_everywhere(self, log: TopicLog, topic: str):
        name = f"missing-{uuid4()}"
        with pytest.raises(UnknownTopic, match=name):
            await log.append([new(topic, b"good"), new(name, b"bad")])
        for call in (log.read(name, 0, 0), log.end(name, 0), log.earliest(name, 0), log.partitions(name)):
            with pytest.raises(UnknownTopic, match=name):
                await call
        assert await log.end(topic, 0) == 0

    async def test_an_unknown_partition_is_refused_everywhere(self, log: TopicLog, topic: str):
        calls = (log.append([new(topic, b"x", 3)]), log.read(topic, 3, 0), log.end(topic, 3), log.earliest(topic, -1))
        for call in calls:
            with pytest.raises(UnknownTopic, match=topic):
                await call

    async def test_a_topic_is_created_once_and_keeps_its_partitions(self, log: TopicLog, topic: str):
        await log.append([new(topic, b"kept")])
        await log.create_topic(topic, 3)
        assert await log.partitions(topic) == 3
        assert await log.end(topic, 0) == 1
        with pytest.raises(LogError, match="3 partitions"):
            await log.create_topic(topic, 4)


class TrimmedLogSuite(LogSuite):
    """The contract of `schemas.log.TrimmedLog`."""

    async def test_what_is_dropped_is_gone_twice_is_once_and_the_offsets_stay(self, log: TrimmedTopicLog, topic: str):
        await log.append([new(topic, b"%d" % n) for n in range(5)])
        await log.append([new(topic, b"other", 1)])
        for _ in range(2):
            await log.drop_before(topic, 0, 3)
        assert (await log.earliest(topic, 0), await log.end(topic, 0)) == (3, 5)
        assert [(r.position.offset, r.value) for r in await log.read(topic, 0, 0)] == [(3, b"3"), (4, b"4")]
        [appended] = await log.append([new(topic, b"5")])
        assert (appended.position.offset, await log.earliest(topic, 1)) == (5, 0)
        with pytest.raises(UnknownTopic, match=topic):
            await log.drop_before(topic, 3, 1)
