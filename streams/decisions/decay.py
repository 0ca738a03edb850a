"""Decay: what a tick makes of one user's memories. The tick carries the time; no clock is read."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final, TypeAlias, get_args

from projections.state.importance import DECIMALS, strength
from projections.state.memory import ACTIVE, EXPIRED, Memory, UserState
from schemas.messages.decision import MAX_CHANGES
from schemas.messages.events import MemoryDecayed, MemoryExpired
from schemas.vocabulary.words import Policy

if TYPE_CHECKING:
    from schemas.messages.inbox import DecayDue
    from streams.decisions.draft import Draft
    from streams.decisions.parameters import Parameters

POLICIES: Final = get_args(Policy)
LADDER_REST: Final = timedelta(days=7)
"""Evatar: long_term memories not accessed for so long fade by a step."""
LADDER_FACTOR: Final = 0.9
LADDER_FLOOR: Final = 0.1
IMPORTANT_GRADE: Final = 3.0
"""Luna: episodes whose 4 x importance reaches it are protected."""


def touched_by(state: UserState, tick_id: str) -> tuple[int, int]:
    """Return how many memories the tick made decay and expire, as far as the state has come."""
    met = [m for m in state.memories.values() if m.last_tick == tick_id]
    expired = sum(m.status == EXPIRED for m in met)
    return len(met) - expired, expired


def decide_decay(draft: Draft, tick: DecayDue, parameters: Parameters) -> bool:
    """Draft at most 1,000 of the tick's changes, or as many as a record holds; return whether these are the last."""
    if tick.policy == "off" or tick.policy not in POLICIES:
        return True  # its closing decision says that the policy is not known
    tick_id = tick.envelope.event_id
    open_ones = [
        m
        for m in draft.state.memories.values()
        if m.status == ACTIVE
        and m.last_tick != tick_id
        and m.formed_at <= tick.as_of
        and m.last_accessed_at <= tick.as_of
    ]
    open_ones.sort(key=lambda m: m.memory_id)
    changes = [c for m in open_ones if (c := _change(m, tick, parameters)) is not None]
    if tick.policy == "ebbinghaus":
        changes = _with_surplus(draft.state, open_ones, changes, tick, parameters)
    for memory, change in changes:
        if draft.is_full or len(draft.events) >= MAX_CHANGES:
            return False
        _draft_change(draft, tick, memory, change)
    return True


_Change: TypeAlias = "tuple[Memory, float | str]"
"""The memory with its new value, or the reason why it expires."""


def _change(memory: Memory, tick: DecayDue, parameters: Parameters) -> _Change | None:
    if memory.expires_at is not None and memory.expires_at < tick.as_of:
        return memory, "short_term"
    if tick.policy == "ladder":
        if memory.memory_type != "long_term" or tick.as_of - memory.last_accessed_at <= LADDER_REST:
            return None
        after = ladder(memory.importance)
        return (memory, after) if after != memory.importance else None
    if memory.kind != "episodic":
        return None
    after = strength(memory, tick.as_of)
    protected = parameters.keep_important and 4 * memory.importance >= IMPORTANT_GRADE
    if after < parameters.episode_min_strength and not protected:
        return memory, "weak"
    return (memory, after) if after != memory.strength else None


def ladder(before: float) -> float:
    """Return the importance one step down: min(before, max(0.1, 0.9 x before)), rounded to 4 decimals (Evatar)."""
    return min(before, round(max(LADDER_FLOOR, LADDER_FACTOR * before), DECIMALS))


def _with_surplus(
    state: UserState,
    open_ones: list[Memory],
    changes: list[_Change],
    tick: DecayDue,
    parameters: Parameters,
) -> list[_Change]:
    """Expire the weakest episodes beyond the user's maximum."""
    going = {m.memory_id for m, c in changes if isinstance(c, str)}
    staying = [
        m
        for m in state.memories.values()
        if m.kind == "episodic"
        and m.formed_at <= tick.as_of
        and m.status_at(tick.as_of) == ACTIVE
        and m.memory_id not in going
    ]
    surplus = len(staying) - parameters.max_episodes
    if surplus <= 0:
        return changes
    may_go = {m.memory_id for m in open_ones}
    weakest = sorted(staying, key=lambda m: (strength(m, tick.as_of), m.formed_at, m.memory_id))[:surplus]
    expiring = {m.memory_id: m for m in weakest if m.memory_id in may_go}
    kept = [c for c in changes if c[0].memory_id not in expiring]
    return kept + [(m, "too_many") for m in expiring.values()]


def _draft_change(draft: Draft, tick: DecayDue, memory: Memory, change: float | str) -> None:
    envelope, tick_id = draft.envelope(tick.as_of), tick.envelope.event_id
    if isinstance(change, str):
        draft.add(
            MemoryExpired(
                envelope=envelope, memory_id=memory.memory_id, policy=tick.policy, tick_id=tick_id, reason=change
            )
        )
        return
    measure = "importance" if tick.policy == "ladder" else "strength"
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
