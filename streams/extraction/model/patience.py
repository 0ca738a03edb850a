"""How long a model may take: learned from its answers and time-outs, within bounds."""

from __future__ import annotations

from collections import Counter
from typing import Final

LONGEST_SECONDS: Final = 600.0
"""A model on a CPU reads a whole first window in a minute or two: what takes longer than this does not come."""
MOST_LATE: Final = 2
"""So often a window may take the longest time in vain before it is rejected."""
_MORE: Final = 2
"""A time-out doubles the time; a slow answer leaves twice its own."""


class Patience:
    """The seconds that the next request may take. One for each endpoint, as slowness is the endpoint's."""

    def __init__(self, seconds: float, longest: float = LONGEST_SECONDS) -> None:
        """Begin with `seconds`; `longest` is never less than that."""
        self._longest = max(seconds, longest)
        self._seconds = seconds
        self._late: Counter[str] = Counter()

    @property
    def seconds(self) -> float:
        """What the next request may take."""
        return self._seconds

    def answered(self, window: str, took: float) -> None:
        """Learn from an answer to a window, named by its first piece."""
        del self._late[window]
        self._seconds = min(self._longest, max(self._seconds, _MORE * took))

    def timed_out(self, window: str, given: float) -> bool:
        """Learn from a time-out after `given` seconds; return whether the window has had enough of the longest."""
        self._seconds = max(self._seconds, min(self._longest, _MORE * given))
        self._late[window] += given >= self._longest
        return self._late[window] >= MOST_LATE

    def forget(self, window: str) -> None:
        """Forget a window that is given up."""
        del self._late[window]
