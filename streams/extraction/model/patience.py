"""The time that a model may take, learned from its answers and time-outs within bounds."""

from __future__ import annotations

from collections import Counter
from typing import Final

LONGEST_SECONDS: Final = 600.0
"""The longest time: a model on a CPU reads a whole first window in a minute or two."""
MOST_LATE: Final = 2
"""How many time-outs after the longest time lead to the rejection of a window."""
_MORE: Final = 2
"""The factor of growth: a time-out doubles the time, and a slow answer raises it to twice its own."""


class Patience:
    """The seconds that the next request may take, one instance for each endpoint."""

    def __init__(self, seconds: float, longest: float = LONGEST_SECONDS) -> None:
        """Begin with `seconds`; `longest` is never less than that."""
        self._longest = max(seconds, longest)
        self._seconds = seconds
        self._late: Counter[str] = Counter()

    @property
    def seconds(self) -> float:
        """The most seconds of the next request."""
        return self._seconds

    def answered(self, window: str, took: float) -> None:
        """Learn from an answer to a window, which is identified by the last message of its question."""
        del self._late[window]
        self._seconds = min(self._longest, max(self._seconds, _MORE * took))

    def timed_out(self, window: str, given: float) -> bool:
        """Learn from a time-out after `given` seconds; return whether the window is to be rejected."""
        self._seconds = max(self._seconds, min(self._longest, _MORE * given))
        self._late[window] += given >= self._longest
        return self._late[window] >= MOST_LATE

    def forget(self, window: str) -> None:
        """Forget a rejected window."""
        del self._late[window]
