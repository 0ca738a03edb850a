"""The simulated log of a worker that is alone: nobody else appends, and what it had under way ends with its process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from simulation.simulated_log import SimulatedLog
from simulation.virtual_loop import WORKER

from schemas.log import Appended, LogMoved, Position

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime
    from hashlib import blake2b
    from random import Random

    from simulation.simulated_log import Weather

    from schemas.instant import Clock
    from schemas.log import NewRecord, Record


@dataclass(eq=False, slots=True)
class _OnItsWay:
    """An append that has not arrived yet, and the process that sent it."""

    worker: str
    arrival: Callable[[], None]


class SimulatedExclusiveLog(SimulatedLog):
    """Implements ExclusiveLog. It has one time for all partitions, as the embedded log has."""

    def __init__(
        self, clock: Clock, chance: Random, weather: Weather | None = None, trace: blake2b | None = None
    ) -> None:
        """Take the chance by which what a process has under way when it ends is in the log, or is not."""
        super().__init__(clock, weather, trace)
        self._process_chance = chance
        self._on_their_way: list[_OnItsWay] = []
        self._settled: set[Position] = set()
        self._latest: datetime | None = None

    def date_by(self, clock: Clock) -> None:
        """Take the time of what is appended from the clock of the process that lives now."""
        self._clock = clock

    def next_place(self, topic: str, partition: int) -> Appended:
        """See `ExclusiveLog.next_place`."""
        return Appended(Position(topic, partition, len(self._of(topic, partition))), self._at())

    async def append_settled(self, records: Sequence[NewRecord], places: Sequence[Appended]) -> list[Appended]:
        """See `ExclusiveLog.append_settled`. Raises LogUnavailable whenever the weather says so."""
        at = places[0].recorded_at

        def store() -> list[Appended]:
            for place in places:
                if (end := len(self._of(place.position.topic, place.position.partition))) != place.position.offset:
                    raise LogMoved(f"{place.position} was wanted, and the log goes on at {end}")
            if any(held and held[-1].recorded_at > at for held in (self._of(r.topic, r.partition) for r in records)):
                raise LogMoved(f"{at} was wanted, and the log has a later time")
            appended = self._store(records, at)
            self._settled.update(one.position for one in appended)
            return appended

        return await self._send(store)

    def is_settled(self, position: Position) -> bool:
        """Return whether the process that lives now has appended a record as settled."""
        return position in self._settled

    def end_process(self, worker: str) -> None:
        """Let everything that a process has under way be in the log now, or never; the next one knows of no settled."""
        ended = [one for one in self._on_their_way if one.worker == worker]
        self._on_their_way = [one for one in self._on_their_way if one.worker != worker]
        for one in ended:
            if self._process_chance.random() < 0.5:
                one.arrival()
        self._settled.clear()

    def _arrive(self, seconds: float, arrival: Callable[[], None]) -> None:
        one = _OnItsWay(WORKER.get(), arrival)
        self._on_their_way.append(one)

        def arrive() -> None:
            if one in self._on_their_way:
                self._on_their_way.remove(one)
                arrival()

        self._later(seconds, arrive)

    def _now(self, _held: list[Record]) -> datetime:
        self._latest = self._at()
        return self._latest

    def _at(self) -> datetime:
        now = self._clock.now()
        return now if self._latest is None else max(now, self._latest)
