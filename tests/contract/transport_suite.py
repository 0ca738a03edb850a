"""What every Faust transport does: one behaviour suite. A test module per engine subclasses `TransportSuite`."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from contract.back_pressure_suite import BackPressureSuite
from contract.log_suite import TopicLog, new, read_all
from contract.transport_worker import COMMIT_INTERVAL_S, PARTITIONS, PATIENCE_S, Worker
from faust.transport.drivers import TRANSPORTS
from faust.types import TP

from schemas.log import NewRecord

if TYPE_CHECKING:
    from collections.abc import Callable


class TransportSuite(BackPressureSuite):
    """What an agent may rely on. An engine gives `url`, `log` (the same engine's) and `rebalance`."""

    scheme: str
    transport: str

    @pytest.fixture(autouse=True)
    def _registered(self) -> None:
        # as the entry point does where the distribution is installed
        assert TRANSPORTS.by_name("aiokafka")  # now the entry points are read, and do not come on top later
        TRANSPORTS.aliases[self.scheme] = self.transport

    @pytest.fixture
    async def topic(self, log: TopicLog) -> str:
        """Return a new topic: Faust would notice one that is created later only after 45 s."""
        name = f"topic-{uuid4()}"
        await log.create_topic(name, PARTITIONS)
        return name

    @pytest.fixture
    def worker(self, url: str, topic: str, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Worker]:
        """Return a maker of workers of one consumer group."""
        group = f"group-{uuid4()}"

        def data_directory() -> str:
            return str(tmp_path_factory.mktemp("faust"))

        def make(**settings: Any) -> Worker:
            return Worker(**{"url": url, "group": group, "topic": topic, "datadir": data_directory(), **settings})

        return make

    async def rebalance(self, worker: Worker) -> None:
        """Start a new generation in which the worker has the same partitions."""
        raise NotImplementedError

    async def test_an_agent_gets_bytes_headers_and_log_time_as_they_are_in_the_log(self, log, topic, worker):
        headers = (("ce_id", b"\x00\xff"), ("ce_type", b"TurnRecorded"))
        sent = NewRecord(topic=topic, partition=1, key=b"default/xiaoming", value=b"\xc3\x01\x00", headers=headers)
        [appended] = await log.append([sent])
        async with worker().running() as w:
            await w.has(1)
            message = w.events[0].message
            assert (message.key, message.value, tuple(message.headers)) == (sent.key, sent.value, headers)
            assert (message.partition, message.offset) == (1, 0)
            assert message.timestamp == pytest.approx(appended.recorded_at.timestamp(), abs=0.0005)

    async def test_what_is_appended_while_an_agent_waits_arrives_soon(self, log, topic, worker):
        async with worker().running() as w:
            for n in range(5):
                await log.append([new(topic, b"%d" % n)])
                async with asyncio.timeout(PATIENCE_S):
                    assert await w.has(n + 1) == [(0, b"%d" % k) for k in range(n + 1)]

    async def test_the_first_message_in_flight_holds_the_commit_even_of_a_new_group(self, log, topic, worker):
        await log.append([new(topic, b"%d" % n) for n in range(5)])
        async with worker(acknowledges=lambda event: event.value != b"0").running() as w:
            await w.has(5)
            await asyncio.sleep(5 * COMMIT_INTERVAL_S)
        async with worker().running() as again:
            assert await again.has(5) == [(0, b"%d" % n) for n in range(5)]

    async def test_the_message_after_the_commit_holds_it_there(self, log, topic, worker):
        await log.append([new(topic, b"%d" % n) for n in range(6)])
        async with worker(acknowledges=lambda event: event.value not in {b"2", b"4"}).running() as w:
            await w.has(6)
            await asyncio.sleep(5 * COMMIT_INTERVAL_S)
        async with worker().running() as again:
            await again.has(4)
            await asyncio.sleep(0.3)
            assert again.seen() == [(0, b"%d" % n) for n in range(2, 6)]

    async def test_a_late_acknowledgement_releases_the_commit(self, log, topic, worker):
        await log.append([new(topic, b"%d" % n) for n in range(5)])
        async with worker(acknowledges=lambda event: event.value != b"0").running() as w:
            await w.has(5)
            await asyncio.sleep(3 * COMMIT_INTERVAL_S)
            w.events[0].ack()
            await asyncio.sleep(5 * COMMIT_INTERVAL_S)
        await log.append([new(topic, b"5")])
        async with worker().running() as again:
            assert await again.has(1) == [(0, b"5")]

    async def test_what_was_acknowledged_before_a_graceful_stop_does_not_come_again(self, log, topic, worker):
        await log.append([new(topic, b"%d" % n) for n in range(5)])
        async with worker().running() as w:
            await w.has(5)
        await log.append([new(topic, b"5")])
        async with worker().running() as again:
            assert await again.has(1) == [(0, b"5")]

    async def test_a_rebalance_brings_back_what_was_not_committed(self, log, topic, worker):
        await log.append([new(topic, b"%d" % n) for n in range(4)])
        async with worker(acknowledges=lambda event: event.value == b"0").running() as w:
            await w.has(4)
            await asyncio.sleep(5 * COMMIT_INTERVAL_S)
            await self.rebalance(w)
            await w.has(7)
            await log.append([new(topic, b"4")])
            assert (await w.has(8))[4:] == [(0, b"%d" % n) for n in range(1, 5)]

    async def test_an_acknowledgement_from_the_generation_before_is_ignored(self, log, topic, worker):
        await log.append([new(topic, b"%d" % n) for n in range(3)])
        async with worker(acknowledges=lambda _: False).running() as w:
            await w.has(3)
            stale = w.events[:]
            await self.rebalance(w)
            await w.has(6)
            for event in stale:
                event.ack()
            await asyncio.sleep(5 * COMMIT_INTERVAL_S)
        async with worker().running() as again:
            assert await again.has(3) == [(0, b"%d" % n) for n in range(3)]

    @pytest.mark.parametrize("taken", [False, True])
    async def test_a_commit_that_ends_while_everything_comes_again_holds_up_none_of_it(self, log, topic, worker, taken):
        await log.append([new(topic, b"%d" % n) for n in range(3)])
        async with worker().running() as w:
            consumer, commits = w.app.consumer, w.app.consumer._commit

            async def late(offsets: Any) -> bool:
                consumer._commit = commits
                await consumer.perform_seek()
                return taken and bool(await commits(offsets))

            consumer._commit = late
            await w.has(6)
            await log.append([new(topic, b"3")])
            await w.has(7)
            async with asyncio.timeout(PATIENCE_S):
                while consumer.handled(TP(topic, 0)) != 4:  # noqa: ASYNC110 - Faust has no event for it
                    await asyncio.sleep(0.01)

    async def test_an_acknowledgement_while_the_partition_is_on_its_way_is_ignored(self, log, topic, worker):
        await log.append([new(topic, b"%d" % n) for n in range(3)])
        async with worker(acknowledges=lambda _: False).running() as w:
            await w.has(3)
            stale = w.events[:]

            @w.app.on_partitions_revoked.connect  # type: ignore[untyped-decorator] # Faust's
            async def finish(*_: object, **__: object) -> None:
                for event in stale:
                    event.ack()
                await w.app.consumer.commit()

            await self.rebalance(w)
            await w.has(6)
        async with worker().running() as again:
            assert await again.has(3) == [(0, b"%d" % n) for n in range(3)]

    async def test_what_comes_in_around_a_rebalance_is_not_lost(self, log, topic, worker):
        await log.append([new(topic, b"%d" % n, n % PARTITIONS) for n in range(50)])
        async with worker().running() as w:
            await w.has(50)
            await log.append([new(topic, b"%d" % n, n % PARTITIONS) for n in range(50, 60)])
            await self.rebalance(w)
            await log.append([new(topic, b"%d" % n, n % PARTITIONS) for n in range(60, 70)])
            await self.has_all(w, 70)

    async def has_all(self, worker: Worker, count: int) -> None:
        """Wait until each of the numbered values has come at least once."""
        expected = {b"%d" % n for n in range(count)}
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE_S):
                while not expected <= {value for _, value in worker.seen()}:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
        assert expected - {value for _, value in worker.seen()} == set()

    async def test_a_paused_partition_waits_and_loses_nothing(self, log, topic, worker):
        async with worker().running() as w:
            await log.append([new(topic, b"before")])
            await w.has(1)
            tp = TP(topic, 0)
            w.app.consumer.pause_partitions({tp})
            await log.append([new(topic, b"%d" % n) for n in range(20)])
            await log.append([new(topic, b"other", 1)])
            await w.has(2)
            await asyncio.sleep(0.3)
            assert [value for partition, value in w.seen() if partition == 1] == [b"other"]
            w.app.consumer.resume_partitions({tp})
            await w.has(22)
            assert [v for p, v in w.seen() if p == 0] == [b"before", *(b"%d" % n for n in range(20))]

    async def test_a_withheld_partition_waits_and_keeps_no_other_waiting(self, log, topic, worker):
        """However much of it waits, and nothing of it is committed."""
        many = 20
        async with worker(buffer=2).running() as w:
            await log.append([new(topic, b"before")])
            await w.has(1)
            w.app.consumer.withhold({TP(topic, 1)})
            await self.rebalance(w)
            for partition in (1, 2):
                await log.append([new(topic, b"%d" % n, partition) for n in range(many)])
            async with asyncio.timeout(PATIENCE_S):
                while w.seen()[-1] != (2, b"%d" % (many - 1)):  # noqa: ASYNC110 - the worker tells nobody
                    await asyncio.sleep(0.01)
            await asyncio.sleep(3 * COMMIT_INTERVAL_S)
            assert 1 not in {partition for partition, _ in w.seen()}
            assert w.app.consumer.handled(TP(topic, 1)) == 0
            count = len(w.seen())
            w.app.consumer.withhold(set())
            assert (await w.has(count + many))[count:] == [(1, b"%d" % n) for n in range(many)]

    async def test_a_partition_that_starts_again_brings_what_is_not_done_and_no_other_does(self, log, topic, worker):
        await log.append([new(topic, b"%d" % n, partition) for n in range(6) for partition in (0, 1)])
        async with worker(acknowledges=lambda event: event.value != b"2").running() as w:
            first = await w.has(12)
            w.app.consumer.starts.again({TP(topic, 0)})
            again = (await w.has(16))[len(first) :]
            assert again == [(0, b"%d" % n) for n in range(2, 6)]
            current = [w.app.consumer.starts.is_current(event.message) for event in w.events]
            assert current == [partition == 1 for partition, _ in first] + [True] * 4
            await log.append([new(topic, b"more")])
            assert (await w.has(17))[16:] == [(0, b"more")]
            assert w.app.consumer.handled(TP(topic, 0)) == 2

    async def test_what_waits_in_a_queue_when_its_partition_starts_again_is_stale(self, log, topic, worker):
        gate, count = asyncio.Event(), 40
        async with worker(acknowledges=lambda _: False, gate=gate, buffer=8).running() as w:
            for _ in range(3):
                await log.append([new(topic, b"%d" % n) for n in range(count)])
                await asyncio.sleep(0.1)
                w.app.consumer.starts.again({TP(topic, 0)})
            gate.set()
            await log.append([new(topic, b"last")])
            async with asyncio.timeout(PATIENCE_S):
                while not w.events or w.seen()[-1] != (0, b"last"):  # noqa: ASYNC110 - the worker tells nobody
                    await asyncio.sleep(0.01)
            current = [event.value for event in w.events if w.app.consumer.starts.is_current(event.message)]
            assert current == [b"%d" % n for n in range(count)] * 3 + [b"last"]

    async def test_pausing_and_resuming_at_any_moment_keeps_order_and_loses_nothing(self, log, topic, worker):
        sent = [(n % PARTITIONS, b"%d" % n) for n in range(900)]
        async with worker(buffer=16).running() as w:
            tps = {TP(topic, 0), TP(topic, 2)}
            for start in range(0, 900, 100):
                await log.append([new(topic, value, partition) for partition, value in sent[start : start + 100]])
                w.app.consumer.pause_partitions(tps)
                await asyncio.sleep(0.01)
                w.app.consumer.resume_partitions(tps)
            await w.has(900)
            for partition in range(PARTITIONS):
                assert [e for e in w.seen() if e[0] == partition] == [e for e in sent if e[0] == partition]

    async def test_a_sent_message_is_acknowledged_at_its_place_in_the_log(self, log, topic, worker):
        await log.append([new(topic, b"first", 2)])
        async with worker().running() as w:
            sent = await w.app.topic(topic, value_serializer="raw", key_serializer="raw").send(
                key=b"default/xiaoming", value=b"second", partition=2, headers={"ce_type": b"TurnRecorded"}
            )
            metadata = await sent
            await w.has(2)
        [record] = await log.read(topic, 2, 1)
        assert (metadata.topic, metadata.partition, metadata.offset) == (topic, 2, 1)
        assert (record.value, record.headers) == (b"second", (("ce_type", b"TurnRecorded"),))

    async def test_many_sent_messages_stay_in_order(self, log, topic, worker):
        async with worker().running() as w:
            target = w.app.topic(topic, value_serializer="raw", key_serializer="raw")
            sent = [await target.send(key=b"k", value=b"%d" % n, partition=0) for n in range(200)]
            await asyncio.gather(*sent)
        assert [record.value for record in await read_all(log, topic)] == [b"%d" % n for n in range(200)]

    async def test_what_is_fetched_of_a_partition_comes_one_after_the_other(self, log, topic, worker):
        await log.append([new(topic, b"%d" % n, n % 2) for n in range(6)])
        async with worker().running() as w:
            await w.has(6)
            partitions = [event.message.partition for event in w.events]
        assert partitions in ([0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0])

    async def test_an_app_stops_and_starts_again_in_the_same_loop(self, log, topic, worker):
        for n in range(3):
            await log.append([new(topic, b"%d" % n)])
            async with worker().running() as w:
                assert await w.has(1) == [(0, b"%d" % n)]
        assert others() == set()

    async def test_the_router_knows_the_owner_of_a_key(self, topic, worker):
        async with worker().running() as w:
            async with asyncio.timeout(PATIENCE_S):
                while not w.app.consumer.assignment():  # noqa: ASYNC110 - Faust has no event for it
                    await asyncio.sleep(0.01)
            url = w.app.router.external_topic_key_store(w.app.topic(topic), b"default/xiaoming")
            assert url == w.app.conf.canonical_url

    async def test_large_messages_wait_until_those_before_them_are_done_and_keep_nothing_else_waiting(
        self, log, topic, worker
    ):
        large = [b"%d" % n + bytes(100_000) for n in range(12)]
        async with worker(acknowledges=lambda event: len(event.value) < 100).running() as w:
            w.app.consumer.large.most_bytes = 300_000  # room for three of them
            w.app.consumer.large.topics = frozenset({topic})
            await log.append([new(topic, value, n % 2) for n, value in enumerate(large)])
            await log.append([new(topic, b"%d" % n, 2) for n in range(20)])
            await w.has(20 + 3)
            await asyncio.sleep(0.5)
            held = [event for event in w.events if len(event.value) > 100]
            assert (len(held), len(w.events)) == (3, 23), "no more of them than there is room for"
            while len(held) < len(large):
                for event in held:
                    event.ack()
                await w.has(20 + min(len(large), len(held) + 3))
                await asyncio.sleep(0.2)
                held = [event for event in w.events if len(event.value) > 100]
            for partition in (0, 1):
                mine = [event.value for event in held if event.message.partition == partition]
                assert mine == large[partition::2]
            for event in held:
                event.ack()
            await asyncio.sleep(5 * COMMIT_INTERVAL_S)
        async with worker().running() as again:
            await asyncio.sleep(0.5)
            assert again.seen() == []


def others() -> set[asyncio.Task[object]]:
    """Return the tasks that still run, but for the test's own."""
    current = asyncio.current_task()
    return {task for task in asyncio.all_tasks() if task is not current and not _is_fixture(task)}


def _is_fixture(task: asyncio.Task[object]) -> bool:
    return "pytest_asyncio" in repr(task) or "kafka" in repr(task).lower()
