"""Starts: within a generation, the delivery of single partitions begins again at the first message that is not done."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from faust.types import TP


class Starts:
    """How often each partition's delivery was started. Each message carries the number of its own start."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._numbers: Counter[TP] = Counter()
        self._due: set[TP] = set()

    def again(self, tps: Collection[TP]) -> None:
        """Let the delivery of these partitions start again; messages in the agents' queues are stale from now on.

        The partitions must be withheld until the work on them can begin.
        """
        self._numbers.update(tps)
        self._due.update(tps)
        self._changed()

    def due(self) -> set[TP]:
        """Take the partitions whose delivery is to start again."""
        taken, self._due = self._due, set()
        return taken

    def numbers(self) -> Counter[TP]:
        """Return the numbers of the present starts, as a copy."""
        return self._numbers.copy()

    def is_present(self, tp: TP, number: int) -> bool:
        """Return whether a number is that of a partition's present start."""
        return self._numbers[tp] == number

    def is_current(self, message: Any) -> bool:  # noqa: ANN401 - Faust's message
        """Return whether a message was delivered since the last start of its partition."""
        return self.is_present(message.tp, message.start)
