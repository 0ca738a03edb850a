"""Twice is once: whatever is published, delivered or appended again, at whatever topic, changes nothing."""

from __future__ import annotations

from collections import Counter
from functools import partial
from itertools import groupby
from random import Random
from typing import TYPE_CHECKING

from faults.sample_worker import access_counts, live_through, publish, rebuilt, records, running, sample, settled

from mnemolog.publishing.publisher import topic_of
from mnemolog.worker.worker import Worker
from schemas import codec
from schemas.log import NewRecord
from schemas.messages.observations import SessionEnded, TurnRecorded
from schemas.topics import GLOBALS, INBOX, INPUTS, LEDGER, partition_of
from streams.delivery.delivery import Delivery
from streams.transports.sqlite.log import SqliteLog

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from schemas.log import Appended, Record
    from schemas.messages.observations import Observation
    from streams.agents.observe import Observe
    from streams.agents.project import Project
    from streams.agents.remember import Remember


def in_another_order(messages: Sequence[Observation], seed: int) -> list[Observation]:
    """Return the messages with their sessions shuffled, each session's own order kept."""

    def session(message: Observation) -> str:
        if isinstance(message, (TurnRecorded, SessionEnded)):
            return message.session_id
        return message.envelope.event_id

    together = [list(some) for _, some in groupby(sorted(messages, key=session), session)]
    Random(seed).shuffle(together)  # noqa: S311 - a test's order
    return [message for some in together for message in some]


def again(record: Record) -> NewRecord:
    place = record.position
    return NewRecord(
        topic=place.topic, partition=place.partition, key=record.key, value=record.value, headers=record.headers
    )


async def test_the_sample_published_again_in_any_order_changes_nothing(tmp_path: Path):
    """Neither through the front door, which knows its ids, nor appended by a producer that knows nothing."""
    async with running(tmp_path) as worker:
        await live_through(worker)
        before, counted = await worker.shards.users.digests(), access_counts(worker)
        assert any(met for met, _ in counted.values())
        assert any(recalled for _, recalled in counted.values())
        positions = await worker.publisher.publish(sample()[:10])
        await publish(worker, sample())
        assert await worker.publisher.publish(sample()[:10]) == positions
        for seed in (1, 2):
            shuffled = in_another_order(sample(), seed)
            assert shuffled != sample()
            await publish(worker, shuffled)
            keyed = [(m, m.envelope.owner.key) for m in shuffled]
            places = [partition_of(key, worker.shards.partitions) for _, key in keyed]
            await worker.log.append(
                [
                    NewRecord(topic=topic_of(m).name, partition=place, key=key, value=codec.encode(m))
                    for (m, key), place in zip(keyed, places, strict=True)
                ]
            )
        await settled(worker)
        assert await worker.shards.users.digests() == before
        assert access_counts(worker) == counted
        assert await rebuilt(worker) == before["total"]


async def test_every_message_delivered_twice_at_every_topic_changes_nothing(tmp_path: Path):
    """The same record is handed over again, and an identical one stands once more in the log, in either order."""
    async with running(tmp_path) as worker:
        await live_through(worker)
        before, counted = await worker.shards.users.digests(), access_counts(worker)
        everything = await records(worker)
        kinds = {r.position.topic for r in everything}
        assert kinds >= {t.name for t in (*INPUTS, INBOX, LEDGER, GLOBALS)}
        handlers: dict[str, Observe | Remember | Project] = {t.name: worker.observe for t in INPUTS}
        handlers |= {INBOX.name: worker.remember, LEDGER.name: worker.project, GLOBALS.name: worker.project}
        acked: list[str] = []
        for record in everything:
            await handlers[record.position.topic].handle(Delivery(record, partial(acked.append, str(record.position))))
        await worker.observe_pool.settle()
        await worker.remember_pool.settle()
        assert sorted(acked) == sorted(str(r.position) for r in everything)
        assert len(await records(worker)) == len(everything)
        assert await worker.shards.users.digests() == before

        await worker.log.append([again(r) for r in everything])
        await worker.log.append([again(r) for r in reversed(everything)])
        await settled(worker)
        assert len(await records(worker)) >= 3 * len(everything)
        assert await worker.shards.users.digests() == before
        assert access_counts(worker) == counted
        assert await rebuilt(worker) == before["total"]


class DoubleLog:
    """A log that stores whatever is appended twice: as a producer does that repeats what it has no answer to."""

    def __init__(self, log: SqliteLog) -> None:
        self._log = log
        self.create_topic, self.read, self.next_place = log.create_topic, log.read, log.next_place
        self.end, self.earliest, self.partitions = log.end, log.earliest, log.partitions

    async def append(self, new: Sequence[NewRecord]) -> list[Appended]:
        appended = await self._log.append(new)
        await self._log.append(new)
        return appended

    async def append_settled(self, new: Sequence[NewRecord], places: Sequence[Appended]) -> list[Appended]:
        appended = await self._log.append_settled(new, places)
        await self._log.append(new)
        return appended

    async def stop(self) -> None:
        self._log.close()


class DoubleWorker(Worker):
    """A worker on such a log."""

    async def _open_log(self) -> DoubleLog:  # type: ignore[override]
        log = await super()._open_log()
        assert isinstance(log, SqliteLog)
        return DoubleLog(log)


async def test_a_log_in_which_every_record_stands_twice_ends_like_one_in_which_it_stands_once(tmp_path: Path):
    async with running(tmp_path / "once") as worker:
        await live_through(worker)
        before, counted = await worker.shards.users.digests(), access_counts(worker)
        decided = sum(r.position.topic == LEDGER.name for r in await records(worker))
    async with running(tmp_path / "twice", kind=DoubleWorker) as worker:
        await live_through(worker)
        await settled(worker)
        held = await records(worker)
        assert all(count % 2 == 0 for count in Counter((r.position.topic, r.key, r.value) for r in held).values())
        assert sum(r.position.topic == LEDGER.name for r in held) == 2 * decided
        assert await worker.shards.users.digests() == before
        assert access_counts(worker) == counted
        assert await rebuilt(worker) == before["total"]
