"""Following: the index is told of every change at least once, whatever happens to it meanwhile."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from contract.index_examples import CAT, COFFEE, MARATHON
from support.fallible_index import OWNER, FallibleIndex, Seconds, following_of

from projections.index.durability import LOOK_EVERY_SECONDS, SAFE_AFTER_SECONDS
from projections.index.protocol import IndexUnavailable
from projections.index.sync import TOLD_AT_ONCE, IndexSync
from projections.shard.errors import ShardUnavailable
from schemas.identity import Owner
from streams.agents import project
from streams.agents.project import Project

if TYPE_CHECKING:
    from collections.abc import Sequence

    from projections.index.protocol import IndexEntry


@pytest.fixture
def index() -> FallibleIndex:
    return FallibleIndex()


@pytest.fixture
def seconds() -> Seconds:
    return Seconds()


@pytest.fixture
def following(index: FallibleIndex, seconds: Seconds) -> IndexSync:
    return following_of(index, seconds)


async def test_active_memories_are_put_and_others_removed_once(index: FallibleIndex, following: IndexSync):
    following.note(OWNER, [COFFEE.memory_id, MARATHON.memory_id])
    following.note(Owner("default", "not followed"), [CAT.memory_id])
    for _ in range(2):
        await following.tell()
    assert (index.told, index.removed) == ([[COFFEE.memory_id]], [{MARATHON.memory_id: 1}])


async def test_what_cannot_be_told_waits(index: FallibleIndex, following: IndexSync):
    following.note(OWNER, [COFFEE.memory_id])
    index.is_down = True
    with pytest.raises(IndexUnavailable):
        await following.tell()
    index.is_down = False
    await following.tell()
    assert index.told == [[COFFEE.memory_id]]


async def test_a_change_that_is_noted_while_it_is_told_is_told_again(index: FallibleIndex, following: IndexSync):
    following.note(OWNER, [COFFEE.memory_id])
    changes = [COFFEE.memory_id]
    index.meanwhile = lambda: following.note(OWNER, [changes.pop()]) if changes else None
    await following.tell()
    assert index.told == [[COFFEE.memory_id]] * 2


async def test_nobody_waits_for_an_index_that_lags_until_it_has_caught_up(index: FallibleIndex, following: IndexSync):
    index.is_down = True
    following.note(OWNER, [COFFEE.memory_id])
    await following.tell_if_it_answers()
    index.is_down = False
    await following.tell_if_it_answers()
    assert index.told == []
    await following.tell()
    following.note(OWNER, [CAT.memory_id])
    await following.tell_if_it_answers()
    assert index.told == [[COFFEE.memory_id], [CAT.memory_id]]


async def test_after_an_outage_it_is_told_again_what_it_was_told_last(index: FallibleIndex, following: IndexSync):
    following.note(OWNER, [COFFEE.memory_id])
    await following.tell()
    await following.look()
    await following.tell()
    assert index.told == [[COFFEE.memory_id]]
    index.is_down = True
    await following.look()
    index.is_down = False
    await following.tell()
    assert index.told == [[COFFEE.memory_id]] * 2


async def test_who_stood_still_tells_again_what_it_told_last(
    index: FallibleIndex, following: IndexSync, seconds: Seconds
):
    following.note(OWNER, [COFFEE.memory_id])
    await following.tell()
    for _ in range(10):
        seconds.now += LOOK_EVERY_SECONDS
        await following.look()
    await following.tell()
    assert index.told == [[COFFEE.memory_id]]
    following.note(OWNER, [CAT.memory_id])
    await following.tell()
    seconds.now += 2 * SAFE_AFTER_SECONDS
    await following.tell()  # whoever comes first when it goes on
    await following.look()
    await following.tell()
    assert index.told == [[COFFEE.memory_id], [CAT.memory_id], [COFFEE.memory_id, CAT.memory_id]]


async def test_what_it_was_told_long_ago_is_safe_while_others_are_still_told(
    index: FallibleIndex, following: IndexSync, seconds: Seconds
):
    async def slowly(entries: Sequence[IndexEntry]) -> None:
        index.told.append([one.memory_id for one in entries])
        while seconds.now < len(index.told) * 2 * SAFE_AFTER_SECONDS <= 3 * 2 * SAFE_AFTER_SECONDS:
            seconds.now += LOOK_EVERY_SECONDS
            await following.look()
        if len(index.told) == 3:
            index.is_down = True
            await following.look()
            index.is_down = False

    index.put = slowly  # type: ignore[method-assign]
    for one in (COFFEE, CAT):
        following.note(Owner("default", one.memory_id), [one.memory_id, *map(str, range(TOLD_AT_ONCE))])
    await following.tell()
    assert [some for some in index.told if some] == [[COFFEE.memory_id], [CAT.memory_id], [CAT.memory_id]]


async def test_a_user_who_has_very_much_is_told_of_bit_by_bit(index: FallibleIndex, following: IndexSync):
    following.note(OWNER, [*map(str, range(TOLD_AT_ONCE)), COFFEE.memory_id])
    await following.tell()
    assert [len(one) for one in index.removed] == [TOLD_AT_ONCE]
    assert index.told == [[], [COFFEE.memory_id]]


async def test_what_was_being_told_when_the_index_went_away_is_told_again(index: FallibleIndex, following: IndexSync):
    index.goes_on.clear()
    following.note(OWNER, [COFFEE.memory_id])
    telling = asyncio.create_task(following.tell())
    await index.going.wait()
    index.is_down = True
    await following.look()
    index.is_down = False
    index.goes_on.set()
    await telling
    assert index.told == [[COFFEE.memory_id]] * 2


async def test_what_a_generation_was_being_filled_with_when_the_index_went_away_is_told_again(
    index: FallibleIndex, following: IndexSync
):
    beside = index.beside = FallibleIndex()
    beside.goes_on.clear()
    building = asyncio.create_task(following.build(2, [OWNER]))
    await beside.going.wait()
    index.is_down = True
    await following.look()
    index.is_down = False
    beside.goes_on.set()
    await building
    await following.tell()
    assert beside.told == [[COFFEE.memory_id, CAT.memory_id]] * 2


async def test_a_shard_that_cannot_be_read_is_told_of_later(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(project, "LOOK_EVERY_SECONDS", 0)
    told = asyncio.Event()

    class Unreadable:
        times = 0

        async def tell(self) -> None:
            self.times += 1
            if self.times == 1:
                raise ShardUnavailable("the disk fails")
            told.set()

    shards: Any = SimpleNamespace(following=Unreadable())
    telling = asyncio.create_task(Project(shards=shards).tell_index())
    await asyncio.wait_for(told.wait(), 10 * LOOK_EVERY_SECONDS)
    telling.cancel()
    await asyncio.gather(telling, return_exceptions=True)


async def test_it_is_looked_at_however_long_telling_takes():
    looked = asyncio.Event()

    class Slow:
        async def tell(self) -> None:
            await asyncio.Event().wait()

        async def look(self) -> None:
            looked.set()

    shards: Any = SimpleNamespace(following=Slow())
    agent = Project(shards=shards)
    tasks = [asyncio.create_task(work()) for work in (agent.tell_index, agent.look_after_index)]
    await asyncio.wait_for(looked.wait(), 10 * LOOK_EVERY_SECONDS)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_a_user_who_moves_between_workers_is_told_of_when_the_shard_is_held(
    index: FallibleIndex, following: IndexSync
):
    following.note(Owner("default", "moving"), [COFFEE.memory_id])
    await following.tell()
    assert index.told == []


async def test_a_generation_that_is_built_is_filled_and_follows_until_it_is_dropped_or_searched(
    index: FallibleIndex, following: IndexSync
):
    beside = index.beside = FallibleIndex()
    with pytest.raises(IndexUnavailable, match="rebuild again"):
        await following.build(2, [Owner("default", "moving")])
    await following.build(2, [OWNER])
    assert (beside.told, index.told) == ([[COFFEE.memory_id, CAT.memory_id]], [])
    following.note(OWNER, [CAT.memory_id, MARATHON.memory_id])
    await following.tell()
    assert (beside.told[1:], beside.removed) == ([[CAT.memory_id]], [{MARATHON.memory_id: 1}])
    assert (index.told, index.removed) == ([[CAT.memory_id]], [{MARATHON.memory_id: 1}])
    await following.drop_built()
    following.note(OWNER, [COFFEE.memory_id])
    await following.tell()
    assert beside.told[2:] == ["closed"]
    assert index.told[1:] == ["looked again", [COFFEE.memory_id]]


async def test_a_generation_beside_that_was_deleted_keeps_nobody_waiting_and_one_that_is_down_does(
    index: FallibleIndex, following: IndexSync
):
    beside = index.beside = FallibleIndex()
    await following.build(2, [])
    beside.is_down = True
    following.note(OWNER, [COFFEE.memory_id])
    with pytest.raises(IndexUnavailable):
        await following.tell()
    index.there = [1, 3]
    await following.tell()
    assert beside.told == ["closed"]
    following.note(OWNER, [CAT.memory_id])
    await following.tell()
    assert index.told == [[COFFEE.memory_id], [COFFEE.memory_id], [CAT.memory_id]]


async def test_a_generation_beside_is_dropped_while_it_is_found_to_be_deleted(
    index: FallibleIndex, following: IndexSync
):
    beside = index.beside = FallibleIndex()
    await following.build(2, [])
    beside.is_down, index.there = True, [1, 3]
    asking, goes_on, known = asyncio.Event(), asyncio.Event(), index.known

    async def slowly() -> tuple[int, list[int]]:
        asking.set()
        await goes_on.wait()
        return await known()

    index.known = slowly  # type: ignore[method-assign]
    following.note(OWNER, [COFFEE.memory_id])
    telling = asyncio.create_task(following.tell())
    await asking.wait()
    dropping = asyncio.create_task(following.drop_built())
    await asyncio.sleep(0)
    goes_on.set()
    await asyncio.gather(telling, dropping)
    assert (beside.told, index.told[-1]) == (["closed"], "looked again")
