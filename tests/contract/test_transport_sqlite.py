"""The embedded transport passes the suite of all transports."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import faust
import pytest
from contract.log_suite import new
from contract.slow_transport import SEEK_SECONDS
from contract.transport_suite import TransportSuite
from contract.transport_worker import COMMIT_INTERVAL_S, PARTITIONS, Worker
from faust.transport.drivers import TRANSPORTS
from faust.types import TP
from mode.utils.imports import symbol_by_name
from support.log_file import writing_connection

from streams.transports.sqlite.log import SqliteLog

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Make = Callable[..., Worker]


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
            await w.app.consumer.commit()
            await asyncio.sleep(5 * COMMIT_INTERVAL_S)
            assert w.app.consumer.handled(TP(topic, 0)) == 4
            assert w.seen() == [(0, b"held"), (0, b"done")]
        assert log.committed(w.group, topic, 0) == 4

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
            await asyncio.sleep(5 * COMMIT_INTERVAL_S)
            assert log.committed(w.group, topic, 0) == 3

    async def test_a_topic_that_is_missing_is_created_with_the_apps_partitions(self, log: SqliteLog, worker: Make):
        w = worker(topic="new-topic")
        async with w.running():
            await asyncio.sleep(0.2)
            assert await log.partitions("new-topic") == PARTITIONS

    async def test_an_app_without_an_open_log_says_so(self, tmp_path: Path):
        app: Any = faust.App("nobody", broker=f"sqlite://{tmp_path / 'closed'}", web_enabled=False)
        with pytest.raises(LookupError, match="no log is open"):
            _ = app.transport.sqlite_log


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

    async with Worker(f"sqlite://{log.directory}", "killed", "work", sys.argv[1], acknowledges).running() as worker:
        while True:
            before = len(worker.events)
            await asyncio.sleep(1)
            if len(worker.events) == before:
                print("idle", flush=True)

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
    for target in (500, 2500, None):
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as process:  # noqa: S603, ASYNC220
            assert process.stdout is not None
            while target and (not done.exists() or done.read_bytes().count(b"\n") < target):
                assert process.poll() is None, "the worker died by itself"
                await asyncio.sleep(0.005)
            if target is None:
                process.stdout.readline()
            process.kill()
    finished = [int(line) for line in done.read_bytes().split()]
    assert set(finished) == set(range(count))
    assert len(finished) < 2 * count
