"""IndexSync writes every change to the index at least once, whatever happens to the index meanwhile."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from contract.index_examples import CAT, COFFEE, MARATHON
from support.fallible_index import BATCH, OWNER, FallibleIndex, Seconds, sync_of

from projections.index.durability import LOOK_EVERY_SECONDS, SAFE_AFTER_SECONDS
from projections.index.protocol import IndexUnavailable
from projections.shard.errors import ShardUnavailable
from schemas.identity import Owner
from streams.agents.project import Project

if TYPE_CHECKING:
    from collections.abc import Sequence

    from projections.index.protocol import IndexEntry
    from projections.index.sync import IndexSync


@pytest.fixture
def index() -> FallibleIndex:
    return FallibleIndex()


@pytest.fixture
def seconds() -> Seconds:
    return Seconds()


@pytest.fixture
def index_sync(index: FallibleIndex, seconds: Seconds) -> IndexSync:
    return sync_of(index, seconds)


def project_with(index_sync: Any) -> Project:
    """Make an agent that takes care of an index without pause, and is asked nothing of shards."""
    shards: Any = None
    return Project(shards=shards, index_sync=index_sync, every_seconds=0)


async def test_active_memories_are_put_and_others_removed_once(index: FallibleIndex, index_sync: IndexSync):
    index_sync.mark_dirty(OWNER, [COFFEE.memory_id, MARATHON.memory_id])
    index_sync.mark_dirty(Owner("default", "not followed"), [CAT.memory_id])
    for _ in range(2):
        await index_sync.flush()
    assert (index.calls, index.removed) == ([[COFFEE.memory_id]], [{MARATHON.memory_id: 1}])


async def test_an_index_is_behind_until_it_has_the_changes_of_the_users_that_it_follows(index_sync: IndexSync):
    index_sync.mark_dirty(Owner("default", "not followed"), [CAT.memory_id])
    assert not index_sync.is_behind
    index_sync.mark_dirty(OWNER, [COFFEE.memory_id])
    assert index_sync.is_behind
    await index_sync.flush()
    assert not index_sync.is_behind


async def test_users_whose_partition_is_released_while_a_batch_is_read_stay_pending(
    index: FallibleIndex, index_sync: IndexSync, monkeypatch: pytest.MonkeyPatch
):
    held = iter((True, False))
    index_sync.mark_dirty(OWNER, [COFFEE.memory_id])
    with monkeypatch.context() as patched:
        patched.setattr(index_sync._source, "is_held", lambda _owner: next(held, False))
        await index_sync.flush()
    assert [call for call in index.calls if call] == []
    await index_sync.flush()
    assert [call for call in index.calls if call] == [[COFFEE.memory_id]]


async def test_what_cannot_be_written_stays_pending(index: FallibleIndex, index_sync: IndexSync):
    index_sync.mark_dirty(OWNER, [COFFEE.memory_id])
    index.is_down = True
    with pytest.raises(IndexUnavailable):
        await index_sync.flush()
    index.is_down = False
    await index_sync.flush()
    assert index.calls == [[COFFEE.memory_id]]


async def test_a_memory_that_changes_while_it_is_in_flight_is_written_again(
    index: FallibleIndex, index_sync: IndexSync
):
    index_sync.mark_dirty(OWNER, [COFFEE.memory_id])
    changes = [COFFEE.memory_id]
    index.meanwhile = lambda: index_sync.mark_dirty(OWNER, [changes.pop()]) if changes else None
    await index_sync.flush()
    assert index.calls == [[COFFEE.memory_id]] * 2


async def test_no_writer_waits_for_an_index_with_a_backlog_until_it_has_caught_up(
    index: FallibleIndex, index_sync: IndexSync
):
    index.is_down = True
    index_sync.mark_dirty(OWNER, [COFFEE.memory_id])
    await index_sync.try_flush()
    index.is_down = False
    await index_sync.try_flush()
    assert index.calls == []
    await index_sync.flush()
    index_sync.mark_dirty(OWNER, [CAT.memory_id])
    await index_sync.try_flush()
    assert index.calls == [[COFFEE.memory_id], [CAT.memory_id]]


async def test_after_an_outage_unconfirmed_writes_are_written_again(index: FallibleIndex, index_sync: IndexSync):
    index_sync.mark_dirty(OWNER, [COFFEE.memory_id])
    await index_sync.flush()
    await index_sync.check_health()
    await index_sync.flush()
    assert index.calls == [[COFFEE.memory_id]]
    index.is_down = True
    await index_sync.check_health()
    index.is_down = False
    await index_sync.flush()
    assert index.calls == [[COFFEE.memory_id]] * 2


async def test_a_process_that_stalled_writes_unconfirmed_writes_again(
    index: FallibleIndex, index_sync: IndexSync, seconds: Seconds
):
    index_sync.mark_dirty(OWNER, [COFFEE.memory_id])
    await index_sync.flush()
    for _ in range(10):
        seconds.now += LOOK_EVERY_SECONDS
        await index_sync.check_health()
    await index_sync.flush()
    assert index.calls == [[COFFEE.memory_id]]
    index_sync.mark_dirty(OWNER, [CAT.memory_id])
    await index_sync.flush()
    seconds.now += 2 * SAFE_AFTER_SECONDS
    await index_sync.flush()  # whichever task comes first when the process goes on
    await index_sync.check_health()
    await index_sync.flush()
    assert index.calls == [[COFFEE.memory_id], [CAT.memory_id], [COFFEE.memory_id, CAT.memory_id]]


async def test_old_writes_are_safe_while_others_are_still_written(
    index: FallibleIndex, index_sync: IndexSync, seconds: Seconds
):
    async def slowly(entries: Sequence[IndexEntry]) -> None:
        index.calls.append([one.memory_id for one in entries])
        while seconds.now < len(index.calls) * 2 * SAFE_AFTER_SECONDS <= 3 * 2 * SAFE_AFTER_SECONDS:
            seconds.now += LOOK_EVERY_SECONDS
            await index_sync.check_health()
        if len(index.calls) == 3:
            index.is_down = True
            await index_sync.check_health()
            index.is_down = False

    index.put = slowly  # type: ignore[method-assign]
    for one in (COFFEE, CAT):
        index_sync.mark_dirty(Owner("default", one.memory_id), [one.memory_id, *map(str, range(BATCH))])
    await index_sync.flush()
    assert [some for some in index.calls if some] == [[COFFEE.memory_id], [CAT.memory_id], [CAT.memory_id]]


async def test_a_user_with_more_changes_than_a_batch_is_written_in_batches(index: FallibleIndex, index_sync: IndexSync):
    index_sync.mark_dirty(OWNER, [*map(str, range(BATCH)), COFFEE.memory_id])
    await index_sync.flush()
    assert [len(one) for one in index.removed] == [BATCH]
    assert index.calls == [[], [COFFEE.memory_id]]


async def test_what_was_in_flight_when_the_index_went_away_is_written_again(
    index: FallibleIndex, index_sync: IndexSync
):
    index.goes_on.clear()
    index_sync.mark_dirty(OWNER, [COFFEE.memory_id])
    flushing = asyncio.create_task(index_sync.flush())
    await index.going.wait()
    index.is_down = True
    await index_sync.check_health()
    index.is_down = False
    index.goes_on.set()
    await flushing
    assert index.calls == [[COFFEE.memory_id]] * 2


async def test_what_a_generation_was_being_filled_with_when_the_index_went_away_is_written_again(
    index: FallibleIndex, index_sync: IndexSync
):
    beside = index.beside = FallibleIndex()
    beside.goes_on.clear()
    building = asyncio.create_task(index_sync.build(2, [OWNER]))
    await beside.going.wait()
    index.is_down = True
    await index_sync.check_health()
    index.is_down = False
    beside.goes_on.set()
    await building
    await index_sync.flush()
    assert beside.calls == [[COFFEE.memory_id, CAT.memory_id]] * 2


async def test_a_shard_that_cannot_be_read_is_flushed_later():
    flushed = asyncio.Event()

    class Unreadable:
        times = 0

        async def flush(self) -> None:
            self.times += 1
            if self.times == 1:
                raise ShardUnavailable("the disk fails")
            flushed.set()

    flushing = asyncio.create_task(project_with(Unreadable()).flush_index())
    await asyncio.wait_for(flushed.wait(), 10 * LOOK_EVERY_SECONDS)
    flushing.cancel()
    await asyncio.gather(flushing, return_exceptions=True)


async def test_the_index_is_checked_however_long_flushing_takes():
    checked = asyncio.Event()

    class Slow:
        async def flush(self) -> None:
            await asyncio.Event().wait()

        async def check_health(self) -> None:
            checked.set()

    agent = project_with(Slow())
    tasks = [asyncio.create_task(work()) for work in (agent.flush_index, agent.check_index)]
    await asyncio.wait_for(checked.wait(), 10 * LOOK_EVERY_SECONDS)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_changes_of_a_user_who_moves_between_workers_wait_until_the_shard_is_held(
    index: FallibleIndex, index_sync: IndexSync
):
    index_sync.mark_dirty(Owner("default", "moving"), [COFFEE.memory_id])
    await index_sync.flush()
    assert index.calls == []


async def test_a_generation_that_is_built_is_filled_and_written_to_until_it_is_dropped_or_searched(
    index: FallibleIndex, index_sync: IndexSync
):
    beside = index.beside = FallibleIndex()
    with pytest.raises(IndexUnavailable, match="rebuild again"):
        await index_sync.build(2, [Owner("default", "moving")])
    await index_sync.build(2, [OWNER])
    assert (beside.calls, index.calls) == ([[COFFEE.memory_id, CAT.memory_id]], [])
    index_sync.mark_dirty(OWNER, [CAT.memory_id, MARATHON.memory_id])
    await index_sync.flush()
    assert (beside.calls[1:], beside.removed) == ([[CAT.memory_id]], [{MARATHON.memory_id: 1}])
    assert (index.calls, index.removed) == ([[CAT.memory_id]], [{MARATHON.memory_id: 1}])
    await index_sync.drop_built()
    index_sync.mark_dirty(OWNER, [COFFEE.memory_id])
    await index_sync.flush()
    assert beside.calls[2:] == ["closed"]
    assert index.calls[1:] == ["looked again", [COFFEE.memory_id]]


async def test_a_next_generation_that_was_deleted_holds_up_no_write_and_one_that_is_down_does(
    index: FallibleIndex, index_sync: IndexSync
):
    beside = index.beside = FallibleIndex()
    await index_sync.build(2, [])
    beside.is_down = True
    index_sync.mark_dirty(OWNER, [COFFEE.memory_id])
    with pytest.raises(IndexUnavailable):
        await index_sync.flush()
    index.there = [1, 3]
    await index_sync.flush()
    assert beside.calls == ["closed"]
    index_sync.mark_dirty(OWNER, [CAT.memory_id])
    await index_sync.flush()
    assert index.calls == [[COFFEE.memory_id], [COFFEE.memory_id], [CAT.memory_id]]


async def test_a_next_generation_is_dropped_while_it_is_found_to_be_deleted(
    index: FallibleIndex, index_sync: IndexSync
):
    beside = index.beside = FallibleIndex()
    await index_sync.build(2, [])
    beside.is_down, index.there = True, [1, 3]
    asking, goes_on, known = asyncio.Event(), asyncio.Event(), index.known

    async def slowly() -> tuple[int, list[int]]:
        asking.set()
        await goes_on.wait()
        return await known()

    index.known = slowly  # type: ignore[method-assign]
    index_sync.mark_dirty(OWNER, [COFFEE.memory_id])
    flushing = asyncio.create_task(index_sync.flush())
    await asking.wait()
    dropping = asyncio.create_task(index_sync.drop_built())
    await asyncio.sleep(0)
    goes_on.set()
    await asyncio.gather(flushing, dropping)
    assert (beside.calls, index.calls[-1]) == (["closed"], "looked again")
