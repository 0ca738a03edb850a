"""project comes to every decision, and has little to do for those that this worker made itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.copied_shards import CountedLog
from support.examples import XIAOMING, remember
from support.workbench import Workbench

from projections.partitions.assignment import NotHeld
from schemas.topics import LEDGER
from streams.agents.project import Project
from streams.delivery.delivery import Delivery

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def log() -> CountedLog:
    return CountedLog()


@pytest.fixture
def bench(log: CountedLog, tmp_path: Path) -> Iterator[Workbench]:
    """Make the worker that project belongs to."""
    made = Workbench(tmp_path / "one", log)
    yield made
    made.close()


async def follows(bench: Workbench) -> int:
    """Deliver the whole ledger to project; return how many records it acknowledged."""
    project, acked = Project(shards=bench.shards, index_sync=bench.index_sync), list[int]()
    for record in await bench.log.read(LEDGER.name, 0, 0):
        await project.handle(Delivery(record, lambda: acked.append(1)))
    return len(acked)


async def test_a_decision_of_another_worker_is_folded(bench: Workbench, tmp_path: Path):
    other = Workbench(tmp_path / "two", bench.log)
    await other.decides(remember("用户喜欢喝茶", "c-1"))
    other.close()
    assert await follows(bench) == 1
    assert [one.content for one in bench.state().memories.values()] == ["用户喜欢喝茶"]


async def test_a_decision_of_this_worker_is_acknowledged_without_reading_it_again(bench: Workbench, log: CountedLog):
    await bench.decides(remember("用户喜欢喝茶", "c-1"))
    before = log.given
    assert await follows(bench) == 1
    assert log.given == before + 1, "which this test has read to deliver it"


async def test_of_a_partition_of_another_worker_nothing_is_acknowledged(bench: Workbench):
    await bench.decides(remember("用户喜欢喝茶", "c-1"))
    bench.shards.assignment.release(bench.shards.partition(XIAOMING))
    bench.shards.takeover.assign(())
    with pytest.raises(NotHeld):
        await follows(bench)


async def test_what_a_shard_has_folded_that_was_exchanged_does_not_count(bench: Workbench):
    await bench.decides(remember("用户喜欢喝茶", "c-1"))
    assert bench.shards.has_folded(LEDGER.name, 0, 1)
    assert not bench.shards.has_folded(LEDGER.name, 0, 2)
    bench.shards.at(0).retired = True
    assert not bench.shards.has_folded(LEDGER.name, 0, 1)
