"""A limit on how often a repeated message is logged."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

LOG_EVERY_SECONDS: Final = 60.0


class LogLimit:
    """A limit that admits one line in `seconds`, and counts those that it holds back."""

    def __init__(self, seconds: float = LOG_EVERY_SECONDS, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._clock = clock
        self._next_at: float | None = None
        self._held_back = 0

    def admit(self) -> int | None:
        """Return the number of lines held back since the last one if this one is to be logged; else None."""
        now = self._clock()
        if self._next_at is not None and now < self._next_at:
            self._held_back += 1
            return None
        held_back, self._held_back = self._held_back, 0
        self._next_at = now + self._seconds
        return held_back
