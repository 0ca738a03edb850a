"""Decay: the changes that a tick makes to one user's memories, by its policy. The tick carries the time."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from projections.state.lifetime import is_over
from projections.state.memory import ACTIVE, EXPIRED, Memory, UserState
from schemas.messages.decision import MAX_CHANGES
from schemas.messages.events import MemoryDecayed, MemoryExpired
from schemas.vocabulary.words import DOCUMENT
from streams.decisions.decay_policies.policy import Expire
from streams.decisions.decay_policies.registry import POLICIES
from streams.decisions.entries import plans

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from schemas.messages.inbox import DecayDue
    from streams.decisions.decay_policies.policy import Measure, Rule
    from streams.decisions.draft import Draft
    from streams.decisions.parameters import Parameters

Change: TypeAlias = "tuple[Memory, float | Expire]"
"""A memory, and either the new value of the rule's measure or the reason why it expires."""


def touched_by(state: UserState, tick_id: str) -> tuple[int, int]:
    """Return how many memories of the state a tick has decayed, and how many it has expired."""
    touched = [m for m in state.memories.values() if m.last_tick_id == tick_id]
    expired = sum(m.status == EXPIRED for m in touched)
    return len(touched) - expired, expired


def decide_decay(draft: Draft, tick: DecayDue, parameters: Parameters) -> bool:
    """Draft the plans that have begun, then the tick's changes, as many as fit into one decision.

    Return whether these are the last.
    """
    policy = POLICIES.get(tick.policy)
    if policy is None or policy.rule is None:
        return True  # the closing decision reports an unknown policy
    if not plans.begin(draft, tick.as_of, keeps=parameters.profile_keeps):
        return False
    met = _met(draft.state, tick)
    fading = list(_changes(met, tick, policy.rule, parameters))
    changes = _with_surplus(draft.state, met, fading, tick, rule=policy.rule, parameters=parameters)
    for memory, change in changes:
        if draft.is_full or len(draft.events) >= MAX_CHANGES:
            return False
        _draft_change(draft, tick, policy.rule.measure, memory, change)
    return True


def _met(state: UserState, tick: DecayDue) -> list[Memory]:
    """Return the memories that the tick may change, sorted by id.

    Memories that an earlier part of this tick changed are excluded, and so are those formed or accessed after its
    `as_of`. A missed tick therefore has the same effect before and after the next conversation.
    """
    tick_id = tick.envelope.event_id
    met = [
        m
        for m in state.memories.values()
        if m.status == ACTIVE
        and m.last_tick_id != tick_id
        and m.formed_at <= tick.as_of
        and m.last_accessed_at <= tick.as_of
    ]
    met.sort(key=lambda m: m.memory_id)
    return met


def _changes(met: Sequence[Memory], tick: DecayDue, rule: Rule, parameters: Parameters) -> Iterator[Change]:
    for memory in met:
        if is_over(memory.ends_at, tick.as_of):
            yield memory, Expire("short_term")
            continue
        if memory.kind == DOCUMENT:
            continue
        change = rule.fade(memory, tick.as_of, parameters)
        if change is not None and change != getattr(memory, rule.measure):
            yield memory, change


def _with_surplus(
    state: UserState,
    met: Sequence[Memory],
    changes: list[Change],
    tick: DecayDue,
    *,
    rule: Rule,
    parameters: Parameters,
) -> list[Change]:
    """Return the changes, with surplus memories expiring instead of fading.

    All active memories count, but only those that the tick may change expire.
    """
    if rule.surplus is None:
        return changes
    leaving = {m.memory_id for m, change in changes if isinstance(change, Expire)}
    staying = [
        m
        for m in state.memories.values()
        if m.formed_at <= tick.as_of and m.status_at(tick.as_of) == ACTIVE and m.memory_id not in leaving
    ]
    may_expire = {m.memory_id for m in met}
    surplus = rule.surplus(staying, tick.as_of, parameters)
    expiring = {m.memory_id: m for m in surplus if m.memory_id in may_expire}
    kept = [(m, change) for m, change in changes if m.memory_id not in expiring]
    return kept + [(m, Expire("too_many")) for m in expiring.values()]


def _draft_change(draft: Draft, tick: DecayDue, measure: Measure, memory: Memory, change: float | Expire) -> None:
    envelope, tick_id = draft.envelope(tick.as_of), tick.envelope.event_id
    if isinstance(change, Expire):
        draft.add(
            MemoryExpired(
                envelope=envelope,
                memory_id=memory.memory_id,
                policy=tick.policy,
                tick_id=tick_id,
                reason=change.reason,
            )
        )
        return
    draft.add(
        MemoryDecayed(
            envelope=envelope,
            memory_id=memory.memory_id,
            policy=tick.policy,
            tick_id=tick_id,
            measure=measure,
            before=getattr(memory, measure),
            after=change,
        )
    )
