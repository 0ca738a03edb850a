"""Fading: the strengths of a user's memories at an instant, computed for all of them at once.

The formula is `projections.state.lifetime.retention`, as for one memory. NumPy's exponential may differ from Python's
in the last bit; where that could round otherwise, the memory itself is asked.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Final

import numpy as np

from projections.state.importance import DECIMALS, grade
from projections.state.lifetime import MAX_STRENGTH, MIN_STRENGTH, retention

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from numpy.typing import NDArray

    from projections.state.memory import Memory

_DAY_SECONDS: Final = 86_400.0
_STEPS: Final = 10.0**DECIMALS
_DOUBTFUL: Final = 1e-6
"""The distance from the middle between two steps within which the last bits decide the rounding."""


class Fading:
    """The numbers that determine the strengths of memories, by row."""

    def __init__(self, memories: Sequence[Memory]) -> None:
        self._begins, self._initial = array("d"), array("d")
        self._grades, self._recalls = array("d"), array("d")
        for row, memory in enumerate(memories):
            self.set(row, memory)

    def set(self, row: int, memory: Memory) -> None:
        """Note a memory; its row is known, or the next."""
        begin = memory.fades_from.timestamp()
        numbers = (begin, memory.initial_strength, grade(memory.importance), float(memory.recall_count))
        for column, number in zip((self._begins, self._initial, self._grades, self._recalls), numbers, strict=True):
            if row == len(column):
                column.append(number)
            else:
                column[row] = number

    def strengths(self, at: datetime, memories: Sequence[Memory]) -> NDArray[np.float64]:
        """Return the strength of each row's memory at an instant, exactly as `Memory.strength_at` does."""
        begins, initial, grades, recalls = map(
            np.frombuffer, (self._begins, self._initial, self._grades, self._recalls)
        )
        days = np.maximum(0.0, (at.timestamp() - begins) / _DAY_SECONDS)
        value = retention(initial, days, grades, recalls, np.exp)
        steps = np.minimum(MAX_STRENGTH, np.maximum(MIN_STRENGTH, value)) * _STEPS
        found: NDArray[np.float64] = np.rint(steps) / _STEPS
        for row in np.flatnonzero(np.abs(steps - np.floor(steps) - 0.5) < _DOUBTFUL).tolist():
            found[row] = memories[row].strength_at(at)
        return found
