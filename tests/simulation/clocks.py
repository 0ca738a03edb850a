"""Clocks of simulated machines: each jumps far ahead or back for a while, by a chance of its own."""

from __future__ import annotations

from datetime import timedelta
from functools import lru_cache
from random import Random
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from simulation.simulated_log import SimulatedLog

    from mnemolog.clock.trusted_clock import TrustedClock
    from schemas.log import Record

JUMPS: Final = tuple(timedelta(days=days) for days in (400, 400, -400, 28_830))
JUMPY: Final = (5, 6)
"""Of seven seeds in a row those in which clocks jump: what else goes wrong in the others is not put off by doubts."""
OFTEN: Final = 0.8
"""In how many phases a machine's clock jumps, 0 to 1."""
BEGINS_WITHIN_SECONDS: Final = 12.0
LASTS_SECONDS: Final = 40.0
AT_LEAST_SECONDS: Final = 3.0
"""Longer than the schedulers take to look."""
GAP: Final = timedelta(days=30)


class PhasedClock(Protocol):
    """The right time, which goes on from day to day between phases."""

    def now(self) -> datetime:
        """Return the right time."""
        ...

    def in_phase(self) -> tuple[int, float]:
        """Return which phase it is, and how many seconds it has lasted."""
        ...


@lru_cache(maxsize=4096)
def _jump(seed: int, seat: str, phase: int) -> tuple[float, float, timedelta]:
    """Return from when until when in a phase a machine's clock is elsewhere, and by how much; not before the first."""
    chance = Random(f"clock {seed} {seat} {phase}")  # noqa: S311 - repeatable on purpose
    if phase == 0 or seed % 7 not in JUMPY or chance.random() >= OFTEN:
        return 0.0, 0.0, timedelta()
    begin = chance.random() * BEGINS_WITHIN_SECONDS
    return begin, begin + AT_LEAST_SECONDS + chance.random() * LASTS_SECONDS, chance.choice(JUMPS)


class MachineClock:
    """The clock of one machine, right but for its jumps. They end with a phase: no day may pass in one.

    It is right while the log is empty. A worker that starts without any record has nothing to doubt its clock by, and
    dates its first records by it; the product does not promise otherwise (`docs/how-to/operate.md`).
    """

    def __init__(
        self, right: PhasedClock, log: SimulatedLog, seed: int | None, seat: str, note: Callable[[str], None]
    ) -> None:
        """Without a seed it never jumps."""
        self._right, self._log, self._seed, self._seat, self._note = right, log, seed, seat, note

    def now(self) -> datetime:
        """Return what the machine says."""
        if self._seed is None or not any(self._log.records.values()):
            return self._right.now()
        phase, seconds = self._right.in_phase()
        begin, end, jump = _jump(self._seed, self._seat, phase)
        if not begin <= seconds < end:
            return self._right.now()
        self._note("times that were read from a clock that had jumped")
        return self._right.now() + jump

    def steady(self) -> float:
        """Return the seconds of a clock that nobody sets."""
        return self._right.now().timestamp()


def look_back(clock: TrustedClock, log: SimulatedLog) -> None:
    """Compare the clock of a worker that starts with its log, as production does."""
    newest = max((records[-1].recorded_at for records in log.records.values() if records), default=None)
    if newest is not None:
        clock.look_back(newest, GAP)


def check_times(records: dict[tuple[str, int], list[Record]], now: datetime) -> None:
    """Check that nothing in the log is dated later than it is."""
    for place, held in records.items():
        late = [record.recorded_at for record in held if record.recorded_at > now]
        assert not late, f"{place}: dated {late[0]}, and it is {now}"
