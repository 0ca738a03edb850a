"""Pending changes: each memory once, the oldest first, as many as fit into a batch."""

from __future__ import annotations

import pytest

from projections.index.backlog import PendingChanges
from schemas.identity import Owner

ANNA, BEN = Owner("default", "anna"), Owner("default", "ben")


def always(_owner: Owner) -> bool:
    return True


def never(_owner: Owner) -> bool:
    return False


@pytest.fixture
def pending() -> PendingChanges:
    """Two memories of Anna's, and then one of Ben's."""
    made = PendingChanges()
    made.add(ANNA, ["a-1", "a-2"])
    made.add(BEN, ["b-1"])
    return made


def test_a_memory_that_changes_twice_is_pending_once(pending: PendingChanges):
    pending.add(ANNA, ["a-1"])
    assert pending.take(10, ANNA, always, always) == {ANNA: ["a-1", "a-2"]}


def test_a_batch_has_what_fits_and_the_rest_stays(pending: PendingChanges):
    assert pending.take(1, None, always, always) == {ANNA: ["a-1"]}
    assert pending.take(2, None, always, always) == {BEN: ["b-1"], ANNA: ["a-2"]}
    assert not pending


def test_a_user_who_is_not_held_here_is_passed_over(pending: PendingChanges):
    assert pending.take(10, None, lambda owner: owner == BEN, always) == {BEN: ["b-1"]}
    assert ANNA in pending


def test_a_user_whom_the_index_keeps_nothing_of_is_dropped(pending: PendingChanges):
    assert pending.take(10, None, always, never) == {}
    assert not pending


def test_a_user_in_flight_counts_as_pending_until_the_batch_ends(pending: PendingChanges):
    batch = pending.take(10, None, always, always)
    pending.begin(batch)
    assert ANNA in pending
    assert not pending
    pending.end()
    assert ANNA not in pending
