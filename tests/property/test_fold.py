"""The same decisions make the same state: live, rebuilt, repeated, and through the shard in batches of any size."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import MONDAY, XIAOMING
from support.given import Given
from support.histories import HISTORIES, lived

from projections.shard.ledger import LedgerFold
from projections.shard.tables import connect
from projections.state.evolve import counts, events_of, evolve, link_of
from projections.state.memory import UserState
from projections.turns import to_end
from schemas import codec
from schemas.identity import Owner
from schemas.log import Position, Record
from schemas.messages.decision import Decision
from schemas.topics import LEDGER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from support.histories import Step

XIAOHONG = Owner("default", "xiaohong")


def fold(decisions: Sequence[Decision], owner: Owner = XIAOMING) -> UserState:
    """Return the state that the decisions, as bytes, fold into."""
    state = UserState(owner=owner)
    for data in map(codec.encode, decisions):
        decision = codec.decode_as(data, Decision)
        if counts(state, decision):
            state = evolve(state, decision, events_of(decision), link_of(decision, data))
    return state


def records(decisions: Sequence[Decision]) -> list[Record]:
    """Return decisions as they stand in the ledger."""
    return [
        Record(
            position=Position(LEDGER.name, 0, offset),
            recorded_at=MONDAY,
            key=decision.envelope.owner.key,
            value=codec.encode(decision),
        )
        for offset, decision in enumerate(decisions)
    ]


def told_of(owner: Owner, decisions: Sequence[Decision]) -> list[Decision]:
    """Return decisions as they would have been made about another user: linked to each other anew."""
    told, link = list[Decision](), b""
    for decision in decisions:
        envelope = replace(decision.envelope, user_id=owner.user_id, tenant=owner.tenant)
        told.append(replace(decision, envelope=envelope, previous=link))
        link = link_of(told[-1], codec.encode(told[-1]))
    return told


@given(HISTORIES)
@settings(max_examples=20, deadline=None)
def test_a_rebuilt_fold_is_the_live_one(history: list[Step]):
    live, decisions = lived(history)
    assert fold(decisions) == live.state


@given(HISTORIES, st.data())
@settings(max_examples=20, deadline=None)
def test_what_is_repeated_late_or_void_changes_nothing(history: list[Step], data: st.DataObject):
    live, decisions = lived(history)
    noisy: list[Decision] = []
    for decision in decisions:
        noisy.append(decision)
        noisy += data.draw(st.lists(st.sampled_from(decisions[: decisions.index(decision) + 1]), max_size=3))
        noisy.append(replace(decision, item_id="from a frozen worker", version=decision.version))
        noisy.append(replace(decision, version=decision.version + 7))
        noisy.append(replace(decision, version=decision.version + 1, events=[]))
    assert fold(noisy) == live.state


@given(HISTORIES, HISTORIES, st.lists(st.integers(1, 6), min_size=1), st.data())
@settings(max_examples=20, deadline=None)
def test_a_shard_holds_the_live_state_whatever_the_batches_and_the_neighbours(
    mine: list[Step], theirs: list[Step], sizes: list[int], data: st.DataObject
):
    live, hers = lived(mine)
    other, his = lived(theirs, Given(state=UserState(owner=XIAOHONG)))
    his = told_of(XIAOHONG, his)
    other = replace(other, state=replace(other.state, tip=fold(his, XIAOHONG).tip))
    queues, ledger = [hers[:], his[:]], []
    while any(queues):
        chosen = data.draw(st.sampled_from([q for q in queues if q]))
        ledger.append(chosen.pop(0))
        if data.draw(st.booleans()):
            ledger.append(ledger[data.draw(st.integers(0, len(ledger) - 1))])
    rows = records(ledger)
    with closing(connect(Path(":memory:"))) as connection:
        kept = LedgerFold(connection, 0)
        while rows:
            size = sizes[len(rows) % len(sizes)]
            batch, rows = to_end(kept.gather(rows[:size])), rows[size:]
            kept.write(batch)
            kept.keep(batch)
        reopened = LedgerFold(connection, 0)
        for state, owner in ((live.state, XIAOMING), (other.state, XIAOHONG)):
            assert kept.state(owner) == replace(state, owner=owner)
            assert reopened.state(owner) == replace(state, owner=owner)
            assert list(reopened.state(owner).by_attribute.items()) == list(kept.state(owner).by_attribute.items())
        assert reopened.vectors(XIAOMING).all() == live.vectors
        assert kept.void_decisions == len(ledger) - len(hers) - len(his)
