"""The trusted clock of a worker: the machine's, as long as the steady clock, which cannot be set, agrees with it."""

from __future__ import annotations

import logging
import threading
import time
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from mnemolog.clock.doubt import DIFFERS, GAP, JUMPED, STEP, Doubt, spelt
from schemas.instant import SystemClock, instant

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from schemas.instant import Clock

LONGEST_GAP: Final = timedelta(days=30)
BROKER: Final = "the broker"
"""The witness that overrides all others, because the log uses its time."""
KERNEL: Final = "the kernel"
HELD: Final = "ticks, expiry, retention and wakes wait"
_STEADY: Final = getattr(time, "CLOCK_BOOTTIME", getattr(time, "CLOCK_MONOTONIC", None))

log = logging.getLogger("mnemolog")


def steady_seconds() -> float:
    """Return the seconds of a clock that cannot be set, and that also runs while the machine is suspended if possible.

    Linux's CLOCK_MONOTONIC stops during suspension; its CLOCK_BOOTTIME and macOS's CLOCK_MONOTONIC do not.
    """
    return time.monotonic() if _STEADY is None else time.clock_gettime(_STEADY)


class TrustedClock:
    """The machine's clock while it is believed; else the last believed time plus the steady time passed since.

    The clock is doubted if it was set by more than STEP while it was watched (`now`), if the log's newest record is
    much older (`look_back`), or if witnesses have another time (`hear`). It is believed again when it is set back, when
    a witness agrees with it, when an operator confirms it, or after its probation (`Doubt.probation`). If only the log
    contradicted it, any time that a start would not doubt counts as set back, because it is unknown how long ago the
    log ended. Any thread may call it.
    """

    def __init__(
        self, machine: Clock | None = None, steady: Callable[[], float] = steady_seconds, *, watches: bool = True
    ) -> None:
        """Believe the current time of the machine's clock. Without `watches`, logs and witnesses are ignored."""
        self._machine = machine or SystemClock()
        self._steady = steady
        self._watches = watches
        self._lock = threading.RLock()
        self._believed, self._believed_at = self._machine.now(), steady()
        self._longest_gap = LONGEST_GAP
        self._log_end: datetime | None = None
        """The time of the log's newest record at the start, if that was ahead of the clock."""
        self._ran = timedelta()
        """How long the clock had run steadily on probation before this start."""
        self._doubt: Doubt | None = None
        self._statements: dict[str, timedelta] = {}
        """How far the machine's clock is ahead of each witness's clock."""
        self._accepted: dict[str, timedelta] = {}
        """The statements at the time when the clock was last believed despite them."""

    @classmethod
    def of(cls, clock: Clock | None) -> TrustedClock:
        """Return a trusted clock: a caller's clock, which is always believed, or the machine's clock, watched."""
        if clock is None or isinstance(clock, TrustedClock):
            return clock or cls()
        return cls(clock, lambda: clock.now().timestamp(), watches=False)

    def now(self) -> datetime:
        """Return the trusted time, in UTC."""
        with self._lock:
            return self._look()

    def machine_now(self) -> datetime:
        """Return the time of the machine's clock, believed or not."""
        return self._machine.now()

    def seconds_of_peers(self) -> float:
        """Return the seconds since 1970 that the clocks of other workers most probably show."""
        doubt = self.doubt
        at = self.now() if doubt is not None and doubt.cause == JUMPED else self.machine_now()
        return at.timestamp()

    @property
    def doubt(self) -> Doubt | None:
        """The reason why the machine's clock is not believed now; None while it is."""
        with self._lock:
            self._look()
            return self._doubt

    def is_doubted(self) -> bool:
        """Return whether the clock is doubted, so that irreversible actions that depend on the time must wait."""
        return self.doubt is not None

    def ran_steadily(self) -> timedelta:
        """Return how long the clock has run steadily since the doubt began; zero while it is believed."""
        with self._lock:
            self._look()
            return timedelta() if self._doubt is None else self._served(self._doubt)

    def look_back(self, newest: datetime, longest_gap: timedelta, ran: timedelta = timedelta()) -> None:
        """Compare the clock, at a start, with the time of the log's newest record.

        A `longest_gap` of 0 accepts any gap. `ran` is how long the clock had run steadily before, since the same gap.
        """
        if not self._watches:
            return
        with self._lock:
            now = self._look()
            self._longest_gap = longest_gap or LONGEST_GAP
            if newest - now > STEP:
                self._log_end = newest
            elif longest_gap and now - newest > longest_gap:
                self._ran = ran
                self._believed, self._believed_at = newest, self._steady()
                self._begin(GAP, now - newest)

    def hear(self, witness: str, at: datetime) -> None:
        """Record the time of another clock. The broker's clock decides; without it, the majority of the others does."""
        if not self._watches:
            return
        with self._lock:
            self._look()
            machine = self._machine.now()
            self._statements[witness] = machine - at
            if self._doubt is not None and witness == BROKER and machine - at > STEP:
                self._believed, self._believed_at = at, self._steady()
            heard = {BROKER: self._statements[BROKER]} if BROKER in self._statements else self._statements
            differing = {one: by for one, by in heard.items() if abs(by) > STEP}
            if 2 * len(differing) <= len(heard):
                if self._doubt is not None:
                    agreeing = next(one for one in heard if one not in differing)
                    self._believe(f"{agreeing} has the same time")
                return
            new = {one: by for one, by in differing.items() if abs(by - self._accepted.get(one, timedelta())) > STEP}
            if new and self._doubt is None:
                self._begin(DIFFERS, next(iter(new.values())))

    def hear_others(self, times: Mapping[str, datetime]) -> None:
        """Record the times of all other workers' clocks, and drop the workers that are no longer listed."""
        with self._lock:
            for gone in [one for one in self._statements if one not in (BROKER, KERNEL, *times)]:
                del self._statements[gone]
            for worker, at in times.items():
                self.hear(worker, at)

    def confirm(self, why: str) -> None:
        """Believe the machine's clock from now on, for a reason such as an operator's confirmation."""
        with self._lock:
            self._look()
            self._log_end = None
            if self._doubt is not None:
                self._believe(why)

    def _look(self) -> datetime:
        machine, steady = self._machine.now(), self._steady()
        believed = self._believed + timedelta(seconds=steady - self._believed_at)
        difference, doubt = machine - believed, self._doubt
        if doubt is None:
            if abs(difference) > STEP and not self._is_where_the_log_ends(machine):
                self._statements.clear()
                self._begin(JUMPED, difference)
                return believed
            self._believed, self._believed_at = machine, steady
            return machine
        if doubt.cause != DIFFERS and abs(difference) <= STEP:
            return self._believe("it is back")
        was = timedelta() if doubt.cause == DIFFERS else doubt.difference
        if abs(difference - was) > STEP:
            return self._move(believed, doubt, difference)
        probation = doubt.probation(self._longest_gap)
        if probation is not None and self._served(doubt) >= probation:
            return self._believe(f"it has run steadily for {spelt(probation)}")
        return believed

    def _move(self, believed: datetime, doubt: Doubt, difference: timedelta) -> datetime:
        """Judge a doubted clock that was set again."""
        is_nearer = doubt.cause == GAP and not self._statements and -STEP <= difference < doubt.difference
        if is_nearer and difference <= self._longest_gap:
            return self._believe("it was set to a time at which the log may go on")
        self._statements.clear()
        self._ran = timedelta()
        self._begin(GAP if is_nearer else JUMPED, difference)
        return believed

    def _served(self, doubt: Doubt) -> timedelta:
        return self._ran + timedelta(seconds=self._steady() - doubt.since)

    def _is_where_the_log_ends(self, machine: datetime) -> bool:
        """Return whether the clock, which was behind the log at the start, has been set to the time of the log."""
        end = self._log_end
        return end is not None and end - STEP <= machine <= end + self._longest_gap

    def _begin(self, cause: str, difference: timedelta) -> None:
        self._doubt = Doubt(cause, difference, self._steady())
        log.warning("%s", self._described(self._doubt))

    def _believe(self, why: str) -> datetime:
        self._doubt, self._ran = None, timedelta()
        self._accepted = dict(self._statements)
        self._believed, self._believed_at = self._machine.now(), self._steady()
        log.warning("the clock is believed again, %s: %s", instant(self._believed), why)
        return self._believed

    def describe(self) -> str | None:
        """Return a sentence about the doubt, the actions that wait and until when; None if there is no doubt."""
        doubt = self.doubt
        return None if doubt is None else self._described(doubt)

    def _described(self, doubt: Doubt) -> str:
        by, machine = spelt(doubt.difference), self._machine.now().replace(microsecond=0)
        way = "ahead" if doubt.difference > timedelta() else "back"
        what = {
            JUMPED: f"was set {way} by {by} while the worker ran",
            GAP: f"is {by} later than the newest record of the log",
            DIFFERS: f"is {by} {'ahead of' if way == 'ahead' else 'behind'} the clocks of others",
        }[doubt.cause]
        probation = doubt.probation(self._longest_gap)
        until = "until it is back" if probation is None else f"until it has run steadily for {spelt(probation)}"
        return (
            f"the clock says {instant(machine)}, and {what}: {HELD} {until}, "
            "or until `mnemolog clock confirm` says that it is right"
        )
