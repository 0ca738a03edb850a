"""What holds of every decision about every reachable state."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hypothesis import given, settings
from support.histories import HISTORIES, lived

from projections.state.digest import digests
from projections.state.evolve import events_of
from projections.state.memory import STATUSES
from schemas import codec
from schemas.messages.decision import MAX_CHANGES, Decision
from schemas.text import digest
from schemas.vocabulary.attributes import SINGLE

if TYPE_CHECKING:
    from support.given import Given, Item
    from support.histories import Step

    from projections.state.memory import Memory

ACTIONS = {
    "formed",
    "reinforced",
    "revised",
    "superseded",
    "suppressed",
    "forgotten",
    "restored",
    "refused",
    "nothing",
    "decayed",
    "expired",
}


@given(HISTORIES)
@settings(max_examples=20, deadline=None)
def test_every_decision_is_whole_small_and_comes_back_from_its_bytes(history: list[Step]):
    _, decisions = lived(history)
    for version, decision in enumerate(decisions, start=1):
        assert decision.version == version
        assert len(decision.events) <= MAX_CHANGES
        assert {o.action for o in decision.outcomes} <= ACTIONS
        assert all(o.reason for o in decision.outcomes)
        assert codec.decode_as(codec.encode(decision), Decision) == decision
    ids = [d.envelope.event_id for d in decisions]
    assert len(set(ids)) == len(ids)


@given(HISTORIES)
@settings(max_examples=20, deadline=None)
def test_the_same_history_is_decided_the_same(history: list[Step]):
    assert lived(history)[1] == lived(history)[1]


@given(HISTORIES)
@settings(max_examples=20, deadline=None)
def test_a_state_is_always_in_order(history: list[Step]):
    after, decisions = lived(history)
    state = after.state
    assert state.version == len(decisions)
    for memory in after.memories:
        assert memory.status in STATUSES
        assert 0 <= memory.recall_count <= memory.access_count
        assert memory.last_accessed_at >= memory.formed_at
        assert memory.said_at >= memory.formed_at
        assert (memory.superseded_by is None) == (memory.status != "superseded") or memory.status == "forgotten"
        assert memory.memory_id in state.by_digest[digest(memory.content)]
        assert (memory.memory_type == "short_term") == (memory.expires_at is not None)
    assert sum(map(len, state.by_digest.values())) == len(state.memories)
    assert sorted(i for ids in state.by_attribute.values() for i in ids) == sorted(
        m.memory_id for m in after.memories if m.attribute
    )


@given(HISTORIES)
@settings(max_examples=20, deadline=None)
def test_no_two_lasting_memories_of_one_agent_hold_one_single_slot(history: list[Step]):
    after, _ = lived(history)
    shown: dict[tuple[str | None, str], int] = {}
    for memory in long_lived(after):
        key = (memory.agent_id, memory.attribute or "")
        shown[key] = shown.get(key, 0) + 1
    assert all(count == 1 for count in shown.values())


@given(HISTORIES)
@settings(max_examples=20, deadline=None)
def test_by_whom_things_were_asked_for_is_in_every_event_and_in_no_digest(history: list[Step]):
    def asked_by(step: Step, key_id: str) -> Step:
        def make(command_id: str, memory_id: str) -> Item:
            item = step.make(command_id, memory_id)
            return replace(item, envelope=replace(item.envelope, by=key_id))

        return replace(step, make=make)

    (nobodys, _), (keyed, decisions) = (
        lived(history),
        lived([asked_by(step, f"k-{n}") for n, step in enumerate(history)]),
    )
    assert digests([keyed.state]) == digests([nobodys.state])
    assert all(event.envelope.by == one.envelope.by is not None for one in decisions for event in events_of(one))


def long_lived(after: Given) -> list[Memory]:
    return [
        m
        for m in after.memories
        if m.attribute in SINGLE and m.kind == "semantic" and m.status == "active" and m.expires_at is None
    ]
