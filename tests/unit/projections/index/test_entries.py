"""The entries of a user's memories: their vectors are read as they are asked for, a few at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from support.examples import XIAOMING, forget, later, remember
from support.given import given

from projections.index import entries
from projections.index.entries import Entries, split

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pytest
    from support.given import Given

    from projections.shard.ledger import LedgerFold
    from projections.state.memory import UserState
    from schemas.identity import Owner


class Ledger:
    """As much of a fold as entries are made of; notes which vectors are read."""

    def __init__(self, known: Given) -> None:
        self._state = known.state
        self.stored = dict(known.vectors)
        self.read: list[list[str]] = []

    def state(self, _owner: Owner) -> UserState:
        return self._state

    def vectors(self, _owner: Owner) -> Ledger:
        return self

    def among(self, memory_ids: Sequence[str]) -> dict[str, bytes]:
        self.read.append(list(memory_ids))
        return {i: self.stored[i] for i in memory_ids if i in self.stored}


def test_vectors_are_read_a_few_at_a_time_and_none_is_missed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(entries, "READ_AT_ONCE", 2)
    ledger = Ledger(given(*(remember(f"locker {n} is blue", f"c-{n}") for n in range(5))))
    found = Entries(XIAOMING, lambda: cast("LedgerFold", ledger))
    assert (len(found), ledger.read) == (5, [])
    assert [entry.memory_id for entry in found] == [i for some in ledger.read for i in some]
    assert [len(some) for some in ledger.read] == [2, 2, 1]
    assert found[0].memory_id == found[:1][0].memory_id


def test_a_memory_that_is_erased_meanwhile_has_no_entry(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(entries, "READ_AT_ONCE", 1)
    ledger = Ledger(given(remember("likes tea", "c-1"), remember("has a red bicycle", "c-2")))
    seen = iter(Entries(XIAOMING, lambda: cast("LedgerFold", ledger)))
    first = next(seen).memory_id
    ledger.stored = {first: ledger.stored[first]}
    assert list(seen) == []


def test_vectors_are_read_in_the_order_in_which_the_file_has_them():
    ledger = Ledger(given(*(remember(f"locker {n} is blue", f"c-{n}") for n in range(20))))
    found = [entry.memory_id for entry in Entries(XIAOMING, lambda: cast("LedgerFold", ledger))]
    assert found == sorted(ledger.stored)


def test_of_what_is_gone_no_vector_is_read():
    known = given(remember("likes tea", "c-1"), remember("has a red bicycle", "c-2"))
    liked = known.of("likes tea").memory_id
    ledger = Ledger(known.when(forget(liked, "f-1", later(hours=1))))
    active, gone = split(XIAOMING, cast("LedgerFold", ledger), [*known.state.memories, "unknown"])
    assert [entry.memory_id for entry in active] == [known.of("has a red bicycle").memory_id] == ledger.read[0]
    assert set(gone) == {liked, "unknown"}
