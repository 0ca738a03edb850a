"""The clock of a running worker: checked at the start, monitored alongside the agents, and confirmed by an operator."""

from __future__ import annotations

import asyncio
import json
import logging
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from mnemolog.access.caller import callers_key
from mnemolog.access.key_file import write_private
from mnemolog.clock.doubt import GAP, STEP, spelt
from mnemolog.clock.kernel import is_synchronised
from mnemolog.clock.trusted_clock import BROKER, KERNEL
from mnemolog.cluster.peers import PeerUnavailable
from mnemolog.log.newest_time import newest_time
from schemas.instant import instant, read_instant
from schemas.log import LogError
from schemas.vocabulary.words import CLOCK
from streams.ticks.scheduler import decay_due
from streams.transports.sqlite.log import SqliteLog

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from pathlib import Path

    from mnemolog.clock.trusted_clock import TrustedClock
    from mnemolog.cluster.scatter_gather import ScatterGather
    from mnemolog.commands.commands import Commands
    from mnemolog.settings import Settings
    from schemas.messages.inbox import DecayDue
    from streams.transports.kafka.log import KafkaLog

WATCH_SECONDS: Final = 1.0
ASK_SECONDS: Final = 10.0
"""The interval of questions to the other workers about their time, and to the log about its newest record."""
PROBATION_FILE: Final = "clock.json"
MARGIN_SECONDS: Final = 10.0
AHEAD_ADVICE: Final = (
    "a wrong clock has dated it: if the present clock is right, `mnemolog clock confirm` has the log go on from it"
)

log = logging.getLogger("mnemolog")


class ClocksDiffer(Exception):
    """Two workers' clocks differ, so that no time can be confirmed for both: set the wrong one right first."""


async def look_back(clock: TrustedClock, inner: SqliteLog | KafkaLog, settings: Settings) -> None:
    """Compare the clock of a starting worker with its log; on Kafka, also listen to the broker's time from now on."""
    if (newest := await newest_time(inner)) is not None:
        gap = timedelta(days=settings.clock_gap_days)
        clock.look_back(newest, gap, await asyncio.to_thread(_ran, settings.data_dir / PROBATION_FILE))
    if not isinstance(inner, SqliteLog):
        inner.hear_time = partial(clock.hear, BROKER)


def _ran(path: Path) -> timedelta:
    """Return how long the clock ran steadily at earlier starts since the same gap."""
    try:
        return timedelta(seconds=float(json.loads(path.read_bytes())["ran_seconds"]))
    except (OSError, ValueError, KeyError, TypeError):
        return timedelta()


class Clocks:
    """Monitors one worker's clock, and confirms the clocks of all workers."""

    def __init__(
        self,
        *,
        clock: TrustedClock,
        inner: SqliteLog | KafkaLog,
        settings: Settings,
        commands: Commands,
        cluster: ScatterGather,
        url: str,
    ) -> None:
        """Take the clock to monitor, the log that it dates, and the means to decide and to ask."""
        self._clock = clock
        self._inner = inner
        self._file = settings.data_dir / PROBATION_FILE
        self._commands = commands
        self._cluster = cluster
        self._url = url
        self._newest: datetime | None = None
        self._is_known_ahead = False

    @property
    def log_ahead(self) -> timedelta:
        """How far the log's newest time was ahead of the clock at the last look; 0 if the difference is small."""
        if isinstance(self._inner, SqliteLog):
            self._newest = self._inner.newest_time()
        ahead = timedelta() if self._newest is None else self._newest - self._clock.now()
        return ahead if ahead > STEP else timedelta()

    def conditions(self) -> list[str]:
        """Return what is wrong with the time, in sentences; [] if nothing is."""
        doubt = self._clock.describe()
        return [*([] if doubt is None else [doubt]), *self._ahead()]

    def _ahead(self) -> list[str]:
        ahead = self.log_ahead
        if not ahead:
            return []
        return [f"the log's newest time lies {spelt(ahead)} ahead of the clock: {AHEAD_ADVICE}"]

    def report_here(self) -> dict[str, Any]:
        """Return the state of this worker's clock: `{worker, now, machine, doubt, log_ahead_seconds, conditions}`."""
        doubt = self._clock.doubt
        return {
            "worker": self._url,
            "now": instant(self._clock.now()),
            "machine": instant(self._clock.machine_now()),
            "doubt": None if doubt is None else doubt.cause,
            "log_ahead_seconds": self.log_ahead.total_seconds(),
            "conditions": self.conditions(),
        }

    async def read_local(self) -> dict[str, Any]:
        """Return `report_here`."""
        return self.report_here()

    async def report(self) -> dict[str, Any]:
        """Return the states of all workers' clocks: `{ok, workers}`. Raises PeerUnavailable."""
        workers = [self.report_here()]
        workers += [answer.body for answer in await self._cluster.ask_others("clock", {}, MARGIN_SECONDS)]
        return {"ok": not any(one["conditions"] for one in workers), "workers": workers}

    async def run(self) -> None:
        """Listen to witnesses of the time, and record how long a clock on probation has run, without end."""
        loop = asyncio.get_running_loop()
        asked_at = loop.time() - ASK_SECONDS
        while True:
            if self._clock.is_doubted() and is_synchronised(machine := self._clock.machine_now()):
                self._clock.hear(KERNEL, machine)
            if loop.time() - asked_at >= ASK_SECONDS:
                asked_at = loop.time()
                with suppress(PeerUnavailable, LogError):  # the next round asks again
                    await self._look_around()
                await asyncio.to_thread(self._keep_probation)
            await asyncio.sleep(WATCH_SECONDS)

    async def _look_around(self) -> None:
        if not isinstance(self._inner, SqliteLog):
            self._newest = await newest_time(self._inner)
            answers = await self._cluster.ask_others("clock", {}, MARGIN_SECONDS)
            believed = (answer.body for answer in answers if answer.body["doubt"] is None)
            self._clock.hear_others({body["worker"]: read_instant(body["machine"]) for body in believed})
        ahead = self._ahead()
        if ahead and not self._is_known_ahead:
            log.warning("%s", ahead[0])
        self._is_known_ahead = bool(ahead)

    def _keep_probation(self) -> None:
        """Record how long the clock has run steadily since a gap: a machine in use for hours a day needs days."""
        doubt = self._clock.doubt
        try:
            if doubt is not None and doubt.cause == GAP:
                write_private(
                    self._file, json.dumps({"ran_seconds": self._clock.ran_steadily().total_seconds()}).encode()
                )
            else:
                self._file.unlink(missing_ok=True)
        except OSError as error:
            log.warning("%s cannot be written (%s): the next start waits anew", self._file, error.strerror)

    async def confirm(self, seconds: float) -> dict[str, Any]:
        """Trust the clocks of all workers, and make the log continue from them, by a tick in every partition.

        Returns `{as_of, applied, workers}`. Raises PeerUnavailable, ClocksDiffer.
        """
        as_of = self._clock.machine_now()
        others = await self._cluster.ask_others("clock", {}, MARGIN_SECONDS)
        for answer in others:
            if abs(read_instant(answer.body["machine"]) - as_of) > STEP:
                worker, machine = answer.body["worker"], answer.body["machine"]
                raise ClocksDiffer(f"the clock of {worker} says {machine}, and the one here {instant(as_of)}")
        request = {"as_of": instant(as_of), "timeout": seconds}
        work = self.confirm_here(as_of, seconds)
        answers = await self._cluster.gather(work, "clock-confirm", request, seconds + MARGIN_SECONDS)
        return {"as_of": instant(as_of), "applied": all(one["applied"] for one in answers), "workers": len(answers)}

    async def confirm_here(self, as_of: datetime, seconds: float) -> dict[str, Any]:
        """Do this worker's part of `confirm`. Raises LogUnavailable."""
        self._clock.confirm("an operator says that it is right")
        if isinstance(self._inner, SqliteLog):
            await self._inner.set_time_back(as_of)
        done = await self._commands.tick(CLOCK, as_of, seconds, _confirmation(callers_key()))
        return {"applied": done.applied}


def _confirmation(by: str | None) -> Callable[[int, datetime], DecayDue]:
    """Return the builder of a partition's tick by which an operator, with a key of that id, confirms the time."""

    def make(partition: int, as_of: datetime) -> DecayDue:
        tick = decay_due(partition, CLOCK, as_of)
        return replace(tick, envelope=replace(tick.envelope, by=by))

    return make
