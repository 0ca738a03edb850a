"""The embedded transport passes the suite of all transports."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import faust
import pytest
from contract.log_suite import new
from contract.slow_transport import SEEK_SECONDS
from contract.transport_suite import TransportSuite
from contract.transport_worker import COMMIT_INTERVAL_S, PARTITIONS, PATIENCE_S, Worker
from faust.transport.drivers import TRANSPORTS
from faust.types import TP
from mode.utils.imports import symbol_by_name
from support.log_file import writing_connection

from schemas.log import UnknownTopic
from streams.transports.sqlite.log import SqliteLog

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Make = Callable[..., Worker]


async def until_handled(worker: Worker, topic: str, offset: int) -> None:
    """Wait until everything before an offset is handled, and no more."""
    async with asyncio.timeout(PATIENCE_S):
        while worker.app.consumer.handled(TP(topic, 0)) != offset:  # noqa: ASYNC110 - the driver has no event for it
            await asyncio.sleep(COMMIT_INTERVAL_S)


class TestSqliteTransport(TransportSuite):
    scheme = "sqlite"
    transport = "streams.transports.sqlite.transport:Transport"

    @pytest.fixture
    def log(self, tmp_path: Path) -> Iterator[SqliteLog]:
        log = SqliteLog.open(tmp_path)
        yield log
        log.close()

    @pytest.fixture
    def url(self, log: SqliteLog) -> str:
        return f"sqlite://{log.directory}"

    async def rebalance(self, worker: Worker) -> None:
        await worker.app.consumer.rebalance()

    async def test_what_comes_in_is_not_lost_when_a_worker_without_partitions_gets_some(
        self, log: SqliteLog, topic: str, worker: Make
    ):
        TRANSPORTS.aliases[self.scheme] = "contract.slow_transport:Transport"
        async with worker().running() as w:
            consumer: Any = w.app.consumer
            mine = set(consumer.assignment())
            await consumer.rebalance(set())
            await asyncio.sleep(2 * SEEK_SECONDS)
            await log.append([new(topic, b"%d" % n, n % PARTITIONS) for n in range(10)])
            await consumer.rebalance(mine)
            await self.has_all(w, 10)

    async def test_the_commit_passes_over_what_compaction_took(self, log: SqliteLog, topic: str, worker: Make):
        await log.create_topic(topic, PARTITIONS, compact=True)
        await log.append([new(topic, b"%d" % n, key=b"same") for n in range(9)])
        await log.append([new(topic, b"other", key=b"other")])
        await log.compact(topic)
        async with worker().running() as w:
            assert await w.has(2) == [(0, b"8"), (0, b"other")]
        assert log.committed(w.group, topic, 0) == 10

    async def test_settled_records_are_not_delivered_and_the_commit_passes_over_them_in_their_turn(
        self, log: SqliteLog, topic: str, worker: Make
    ):
        await log.create_topic(topic, PARTITIONS)
        async with worker(acknowledges=lambda event: event.value != b"held").running() as w:
            for value in (b"held", b"settled", b"done", b"settled"):
                if value == b"settled":
                    await log.append_settled([new(topic, value)], [log.next_place(topic, 0)])
                else:
                    await log.append([new(topic, value)])
            assert await w.has(2) == [(0, b"held"), (0, b"done")]
            await w.app.consumer.commit()
            assert log.committed(w.group, topic, 0) in {None, 0}
            w.events[0].ack()
            await until_handled(w, topic, 4)
            assert w.seen() == [(0, b"held"), (0, b"done")]
        assert log.committed(w.group, topic, 0) == 4

    async def test_settled_records_that_nothing_follows_are_passed_over_together(
        self, log: SqliteLog, topic: str, worker: Make, monkeypatch: pytest.MonkeyPatch
    ):
        await log.create_topic(topic, PARTITIONS)
        monkeypatch.setattr("streams.transports.sqlite.unread_records.SETTLED_SECONDS", 3600.0)
        async with worker().running() as w:
            await log.append([new(topic, b"first")])
            await w.has(1)
            timers = set()
            for _ in range(3):
                await log.append_settled([new(topic, b"settled")], [log.next_place(topic, 0)])
                async with asyncio.timeout(PATIENCE_S):
                    while (timer := w.app.consumer._unread._later) is None:  # noqa: ASYNC110 - it is told after the caller
                        await asyncio.sleep(0)
                timers.add(timer)
            assert len(timers) == 1
            timer._run()
            await until_handled(w, topic, 4)
            await log.append_settled([new(topic, b"settled")], [log.next_place(topic, 0)])
            await log.append([new(topic, b"wanted now")])
            assert await w.has(2) == [(0, b"first"), (0, b"wanted now")]
            await until_handled(w, topic, 6)

    async def test_a_settled_record_behind_a_full_queue_is_not_passed_over_before_its_turn(
        self, log: SqliteLog, topic: str, worker: Make
    ):
        await log.create_topic(topic, PARTITIONS)
        values = [b"%d" % n for n in range(12)]
        for value in values:
            if value == b"8":
                await log.append_settled([new(topic, b"settled")], [log.next_place(topic, 0)])
            await log.append([new(topic, value)])
        gate = asyncio.Event()
        async with worker(buffer=2, gate=gate).running() as w:
            async with asyncio.timeout(60):
                while not w.app.consumer._held:  # noqa: ASYNC110 - the driver has no event for it
                    await asyncio.sleep(COMMIT_INTERVAL_S)
            gate.set()
            assert await w.has(len(values)) == [(0, value) for value in values]
        assert log.committed(w.group, topic, 0) == len(values) + 1

    async def test_after_a_rebalance_settled_records_are_passed_over_again(
        self, log: SqliteLog, topic: str, worker: Make
    ):
        await log.create_topic(topic, PARTITIONS)
        async with worker(acknowledges=lambda event: event.value != b"held").running() as w:
            await log.append([new(topic, b"held")])
            await log.append_settled([new(topic, b"settled")], [log.next_place(topic, 0)])
            await log.append([new(topic, b"done")])
            await w.has(2)
            await self.rebalance(w)
            assert await w.has(4) == [(0, b"held"), (0, b"done")] * 2

    async def test_a_commit_that_finds_the_disk_full_is_made_later(self, log: SqliteLog, topic: str, worker: Make):
        await log.append([new(topic, b"%d" % n) for n in range(3)])
        async with worker(acknowledges=lambda _: False).running() as w:
            await w.has(3)
            writing_connection(log).execute("pragma query_only = on")  # every write fails, as on a full disk
            for event in w.events:
                event.ack()
            await asyncio.sleep(5 * COMMIT_INTERVAL_S)
            assert log.committed(w.group, topic, 0) is None
            writing_connection(log).execute("pragma query_only = off")
            async with asyncio.timeout(PATIENCE_S):
                while log.committed(w.group, topic, 0) != 3:  # noqa: ASYNC110 - nobody tells of a commit
                    await asyncio.sleep(0.01)

    async def test_a_topic_that_is_missing_is_created_with_the_apps_partitions(self, log: SqliteLog, worker: Make):
        w = worker(topic="new-topic")
        async with w.running(), asyncio.timeout(PATIENCE_S):
            while not (partitions := await partitions_of(log, "new-topic")):  # noqa: ASYNC110 - nobody tells of it
                await asyncio.sleep(0.01)
            assert partitions == PARTITIONS

    async def test_an_app_without_an_open_log_says_so(self, tmp_path: Path):
        app: Any = faust.App("nobody", broker=f"sqlite://{tmp_path / 'closed'}", web_enabled=False)
        with pytest.raises(LookupError, match="no log is open"):
            _ = app.transport.sqlite_log


async def partitions_of(log: SqliteLog, topic: str) -> int:
    """Return how many partitions a topic has, 0 when there is none."""
    with suppress(UnknownTopic):
        return await log.partitions(topic)
    return 0


def test_the_entry_points_name_the_two_transports():
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    named = tomllib.loads(text)["project"]["entry-points"]["faust.transports"]
    found = {scheme: symbol_by_name(path).__module__ for scheme, path in named.items()}
    assert found == {"sqlite": "streams.transports.sqlite.transport", "kafka": "streams.transports.kafka.transport"}


APP_UNTIL_KILLED = r"""
import asyncio, os, sys
from pathlib import Path
from contract.transport_worker import Worker
from faust.transport.drivers import TRANSPORTS
from streams.transports.sqlite.log import SqliteLog

async def main():
    TRANSPORTS.by_name("aiokafka")
    TRANSPORTS.aliases["sqlite"] = "streams.transports.sqlite.transport:Transport"
    log = SqliteLog.open(Path(sys.argv[1]))
    done = open(sys.argv[2], "ab", buffering=0)

    def acknowledges(event):
        asyncio.get_running_loop().call_later(0.001 * (event.message.offset % 7), finish, event)
        return False

    def finish(event):
        done.write(event.value + b"\n")
        event.ack()

    async with Worker(f"sqlite://{log.directory}", "killed", "work", sys.argv[1], acknowledges).running():
        await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_kill_9_loses_nothing_and_repeats_only_what_was_not_committed(tmp_path: Path):
    count, done = 6000, tmp_path / "done.txt"
    log = SqliteLog.open(tmp_path)
    await log.create_topic("work", PARTITIONS)
    await log.append([new("work", b"%d" % n, n % PARTITIONS) for n in range(count)])
    log.close()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", APP_UNTIL_KILLED, str(tmp_path), str(done)]
    for target in (500, 2500, count):
        with subprocess.Popen(command, env=environment) as process:  # noqa: S603, ASYNC220
            deadline = time.monotonic() + PATIENCE_S
            while not done.exists() or len(set(done.read_bytes().splitlines())) < target:
                assert process.poll() is None, "the worker died by itself"
                assert time.monotonic() < deadline, "some are lost"
                await asyncio.sleep(0.02)
            process.kill()
    finished = [int(line) for line in done.read_bytes().splitlines()]
    assert set(finished) == set(range(count))
    assert len(finished) < 2 * count
