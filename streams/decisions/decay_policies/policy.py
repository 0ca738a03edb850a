"""A policy of decay: a name, the default period of its ticks, and a rule."""

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
    """The verdict of a rule that a memory expires."""

    reason: str
    """The reason that MemoryExpired names."""


Judgement: TypeAlias = "Callable[[Memory, datetime, Parameters], float | Expire | None]"
"""A function that returns the new value of the measure at an instant, Expire, or None if the rule does not apply."""
Surplus: TypeAlias = "Callable[[Sequence[Memory], datetime, Parameters], Sequence[Memory]]"
"""A function that returns a user's surplus memories at an instant, in the order in which they expire."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """The effect of a tick. A rule does not read a clock: the instant is the tick's `as_of`."""

    measure: Measure
    fade: Judgement
    """Called for each memory that the tick may change and that has not passed its expiry."""
    surplus: Surplus | None = None
    """Called once for each part of a user's decision, with the memories that are active after the part's changes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecayPolicy:
    """One row of the table of policies."""

    name: str
    """The name in settings, ticks and events."""
    default_hours: float
    """The period of its ticks if DECAY_EVERY_HOURS is unset."""
    rule: Rule | None
    """The rule. With None, a tick changes nothing, not even memories past their expiry, and no clock emits one."""
