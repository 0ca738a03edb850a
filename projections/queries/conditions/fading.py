"""Strengths: a user's memories in numbers, so that how strong each is at an instant is computed of all together.

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
"""So near to the middle between two steps the last bits decide."""


class Fading:
    """What the strengths of memories come from, by row."""

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
        """Return by row how strong each memory is at an instant: exactly what `Memory.strength_at` says of it."""
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
