"""The importance table's formulas: grade, and strength after Ebbinghaus as Luna computes it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from datetime import datetime

    from projections.state.memory import Memory

SECONDS_PER_DAY: Final = 86_400
MIN_STRENGTH: Final = 0.1
MAX_STRENGTH: Final = 1.0
DECIMALS: Final = 4


def grade(importance: float) -> float:
    """Return Luna's 1 to 4: clamp(4 x importance, 1, 4)."""
    return min(4.0, max(1.0, 4.0 * importance))


def ebbinghaus(initial: float, days: float, importance: float, recalls: int) -> float:
    """Return the strength, 0.1 to 1.0, after Luna's `calculate_memory_strength`.

    initial x exp(-days / (g x 30)) x (1 + 0.1 x recalls) x (0.2 + 0.8 x g / 4), g = grade; rounded to 4 decimals.
    """
    g = grade(importance)
    value = initial * math.exp(-max(0.0, days) / (g * 30)) * (1 + 0.1 * recalls) * (0.2 + 0.8 * g / 4)
    return round(min(MAX_STRENGTH, max(MIN_STRENGTH, value)), DECIMALS)


def strength(memory: Memory, as_of: datetime) -> float:
    """Return how well a memory is remembered at an instant: it fades from its forming, or from its restoring on."""
    days = (as_of - max(memory.formed_at, memory.restored_at or memory.formed_at)).total_seconds() / SECONDS_PER_DAY
    return ebbinghaus(memory.initial_strength, days, memory.importance, memory.recall_count)
