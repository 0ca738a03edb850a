"""The suites of indexes notice what an index may get wrong: each mutant of the third index fails a test of theirs.

The test that a mutant must fail is named; that the index itself passes all of them is in test_notebook_index.py.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from contract.index_suite import IndexSuite
from contract.index_with_shard import IndexWithShard
from contract.shared_index_suite import SharedIndexSuite
from contract.test_notebook_index import CONFIG, NotebookStore
from support.notebook_index import NOTEBOOK, NOTEBOOKS, Notebook, NotebookIndex

from projections.index.protocol import IndexUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from uuid import UUID

    from projections.index.protocol import IndexEntry, Legs


class RemovesAnyVersion(Notebook):
    async def remove(self, generation: int, object_id: UUID, version: int) -> None:  # noqa: ARG002 - that is the fault
        await self.answer(generation)
        self.generations[generation].pop(object_id, None)


class RemovesOlderOnly(Notebook):
    async def remove(self, generation: int, object_id: UUID, version: int) -> None:
        await super().remove(generation, object_id, version - 1)


class PutsAnyVersion(Notebook):
    async def put(self, generation: int, object_id: UUID, entry: IndexEntry) -> None:
        await self.answer(generation)
        self.generations[generation][object_id] = entry


class KeepsTheFirst(Notebook):
    async def put(self, generation: int, object_id: UUID, entry: IndexEntry) -> None:
        await self.answer(generation)
        self.generations[generation].setdefault(object_id, entry)


class LeavesAnEqualVersion(Notebook):
    async def put(self, generation: int, object_id: UUID, entry: IndexEntry) -> None:
        held = self.generations[generation].get(object_id)
        if held is None or held.version != entry.version:
            await super().put(generation, object_id, entry)


class KeepsItsIdentity(Notebook):
    def wipe(self) -> None:
        super().wipe()
        self.identity = "the same"


class MakesWhatWasDropped(Notebook):
    async def answer(self, generation: int | None = None) -> None:
        await super().answer()
        if generation is not None:
            self.generations.setdefault(generation, {})


class ActivatesNothing(Notebook):
    async def activate(self, generation: int) -> None:
        await self.answer()
        self.searched = generation


class DropsNothing(Notebook):
    async def drop(self, generation: int) -> None:  # noqa: ARG002 - that is the fault
        await self.answer()


class LosesTheSearchedUnnoticed(Notebook):
    async def drop(self, generation: int) -> None:
        await self.answer()
        self.generations.pop(generation, None)
        self.generations.setdefault(self.searched, {})


class RaisesItsOwnError(Notebook):
    async def answer(self, generation: int | None = None) -> None:
        await super().answer()
        if generation is not None and generation not in self.generations:
            raise KeyError(generation)


S, X = IndexSuite, SharedIndexSuite


@pytest.fixture
def _notebook(request: pytest.FixtureRequest) -> Iterator[None]:
    """Have the server be a mutant."""
    NOTEBOOKS.clear()
    NOTEBOOKS["desk"] = request.param()
    yield
    NOTEBOOKS.clear()


async def fails(test: Any, *arguments: Any) -> bool:
    """Return whether a test of a suite fails, by an assertion or by what the index raises."""
    try:
        await test(*arguments)
    except (AssertionError, pytest.fail.Exception, IndexUnavailable, KeyError):
        return True
    return False


@pytest.mark.parametrize(
    ("_notebook", "test"),
    [
        (RemovesAnyVersion, S.test_a_removal_that_knows_less_than_what_is_held_removes_nothing),
        (RemovesOlderOnly, S.test_what_is_removed_is_no_longer_found_and_removing_again_is_no_error),
        (RemovesOlderOnly, S.test_what_was_put_again_at_its_version_is_superseded_and_removed_whole),
        (PutsAnyVersion, S.test_an_older_version_that_comes_late_is_ignored),
        (PutsAnyVersion, S.test_of_two_versions_in_one_put_the_later_stays_whatever_their_order),
        (KeepsTheFirst, S.test_a_newer_version_takes_the_place_of_the_older),
    ],
    indirect=["_notebook"],
    ids=lambda one: one.__name__,
)
@pytest.mark.usefixtures("_notebook")
async def test_the_suite_of_every_index_notices(test: Any):
    index = IndexWithShard(lambda load: NOTEBOOK.make(CONFIG, load), loaded_early=True)
    assert await fails(test, S(), index)


@pytest.mark.parametrize(
    ("_notebook", "test"),
    [
        (RemovesAnyVersion, X.test_a_late_removal_by_an_older_version_leaves_what_is_newer),
        (PutsAnyVersion, X.test_of_two_versions_in_one_batch_the_later_stays),
        (LeavesAnEqualVersion, X.test_the_same_version_put_again_heals_what_was_lost_in_part),
        (KeepsItsIdentity, X.test_an_index_that_lost_everything_says_so_and_not_that_nothing_is_found),
        (KeepsItsIdentity, X.test_a_check_makes_anew_what_was_lost_and_reads_its_identity),
        (MakesWhatWasDropped, X.test_a_dropped_generation_is_not_made_again_by_who_writes_to_it_still),
        (RaisesItsOwnError, X.test_a_dropped_generation_is_not_made_again_by_who_writes_to_it_still),
        (ActivatesNothing, X.test_a_generation_that_is_not_there_cannot_be_searched),
        (DropsNothing, X.test_a_generation_is_filled_beside_the_one_that_is_searched_and_takes_its_place),
        (LosesTheSearchedUnnoticed, X.test_dropping_the_generation_that_is_searched_is_a_loss),
    ],
    indirect=["_notebook"],
    ids=lambda one: one.__name__,
)
@pytest.mark.usefixtures("_notebook")
async def test_the_suite_of_shared_indexes_notices(test: Any):
    store = NotebookStore(NOTEBOOK, CONFIG)
    try:
        assert await fails(test, X(), store)
    finally:
        await store.close()


class NeverAsksForTheIdentity(NotebookIndex):
    """Answers a search from whatever is there."""

    async def search(self, query: Any) -> Legs:
        self._identity = self._server.identity
        return await super().search(query)


class WritesInSecret(NotebookIndex):
    """Loses what it is given, and says nothing."""

    async def put(self, entries: Any) -> None:
        await self._local.put(entries)


@pytest.mark.parametrize(
    ("mutant", "test"),
    [
        (NeverAsksForTheIdentity, X.test_an_index_that_lost_everything_says_so_and_not_that_nothing_is_found),
        (WritesInSecret, X.test_a_write_after_an_unnoticed_loss_goes_to_what_is_there_or_fails),
        (WritesInSecret, X.test_what_was_put_is_there_for_who_opens_it_later),
    ],
    ids=lambda one: one.__name__,
)
async def test_the_suite_of_shared_indexes_notices_a_client_that_is_wrong(mutant: Any, test: Any):
    NOTEBOOKS.clear()
    store = NotebookStore(replace(NOTEBOOK, make=mutant), CONFIG)
    try:
        assert await fails(test, X(), store)
    finally:
        await store.close()
        NOTEBOOKS.clear()
