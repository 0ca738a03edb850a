"""A policy of decay: a name, how often it ticks unless the operator says otherwise, and a rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from projections.state.memory import Memory
    from streams.decisions.parameters import Parameters

Measure: TypeAlias = Literal["importance", "strength"]
"""The field of a memory that a rule lowers, and that MemoryDecayed names."""


@dataclass(frozen=True, slots=True)
class Expire:
    """What a rule answers for a memory that is to expire."""

    reason: str
    """As MemoryExpired names it."""


Judgement: TypeAlias = "Callable[[Memory, datetime, Parameters], float | Expire | None]"
"""Returns the new value of the measure at an instant, or Expire, or None where the rule does not apply to it."""
Surplus: TypeAlias = "Callable[[Sequence[Memory], datetime, Parameters], Sequence[Memory]]"
"""Those of a user's memories that are too many at an instant, in the order in which they expire."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What a tick does. A rule reads no clock: the instant is the tick's `as_of`."""

    measure: Measure
    fade: Judgement
    """Called for each memory that the tick looks at and that has not passed its expiry."""
    surplus: Surplus | None = None
    """Called once for each part of a user's decision, with the memories that are active after the part's changes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecayPolicy:
    """One row of the table of policies."""

    name: str
    """As settings, ticks and events spell it."""
    default_hours: float
    """The period of its ticks where DECAY_EVERY_HOURS is unset."""
    rule: Rule | None
    """None: a tick changes nothing, not even what has passed its expiry, and no clock emits one."""
