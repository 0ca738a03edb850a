"""Evatar's decay: long_term memories that are not accessed lose importance step by step."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from projections.state.importance import DECIMALS
from streams.decisions.decay_policies.policy import DecayPolicy, Rule

if TYPE_CHECKING:
    from datetime import datetime

    from projections.state.memory import Memory
    from streams.decisions.parameters import Parameters

IDLE: Final = timedelta(days=7)
"""A long_term memory not accessed for longer than this goes down a step at each tick."""
FACTOR: Final = 0.9
FLOOR: Final = 0.1


def step_down(importance: float) -> float:
    """Return the importance one step down: min(before, max(0.1, 0.9 x before)), rounded to 4 decimals."""
    return min(importance, round(max(FLOOR, FACTOR * importance), DECIMALS))


def _fade(memory: Memory, as_of: datetime, _parameters: Parameters) -> float | None:
    if memory.memory_type != "long_term" or as_of - memory.last_accessed_at <= IDLE:
        return None
    return step_down(memory.importance)


LADDER: Final = DecayPolicy(name="ladder", default_hours=24.0, rule=Rule(measure="importance", fade=_fade))
