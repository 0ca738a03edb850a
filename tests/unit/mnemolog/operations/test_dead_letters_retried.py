"""A dead letter that is sent back counts once, however often it is sent, also where its bytes name no event."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.examples import XIAOMING
from support.workbench import Workbench

from mnemolog.operations.dead_letters import DeadLetters
from schemas.inputs.decoding import observation_of_record
from schemas.log import LogUnavailable
from schemas.topics import CONVERSATIONS
from streams.delivery.dead_letter import put_aside

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from support.memory_log import MemoryLog

    from schemas.log import Appended, NewRecord, Record

NAMELESS = {
    "type": "TurnRecorded",
    "user_id": XIAOMING.user_id,
    "session_id": "s1",
    "role": "user",
    "content": "我喜欢喝咖啡",
    "infer": False,
}


class DiesBetween:
    """A log whose writer dies when the first of its records is durable."""

    def __init__(self, log: MemoryLog) -> None:
        self.read, self.end, self.earliest, self.partitions = log.read, log.end, log.earliest, log.partitions
        self._log = log

    async def append(self, records: Sequence[NewRecord]) -> list[Appended]:
        """See `Log.append`."""
        await self._log.append(records[:1])
        raise LogUnavailable("killed")


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Workbench]:
    bench = Workbench(tmp_path / "one", partitions=2)
    yield bench
    bench.close()


async def sent_back_twice(bench: Workbench, partition: int) -> list[Record]:
    """Put a record aside, send it back twice, and return what stands behind it."""
    record = await bench.publish(CONVERSATIONS.name, NAMELESS, None, partition)
    await put_aside(bench.log, record, "decode", "this version cannot read it")
    with pytest.raises(LogUnavailable):
        await DeadLetters(DiesBetween(bench.log)).retry()
    assert len(await DeadLetters(bench.log).retry()) == 1
    _, *again = await bench.log.read(CONVERSATIONS.name, partition, 0)
    assert len(again) == 2
    return again


async def test_what_was_sent_back_twice_without_an_id_is_extracted_once(bench: Workbench):
    right = bench.shards.partition(XIAOMING)
    await bench.observes(*await sent_back_twice(bench, 1 - right))
    await bench.observes(*await bench.log.read(CONVERSATIONS.name, right, 0))
    assert len(await bench.inbox(right)) == 1
    assert bench.shards.at(right).observations.counts()["observations"] == 1


async def test_what_a_newer_version_can_read_at_its_first_place_is_extracted_when_it_is_sent_back(bench: Workbench):
    right = bench.shards.partition(XIAOMING)
    first, second = await sent_back_twice(bench, right)
    await bench.observes(first, second, first)
    assert len(await bench.inbox(right)) == 1
    assert bench.shards.at(right).observations.counts()["observations"] == 1


async def test_what_was_put_aside_again_keeps_its_first_place(bench: Workbench):
    first, second = await sent_back_twice(bench, 0)
    await put_aside(bench.log, first, "decode", "still not")
    assert len(await DeadLetters(bench.log).retry()) == 1
    *_, third = await bench.log.read(CONVERSATIONS.name, 0, 0)
    original = (await bench.log.read(CONVERSATIONS.name, 0, 0))[0]
    ids = {observation_of_record(record).envelope.event_id for record in (original, first, second, third)}
    assert len(ids) == 1
