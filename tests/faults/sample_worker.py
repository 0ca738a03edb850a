"""A real worker over the bundled sample, in this process or (`python sample_worker.py FOLDER`) in one of its own."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from contract.front_door import HashEmbedder
from support.own_words import OwnWordsHere

from mnemolog.commands.commands import Fact
from mnemolog.sample import sample_events
from mnemolog.settings import from_environment
from mnemolog.worker.worker import Worker
from projections.shard.shard import BULK_RECORDS
from schemas.identity import Owner
from schemas.inputs.input_events import parse_event
from schemas.topics import CONVERSATIONS, TOPICS
from streams.transports.sqlite.log import SqliteLog

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

    from projections.embedding.embedder import Embedder
    from schemas.instant import Clock
    from schemas.log import Record
    from schemas.messages.observations import Observation
    from streams.extraction.protocol import Extractor

START = datetime(2026, 11, 2, tzinfo=UTC)
"""When the log takes the sample, if nothing else is said: after its last event."""
LIN, MAYA = Owner("default", "lin"), Owner("default", "maya")
TICK = START + timedelta(days=30)
PARTITIONS = 4
AT_ONCE = 50
DRAIN_SECONDS = 240.0
TICK_SECONDS = 120.0
"""Only what hangs takes so long: the machine may be busy."""


class StandingClock:
    """Always says the same."""

    def __init__(self, instant: datetime = START) -> None:
        self.instant = instant

    def now(self) -> datetime:
        return self.instant


def sample() -> list[Observation]:
    return [parse_event(e, tenant="default", accepted_at=START, event_id="") for e in sample_events()]


@asynccontextmanager
async def running(
    folder: Path,
    *,
    kind: type[Worker] = Worker,
    clock: Clock | None = None,
    extractor: Extractor | None = None,
    embedder: Embedder | None = None,
    **settings: object,
) -> AsyncIterator[Worker]:
    """Start a worker in a folder, and stop it again. Ticks come only when the test asks for them."""
    given = {"data_dir": folder, "partitions": PARTITIONS, "decay_policy": "off"} | settings
    chosen = from_environment({}, **given)
    if extractor is None and chosen.extracts_with == "rules":
        extractor = OwnWordsHere()  # here: a process of rules costs half a second
    worker = kind(
        chosen,
        clock=clock or StandingClock(),
        extractor=extractor,
        embedder=embedder or HashEmbedder(),
    )
    try:
        await worker.start()
        yield worker
    finally:
        await worker.stop()


class Gate:
    """A log whose bulk reads, those of a rebuild, pass `before_bulk` and are small; everything else is as it is."""

    def __init__(self, log: SqliteLog) -> None:
        self._log = log
        self.before_bulk: Callable[[str, int], Awaitable[None]] | None = None
        self.create_topic, self.append = log.create_topic, log.append
        self.next_place, self.append_settled = log.next_place, log.append_settled
        self.end, self.earliest, self.partitions = log.end, log.earliest, log.partitions

    async def read(self, topic: str, partition: int, start: int, limit: int = 1000) -> list[Record]:
        if limit == BULK_RECORDS and self.before_bulk is not None:
            await self.before_bulk(topic, start)
            limit = 20
        return await self._log.read(topic, partition, start, limit)

    async def stop(self) -> None:
        self._log.close()


class GatedWorker(Worker):
    """A worker whose rebuilds a test can hold up."""

    async def _open_log(self) -> Gate:  # type: ignore[override]
        log = await super()._open_log()
        assert isinstance(log, SqliteLog)
        return Gate(log)


def gate_of(worker: Worker) -> Gate:
    """Return the log of a GatedWorker."""
    return cast("Gate", worker._inner_log)


async def publish(worker: Worker, messages: Sequence[Observation]) -> None:
    for begin in range(0, len(messages), AT_ONCE):
        await worker.publisher.publish(messages[begin : begin + AT_ONCE])


async def live_through(worker: Worker) -> None:
    """Publish the sample, have every kind of command decided, and let 30 days pass."""
    await publish(worker, sample())
    await worker.drain.run_local(DRAIN_SECONDS)
    commands = worker.commands
    for owner in (LIN, MAYA):
        known = sorted(worker.shards.state(owner).memories.values(), key=lambda m: m.memory_id)
        first, second = (m.memory_id for m in [m for m in known if m.status == "active"][:2])
        await commands.remember(owner, Fact(content=f"{owner.user_id} collects stamps"), f"{owner.user_id}-stamps")
        await commands.forget(owner, first, f"{owner.user_id}-forgets")
        await commands.restore(owner, first, f"{owner.user_id}-restores")
        await commands.forget(owner, second, f"{owner.user_id}-forgets-another")
        await commands.recall(owner, [first], START, f"{owner.user_id}-recalls")
    await commands.remember(LIN, Fact(content="The office closes at six", scope="global"), "everybody")
    assert (await commands.tick("ladder", TICK, TICK_SECONDS)).applied
    await worker.drain.run_local(DRAIN_SECONDS)


def access_counts(worker: Worker) -> dict[str, tuple[int, int]]:
    """Return how often each memory was met and recalled."""
    states = map(worker.shards.state, worker.shards.users.owners())
    return {m.memory_id: (m.access_count, m.recall_count) for s in states for m in s.memories.values()}


async def records(worker: Worker) -> list[Record]:
    """Return everything in the log, topic by topic."""
    return [
        record
        for topic in TOPICS
        if not topic.compacted  # which no agent reads
        for partition in range(await worker.log.partitions(topic.name))
        for record in await worker.log.read(topic.name, partition, 0, 100_000)
    ]


async def settled(worker: Worker) -> None:
    """Wait until everything in the log is extracted, decided and folded."""
    await worker.drain.run_local(DRAIN_SECONDS)
    for shard in worker.shards.all():
        await shard.catch_up()
    await worker.index_sync.flush()


async def rebuilt(worker: Worker) -> str:
    """Return the total digest, which a rebuild finds again."""
    live = (await worker.shards.users.digests())["total"]
    report = await worker.rebuild.run("all")
    assert report["digest_before"] == report["digest_after"] == live == (await worker.shards.users.digests())["total"]
    return live


class MachineClock:
    """What the operating system says."""

    def now(self) -> datetime:
        return datetime.now(UTC)


async def _main(folder: Path) -> dict[str, Any]:
    """Run the sample twice: with the log's clock standing still, and with the machine's. Ticks say their own time."""
    async with running(folder / "standing") as worker:
        await live_through(worker)
        standing = await rebuilt(worker)
    async with running(folder / "machine", clock=MachineClock()) as worker:
        await publish(worker, sample())
        await worker.drain.run_local(DRAIN_SECONDS)
        [first] = await worker.log.read(CONVERSATIONS.name, worker.shards.partition(LIN), 0, 1)
        assert (await worker.commands.tick("ladder", TICK, TICK_SECONDS)).applied
        machine = await rebuilt(worker)
    return {
        "logged_at": first.recorded_at.isoformat(),
        "hour_at_epoch": time.localtime(0).tm_hour,
        "standing": standing,
        "machine": machine,
    }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(_main(Path(sys.argv[1])))))  # noqa: T201 - what the test reads
