"""Doubt: the reason why the machine's clock is not believed, and when it is believed again without confirmation."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

JUMPED: Final = "jumped"
"""The clock was set while the worker ran."""
GAP: Final = "gap"
"""At the start of the worker, the newest record of the log was much older than the clock."""
DIFFERS: Final = "differs"
"""The clocks of the broker or of the other workers differ."""
CAUSES: Final = (JUMPED, GAP, DIFFERS)
STEP: Final = timedelta(minutes=5)
"""The largest correction, or difference from another clock, without doubt; the rules allow publishers as much."""
LONGEST_PROBATION: Final = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class Doubt:
    """The reason why the machine's clock is not believed."""

    cause: str
    difference: timedelta
    """How far the machine's clock is ahead of the believed time, or of the clocks of others."""
    since: float
    """The start of the doubt, in seconds of the steady clock."""

    def probation(self, longest_gap: timedelta) -> timedelta | None:
        """Return how long the clock must run steadily to be believed; None if an operator must confirm it.

        A long stop of the worker is ordinary, but setting a clock by as much while the worker runs is not. After a
        small jump, held actions are late by no more than the jump itself.
        """
        size = abs(self.difference)
        if size > longest_gap and self.cause != GAP:
            return None
        return min(size, LONGEST_PROBATION)


def spelt(span: timedelta) -> str:
    """Return a span in words, without its sign: `400 days`, `8 hours`, `12 minutes`."""
    seconds = abs(span).total_seconds()
    for unit, length in (("day", 86_400), ("hour", 3_600)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}s"
    return f"{seconds / 60:.0f} minutes"
