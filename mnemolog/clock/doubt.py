"""Doubt: why the machine's clock is not believed, and when it is again without anybody's word."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

JUMPED: Final = "jumped"
"""The clock was set while the worker ran."""
GAP: Final = "gap"
"""At the worker's start its log was much older than the clock."""
DIFFERS: Final = "differs"
"""The broker or the other workers have another time."""
CAUSES: Final = (JUMPED, GAP, DIFFERS)
STEP: Final = timedelta(minutes=5)
"""What a clock may be corrected by, or differ from another, without being doubted: rules allow publishers as much."""
LONGEST_PROBATION: Final = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class Doubt:
    """Why the machine's clock is not believed."""

    cause: str
    difference: timedelta
    """By how much the machine's clock is ahead of the time that is gone by, or of that of others."""
    since: float
    """When it began, in seconds of the steady clock."""

    def probation(self, longest_gap: timedelta) -> timedelta | None:
        """Return how long the clock has to run steadily to be believed; None: somebody has to say that it is right.

        A long stop is ordinary, and a clock that is set by so much while a worker runs is not. What is held for the
        time of a small jump is late by no more than the jump itself.
        """
        size = abs(self.difference)
        if size > longest_gap and self.cause != GAP:
            return None
        return min(size, LONGEST_PROBATION)


def spelt(span: timedelta) -> str:
    """Return a span as people say it, without its sign: `400 days`, `8 hours`, `12 minutes`."""
    seconds = abs(span).total_seconds()
    for unit, length in (("day", 86_400), ("hour", 3_600)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}s"
    return f"{seconds / 60:.0f} minutes"
