"""Following: the index is told of every change at least once, whatever happens to it meanwhile."""

from __future__ import annotations

import asyncio

import pytest
from contract.index_examples import CAT, COFFEE, MARATHON, query

from projections.following import Following
from projections.index import IndexUnavailable
from schemas.identity import Owner

OWNER = Owner("default", "u1")
ACTIVE = {one.memory_id: one for one in (COFFEE, CAT)}


class FallibleIndex:
    """Notes what it is told; `is_down` makes it unavailable, `meanwhile` is called in the middle of a put."""

    def __init__(self):
        self.holds = "the fallible one"
        self.told, self.removed, self.is_down, self.meanwhile = [], [], False, lambda: None
        self.beside = None
        self.there = [1, 2]

    def follows(self, tenant, user_id):
        return (tenant, user_id) == ("default", "u1")

    async def kept_as(self):
        await self.check()
        return self.holds

    async def put(self, entries):
        await self.check()
        self.meanwhile()
        self.told.append([one.memory_id for one in entries])

    async def remove(self, _tenant, _user_id, memory_ids):
        await self.check()
        self.removed.append(dict(memory_ids))

    @property
    def generations(self):
        return self

    def open(self, _generation):
        return self.beside

    async def known(self):
        return 1, self.there

    async def reopen(self):
        self.told.append("looked again")

    def let_go(self, _tenant, _user_id):
        raise NotImplementedError

    async def check(self):
        if self.is_down:
            raise IndexUnavailable("down")

    async def search(self, _query):
        self.told.append("searched")

    async def close(self):
        self.told.append("closed")


def split(_owner, ids):
    return [ACTIVE[one] for one in ids if one in ACTIVE], {one: 1 for one in ids if one not in ACTIVE}


@pytest.fixture
def index() -> FallibleIndex:
    return FallibleIndex()


@pytest.fixture
def following(index: FallibleIndex) -> Following:
    return Following(index, split, lambda _: list(ACTIVE.values()), lambda: (), lambda owner: owner.user_id != "moving")


async def test_active_memories_are_put_and_others_removed_once(index: FallibleIndex, following: Following):
    following.note(OWNER, [COFFEE.memory_id, MARATHON.memory_id])
    following.note(Owner("default", "not followed"), [CAT.memory_id])
    for _ in range(2):
        await following.tell()
    assert (index.told, index.removed) == ([[COFFEE.memory_id]], [{MARATHON.memory_id: 1}])


async def test_what_cannot_be_told_waits(index: FallibleIndex, following: Following):
    following.note(OWNER, [COFFEE.memory_id])
    index.is_down = True
    with pytest.raises(IndexUnavailable):
        await following.tell()
    index.is_down = False
    await following.tell()
    assert index.told == [[COFFEE.memory_id]]


async def test_a_change_that_is_noted_while_it_is_told_is_told_again(index: FallibleIndex, following: Following):
    following.note(OWNER, [COFFEE.memory_id])
    changes = [COFFEE.memory_id]
    index.meanwhile = lambda: following.note(OWNER, [changes.pop()]) if changes else None
    await following.tell()
    assert index.told == [[COFFEE.memory_id]] * 2


async def test_nobody_waits_for_an_index_that_lags_until_it_has_caught_up(index: FallibleIndex, following: Following):
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


async def test_after_an_outage_it_is_told_again_what_it_was_told_last(index: FallibleIndex, following: Following):
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


async def test_a_user_who_moves_between_workers_is_told_of_when_the_shard_is_held(
    index: FallibleIndex, following: Following
):
    following.note(Owner("default", "moving"), [COFFEE.memory_id])
    await following.tell()
    assert index.told == []


async def test_a_generation_that_is_built_is_filled_and_follows_until_it_is_dropped_or_searched(
    index: FallibleIndex, following: Following
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
    index: FallibleIndex, following: Following
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


async def test_a_search_waits_for_what_is_being_told(index: FallibleIndex, following: Following):
    told = asyncio.Event()

    async def slowly(entries):
        await told.wait()
        index.told.append([one.memory_id for one in entries])

    index.put = slowly  # type: ignore[method-assign]
    following.note(OWNER, [COFFEE.memory_id])
    telling = asyncio.create_task(following.tell())
    await asyncio.sleep(0)
    searching = asyncio.create_task(following.search(OWNER, query("coffee")))
    await asyncio.sleep(0)
    assert index.told == []
    told.set()
    await asyncio.gather(telling, searching)
    assert index.told == [[COFFEE.memory_id], "searched"]


class HeldShard:
    """Has folded memories of one user; keeps what an index is said to hold."""

    ledger_topic = "a ledger"

    def __init__(self):
        self.ledger, self.kept = self, {}

    def offset(self, _topic):
        return 7

    def indexed(self, index):
        return self.kept.get(index, 0)

    def memories_since(self, offset):
        return {OWNER: [COFFEE.memory_id, CAT.memory_id]} if offset < 7 else {}


@pytest.fixture
def shard():
    return HeldShard()


@pytest.fixture
def holding(index, shard):
    return Following(index, split, lambda _: [], lambda: (shard,), lambda _: True)


async def test_an_index_that_holds_something_else_than_before_is_told_of_everything(index, holding, shard):
    shard.kept["the fallible one"] = 7
    for _ in range(2):
        await holding.tell()
    assert index.told == []
    index.holds = "an empty one"
    for _ in range(2):
        await holding.tell()
    assert index.told == [[COFFEE.memory_id, CAT.memory_id]]


async def test_a_search_does_not_answer_from_an_index_that_was_emptied_under_it(index, holding, shard):
    shard.kept["the fallible one"] = 7
    await holding.tell()
    searches = []

    async def emptied(asked):
        searches.append(asked)
        index.holds = "an empty one"

    index.search = emptied
    await holding.search(OWNER, query("coffee"))
    assert index.told == [[COFFEE.memory_id, CAT.memory_id]]
    assert len(searches) == 2


async def test_a_shard_that_is_held_before_the_index_is_reached_is_told_of_when_it_is(index, holding, shard):
    index.is_down = True
    holding.note_missed(shard)
    with pytest.raises(IndexUnavailable):
        await holding.tell()
    index.is_down = False
    await holding.tell()
    assert index.told == [[COFFEE.memory_id, CAT.memory_id]]
