"""What an index must do that outlives the process and is shared by workers: through the protocol alone.

An adapter's test inherits SharedIndexSuite and supplies the fixture `store`. It passes IndexSuite beside it, as every
index does.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from contract.index_examples import BANK, CAT, COFFEE, FOOD, FOUR, SPORT, four, query

from projections.index.protocol import ANY_VERSION, IndexChanged, IndexUnavailable, Legs
from projections.text import analyser

if TYPE_CHECKING:
    from collections.abc import Coroutine, Sequence
    from typing import Any

    from contract.index_store import IndexStore

    from projections.index.protocol import Hit, Index, IndexGenerations

LONGER = np.eye(7, dtype=np.float32)
TEA = replace(COFFEE, version=2, tokens=analyser.tokens("用户喜欢喝茶"), vector=SPORT)
STEPS = range(10)
"""How many steps of a write another worker lets pass before it does something itself."""


async def nearest(index: Index) -> Sequence[Hit]:
    """Return the semantic leg of a question about food."""
    return (await index.search(query(vector=FOOD))).semantic


async def found(index: Index) -> list[str]:
    """Return the names of what is nearest to food, in their order."""
    names: list[str] = four(await nearest(index))
    return names


def versions(hits: Sequence[Hit]) -> set[tuple[str, int]]:
    """Return what was found, each at its version."""
    return {(hit.memory_id, hit.version) for hit in hits}


def generations_of(index: Index) -> IndexGenerations:
    """Return an index's generations; one that outlives the process has them."""
    assert index.generations is not None
    return index.generations


class SharedIndexSuite:
    @pytest.fixture
    def store(self) -> IndexStore:
        raise NotImplementedError

    # -- several workers

    async def test_it_says_that_it_outlives_the_process_and_wants_every_change(self, store: IndexStore):
        index = store.open()
        assert index.outlives_process
        assert index.generations is not None
        assert index.needs_changes("default", "never seen")

    async def test_what_one_worker_puts_and_removes_another_finds_so(self, store: IndexStore):
        mine, theirs = store.open(), store.open()
        await mine.put(FOUR)
        assert (await found(theirs))[0] == "coffee"
        await theirs.remove("default", "u1", {COFFEE.memory_id: 1})
        assert set(await found(mine)) == {"cat", "marathon", "bank"}

    async def test_vectors_of_a_length_that_another_worker_brought_are_found(self, store: IndexStore):
        mine, theirs = store.open(), store.open()
        await mine.put([COFFEE])
        assert await found(theirs) == ["coffee"]
        asked = query(vector=LONGER[0])
        assert (await theirs.search(asked)).semantic == ()
        await mine.put([replace(CAT, vector=LONGER[0])])
        assert four((await theirs.search(asked)).semantic) == ["cat"]
        assert await found(theirs) == ["coffee"]

    async def test_what_was_put_is_there_for_who_opens_it_later(self, store: IndexStore):
        first = store.open()
        await first.put(FOUR)
        identity = await first.identity()
        await first.close()
        later = store.open()
        assert len(await nearest(later)) == 4
        assert await later.identity() == identity

    async def test_a_user_who_was_released_is_held_on_and_found_again(self, store: IndexStore):
        index = store.open()
        await index.put(FOUR)
        index.release("default", "u1")
        index.release("default", "never seen")
        assert len(await nearest(index)) == 4

    async def test_what_is_searched_after_a_reopening_is_what_was_searched_before(self, store: IndexStore):
        index = store.open()
        await index.put(FOUR)
        before, identity = await nearest(index), await index.identity()
        await index.reopen()
        assert await nearest(index) == before
        assert await index.identity() == identity

    async def test_closing_twice_is_no_error_and_leaves_others_open(self, store: IndexStore):
        mine, theirs, unused = store.open(), store.open(), store.open()
        await mine.put([COFFEE])
        await theirs.check()
        for index in (mine, mine, unused, unused):
            await index.close()
        assert await found(theirs) == ["coffee"]

    async def test_words_are_the_shards_and_released_users_words_are_loaded_again(self, store: IndexStore):
        memories, loads = [COFFEE], []

        def load(tenant, user_id):
            loads.append((tenant, user_id))
            return list(memories)

        index = store.open(load)
        await index.put([COFFEE])
        assert four((await index.search(query("咖啡"))).keyword) == ["coffee"]
        memories.append(CAT)
        await index.put([CAT])
        assert four((await index.search(query("猫"))).keyword) == ["cat"]
        assert len(loads) == 1
        memories.remove(COFFEE)
        index.release("default", "u1")
        assert four((await index.search(query("用户"))).keyword) == ["cat"]
        assert len(loads) == 2

    # -- identity

    async def test_all_workers_and_a_generation_beside_read_one_identity(self, store: IndexStore):
        mine, theirs = store.open(), store.open()
        identity = await mine.identity()
        assert identity
        assert await theirs.identity() == identity
        beside = generations_of(mine).open(2)
        try:
            await beside.put([COFFEE])
            assert await beside.identity() == identity
        finally:
            await beside.close()

    async def test_an_index_that_lost_everything_says_so_and_not_that_nothing_is_found(self, store: IndexStore):
        mine, theirs = store.open(), store.open()
        await mine.put(FOUR)
        assert len(await nearest(theirs)) == 4
        before = await mine.identity()
        await store.wipe()
        with pytest.raises(IndexUnavailable):
            await nearest(mine)
        await mine.check()
        assert await mine.identity() != before
        assert await theirs.identity() == before  # nothing has told this one
        with pytest.raises(IndexChanged, match="filled anew"):
            await nearest(theirs)
        assert await mine.identity() == await theirs.identity()
        assert await nearest(mine) == ()
        await mine.put(FOUR)
        assert len(await nearest(theirs)) == 4

    async def test_a_check_makes_anew_what_was_lost_and_reads_its_identity(self, store: IndexStore):
        mine, theirs = store.open(), store.open()
        await mine.put(FOUR)
        await theirs.check()
        before = await mine.identity()
        assert await theirs.identity() == before
        await store.wipe()
        await mine.check()
        after = await mine.identity()
        assert after != before
        await theirs.check()
        assert await theirs.identity() == after
        assert await nearest(mine) == ()
        await mine.put([CAT])
        assert await found(theirs) == ["cat"]

    async def test_a_write_after_an_unnoticed_loss_goes_to_what_is_there_or_fails(self, store: IndexStore):
        mine, theirs = store.open(), store.open()
        await mine.put([COFFEE])
        assert await found(theirs) == ["coffee"]
        await store.wipe()
        await mine.check()
        await mine.put([CAT, BANK])
        calls = {"cat": theirs.remove("default", "u1", {CAT.memory_id: 1}), "coffee": theirs.put([COFFEE])}
        expected = {"cat", "bank"}
        for name, call in calls.items():
            with contextlib.suppress(IndexUnavailable):
                await call
                expected ^= {name}
        assert set(await found(mine)) == expected
        await theirs.check()
        await theirs.put([COFFEE])
        assert set(await found(mine)) == expected | {"coffee"}

    # -- generations

    async def test_there_is_one_generation_at_first_and_it_is_searched(self, store: IndexStore):
        searched, every = await generations_of(store.open()).known()
        assert every == [searched]

    async def test_a_generation_is_filled_beside_the_one_that_is_searched_and_takes_its_place(self, store: IndexStore):
        mine, theirs = store.open(), store.open()
        generations = generations_of(mine)
        first, _ = await generations.known()
        beside = generations.open(first + 1)
        await mine.put([COFFEE])
        await beside.put([CAT, BANK])
        await beside.remove("default", "u1", {BANK.memory_id: 1})
        assert await found(mine) == await found(theirs) == ["coffee"]
        assert await found(beside) == ["cat"]
        assert await generations.known() == (first, [first, first + 1])
        await generations.activate(first + 1)
        await theirs.reopen()
        assert await found(mine) == await found(theirs) == ["cat"]
        assert await generations_of(theirs).known() == (first + 1, [first, first + 1])
        await generations.activate(first)
        await theirs.reopen()
        assert await found(mine) == await found(theirs) == ["coffee"]
        await beside.close()
        await generations.drop(first + 1)
        assert await generations.known() == (first, [first])
        assert await found(mine) == ["coffee"]

    async def test_a_generation_that_was_checked_is_there_though_nobody_has_memories(self, store: IndexStore):
        generations = generations_of(store.open())
        first, _ = await generations.known()
        beside = generations.open(first + 6)
        assert (await generations.known())[1] == [first]
        await beside.check()
        assert (await generations.known())[1] == [first, first + 6]
        assert await nearest(beside) == ()
        await beside.close()
        await generations.drop(first + 6)

    async def test_a_dropped_generation_is_not_made_again_by_who_writes_to_it_still(self, store: IndexStore):
        index = store.open()
        generations = generations_of(index)
        first, _ = await generations.known()
        await index.put([COFFEE])
        beside = generations.open(first + 1)
        await beside.put([COFFEE, CAT])
        await generations.drop(first + 1)
        for call in (
            lambda: beside.put([TEA]),
            lambda: beside.remove("default", "u1", {CAT.memory_id: 1}),
            lambda: nearest(beside),
        ):
            with pytest.raises(IndexUnavailable):
                await call()
        assert await generations.known() == (first, [first])
        assert await found(index) == ["coffee"]
        again = generations.open(first + 1)
        assert await nearest(again) == ()
        await again.put([CAT])
        assert await found(again) == ["cat"]
        for opened in (beside, again):
            await opened.close()

    async def test_a_generation_that_is_not_there_cannot_be_searched(self, store: IndexStore):
        mine, theirs = store.open(), store.open()
        await mine.put([COFFEE])
        before = await generations_of(mine).known()
        with pytest.raises(IndexUnavailable):
            await generations_of(mine).activate(before[0] + 5)
        assert await generations_of(theirs).known() == await generations_of(mine).known() == before
        await theirs.reopen()
        assert await found(mine) == await found(theirs) == ["coffee"]

    async def test_dropping_the_generation_that_is_searched_is_a_loss(self, store: IndexStore):
        mine, theirs = store.open(), store.open()
        await mine.put([COFFEE])
        assert await found(theirs) == ["coffee"]
        before = await mine.identity()
        await generations_of(mine).drop((await generations_of(mine).known())[0])
        for index in (mine, theirs):
            await index.check()
        assert await mine.identity() == await theirs.identity() != before
        assert await nearest(mine) == await nearest(theirs) == ()
        await mine.put([CAT])
        assert await found(theirs) == ["cat"]

    async def test_dropping_a_generation_that_is_not_there_is_no_error(self, store: IndexStore):
        index = store.open()
        await index.put([COFFEE])
        await generations_of(index).drop(99)
        assert await found(index) == ["coffee"]

    # -- late writers

    @pytest.mark.parametrize("steps", STEPS)
    async def test_a_late_put_of_an_older_version_takes_nothing_away(self, store: IndexStore, steps: int):
        mine, late = store.open(), store.open()
        await mine.put([COFFEE, CAT])
        writing = await self._begun(store, late.put([COFFEE]), steps)
        await mine.put([TEA])
        await writing
        await self._newest_is_there(mine, late)

    @pytest.mark.parametrize("steps", STEPS)
    async def test_a_late_put_of_the_same_version_takes_nothing_away(self, store: IndexStore, steps: int):
        mine, late = store.open(), store.open()
        await mine.put([TEA, CAT])
        writing = await self._begun(store, late.put([TEA]), steps)
        await mine.put([TEA])
        await mine.put([TEA])
        await writing
        await self._newest_is_there(mine, late)

    @pytest.mark.parametrize("steps", STEPS)
    async def test_a_late_removal_of_an_older_version_takes_nothing_away(self, store: IndexStore, steps: int):
        mine, late = store.open(), store.open()
        await mine.put([COFFEE, CAT])
        writing = await self._begun(store, late.remove("default", "u1", {COFFEE.memory_id: 1}), steps)
        await mine.put([TEA])
        await writing
        await self._newest_is_there(mine, late)

    @pytest.mark.parametrize("steps", STEPS)
    async def test_a_writer_that_is_killed_at_any_step_leaves_what_others_write(self, store: IndexStore, steps: int):
        mine, killed = store.open(), store.open()
        await mine.put([COFFEE, CAT])
        writing = await self._begun(store, killed.put([COFFEE, CAT]), steps)
        writing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await writing
        assert {COFFEE.memory_id, CAT.memory_id} == {hit.memory_id for hit in await nearest(mine)}
        await mine.put([TEA])
        await self._newest_is_there(mine, mine)

    async def test_what_two_workers_put_at_once_is_there_once(self, store: IndexStore):
        mine, theirs = store.open(), store.open()
        await mine.put([CAT])
        await asyncio.gather(mine.put(FOUR), theirs.put(FOUR))
        hits = await nearest(mine)
        assert len({hit.memory_id for hit in hits}) == len(hits) == 4
        await mine.put(FOUR)
        assert await nearest(theirs) == hits

    async def test_everything_removed_by_one_worker_is_gone_for_the_other(self, store: IndexStore):
        mine, theirs = store.open(), store.open()
        await mine.put(FOUR)
        await theirs.remove("default", "u1", dict.fromkeys([one.memory_id for one in FOUR], ANY_VERSION))
        assert await mine.search(query("用户", FOOD)) == Legs((), ())

    async def test_the_same_version_put_again_heals_what_was_lost_in_part(self, store: IndexStore):
        index = store.open()
        await index.put([COFFEE, CAT])
        before = await nearest(index)
        await store.spoil(COFFEE)
        await index.put([COFFEE])
        assert await nearest(index) == before

    async def test_of_two_versions_in_one_batch_the_later_stays(self, store: IndexStore):
        index = store.open()
        await index.put([TEA, COFFEE, CAT, replace(CAT, version=2)])
        assert versions(await nearest(index)) >= {(TEA.memory_id, 2), (CAT.memory_id, 2)}
        await index.put([TEA, replace(CAT, version=2)])  # as the reader has done who meets an older version
        assert versions(await nearest(index)) == {(TEA.memory_id, 2), (CAT.memory_id, 2)}

    async def test_a_late_removal_by_an_older_version_leaves_what_is_newer(self, store: IndexStore):
        mine, late = store.open(), store.open()
        await mine.put([TEA, CAT])
        await late.remove("default", "u1", {COFFEE.memory_id: 1})
        await self._newest_is_there(mine, late)

    # -- outages

    async def test_while_it_is_away_every_call_says_so_and_where_it_is(self, store: IndexStore):
        index = store.open()
        await index.put(FOUR)
        generations = generations_of(index)
        first, _ = await generations.known()
        await store.stop()
        try:
            for call in (
                lambda: nearest(index),
                lambda: index.put([TEA]),
                lambda: index.remove("default", "u1", {CAT.memory_id: 1}),
                index.check,
                generations.known,
                lambda: generations.activate(first),
                lambda: generations.drop(first + 1),
                store.open().identity,
            ):
                with pytest.raises(IndexUnavailable, match=str(self.place(store))):
                    await call()
        finally:
            await store.start()

    async def test_when_it_is_back_it_holds_what_it_held_and_takes_what_is_new(self, store: IndexStore):
        index, early = store.open(), store.open()
        await index.put(FOUR)
        before, identity = await nearest(index), await index.identity()
        await store.stop()
        try:
            for one in (index, early):
                with pytest.raises(IndexUnavailable):
                    await nearest(one)
        finally:
            await store.start()
        await index.check()
        assert await nearest(index) == await nearest(early) == before
        assert await index.identity() == await early.identity() == identity
        await index.put([TEA])
        assert (TEA.memory_id, 2) in versions(await nearest(early))

    async def test_an_outage_is_logged_once_and_its_end_once(self, store: IndexStore, caplog: pytest.LogCaptureFixture):
        caplog.set_level(logging.INFO, "mnemolog.index")
        index = store.open()
        await index.check()
        await store.stop()
        try:
            for _ in range(3):
                with pytest.raises(IndexUnavailable):
                    await index.check()
        finally:
            await store.start()
        for _ in range(2):
            await index.check()
        logged = [one for one in caplog.records if one.name == "mnemolog.index"]
        assert [one.levelname for one in logged] == ["WARNING", "INFO"]
        assert all(str(self.place(store)) in one.getMessage() for one in logged)

    async def test_the_probe_names_the_server_or_says_why_it_cannot(self, store: IndexStore):
        probe = store.adapter.probe
        assert probe is not None
        assert (await probe(store.config)).startswith(store.adapter.title)
        await store.stop()
        try:
            with pytest.raises(IndexUnavailable, match=str(self.place(store))):
                await probe(store.config)
        finally:
            await store.start()

    # -- what the tests above share

    def place(self, store: IndexStore) -> str:
        """Return the part of the address that every message must name."""
        return store.config.url.partition("?")[0]

    async def _begun(self, store: IndexStore, call: Coroutine[Any, Any, None], steps: int) -> asyncio.Task[None]:
        """Begin a write of another worker, and let some of its steps pass."""
        writing = asyncio.create_task(call)
        for _ in range(steps):
            await store.step()
        return writing

    async def _newest_is_there(self, mine: Index, other: Index) -> None:
        """Check that both find the newest version, and after one more put of it nothing older."""
        for index in (mine, other):
            assert (TEA.memory_id, 2) in versions(await nearest(index))
            best = (await index.search(query(vector=SPORT, limit=1))).semantic
            assert versions(best) == {(TEA.memory_id, 2)}
        await mine.put([TEA])  # as the reader has done who meets what a late writer left
        assert versions(await nearest(mine)) == {(TEA.memory_id, 2), (CAT.memory_id, 1)}
