"""A user who was erased was never there: whatever the history, live, replayed, and where parts cannot be read."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import MONDAY, XIAOMING, envelope
from support.histories import HISTORIES, lived

from projections.shard.ledger import LedgerFold
from projections.shard.tables import connect
from projections.state.digest import digests
from projections.state.evolve import counts, events_of, evolve, link_of
from projections.state.memory import UserState
from projections.turns import to_end
from schemas import codec
from schemas.log import Position, Record
from schemas.messages.erasure import Cut, EraseUser
from schemas.topics import CONVERSATIONS, LEDGER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from support.given import Given
    from support.histories import Step

    from schemas.messages.decision import Decision

BEFORE_ALL = MONDAY - timedelta(seconds=1)
"""Log time of the erasure: what the histories extract was logged later, and is not of the erased user's words."""


def erased(history: list[Step]) -> tuple[Given, list[Decision]]:
    """Live a history, and be erased; return where that ends, and every decision."""
    known, decisions = lived(history)
    item = EraseUser(
        envelope=envelope("erase"), cut=[Cut(topic=CONVERSATIONS.name, before=3)], key_ids=[b"12345678"], observations=2
    )
    known = known.when(item, logged=BEFORE_ALL)
    return replace(known, vectors={}), [*decisions, *known.decisions]


def fold(decisions: Sequence[Decision]) -> UserState:
    state = UserState(owner=XIAOMING)
    for decision in decisions:
        if counts(state, decision):
            state = evolve(state, decision, events_of(decision), link_of(decision, codec.encode(decision)))
    return state


@given(HISTORIES)
@settings(max_examples=20, deadline=None)
def test_nothing_is_known_of_who_was_erased(history: list[Step]):
    known, decisions = erased(history)
    assert not known.memories
    assert digests([known.state]) == digests([])
    assert fold(decisions) == known.state


@given(HISTORIES, HISTORIES)
@settings(max_examples=20, deadline=None)
def test_who_returns_is_as_if_never_there_before(before: list[Step], after: list[Step]):
    returned, _ = lived(after, erased(before)[0])
    new, _ = lived(after)
    assert digests([returned.state]) == digests([new.state])


@given(HISTORIES, HISTORIES, st.data())
@settings(max_examples=20, deadline=None)
def test_a_fold_that_cannot_read_what_was_before_is_the_live_one(
    before: list[Step], after: list[Step], data: st.DataObject
):
    known, first = erased(before)
    returned, second = lived(after, known)
    *unreadable, erasure = first
    left = [decision for decision in unreadable if data.draw(st.booleans())]
    noise = data.draw(st.lists(st.sampled_from(first), max_size=3))
    assert fold([*left, erasure, *noise, *second]) == returned.state


@given(HISTORIES, HISTORIES, st.lists(st.integers(1, 6), min_size=1))
@settings(max_examples=20, deadline=None)
def test_a_shard_keeps_no_row_of_before_whatever_the_batches(before: list[Step], after: list[Step], sizes: list[int]):
    known, first = erased(before)
    returned, second = lived(after, known)
    rows = [
        Record(position=Position(LEDGER.name, 0, n), recorded_at=MONDAY, key=XIAOMING.key, value=codec.encode(decision))
        for n, decision in enumerate([*first, *second])
    ]
    with closing(connect(Path(":memory:"))) as connection:
        ledger = LedgerFold(connection, 0)
        while rows:
            size = sizes[len(rows) % len(sizes)]
            batch, rows = to_end(ledger.gather(rows[:size])), rows[size:]
            ledger.write(batch)
            ledger.keep(batch)
        reopened = LedgerFold(connection, 0)
        assert reopened.state(XIAOMING) == ledger.state(XIAOMING) == returned.state
        assert reopened.vectors(XIAOMING).all() == returned.vectors
        [versions] = connection.execute("select min(version), count(*) from decisions").fetchall()
        assert versions == (len(first), len(second) + 1)
