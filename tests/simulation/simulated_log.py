"""A log in memory that takes its time, loses requests and acknowledgements, and loses no record."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from contextvars import Context
from dataclasses import dataclass
from typing import TYPE_CHECKING

from schemas.log import Appended, LogError, LogMoved, LogUnavailable, Position, Record, UnknownTopic
from schemas.topics import KEYS, REPLACEMENTS
from streams.sealing import sealed_record
from streams.sealing.user_keys import ARRIVAL_SECONDS
from streams.transports.kafka.log import APPEND_S

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime, timedelta
    from hashlib import blake2b
    from random import Random

    from schemas.instant import Clock
    from schemas.log import NewRecord


@dataclass(slots=True)
class Weather:
    """How often the log fails, each 0 to 1, and how long it takes at most, in virtual seconds."""

    chance: Random
    refused: float = 0.0
    """Not appended, and the caller is told so much as: unknown."""
    unacknowledged: float = 0.0
    """Appended, and the caller is told: unknown."""
    late: float = 0.0
    """The caller is told: unknown, and only then it is appended."""
    unreadable: float = 0.0
    slow: float = 0.2
    """Appends and reads that take a while, instead of a moment."""
    longest: float = 3.0
    stuck: float = 0.0
    """Appends that arrive as late as they can: their keys may have been replaced meanwhile."""
    full: float = 0.0
    """Commits of a worker's shards that fail, as on a full disk."""

    def takes(self) -> float:
        """Return how long something takes."""
        return self.chance.random() * (self.longest if self.chance.random() < self.slow else 0.02)

    def arrives(self) -> float:
        """Return after how long an append arrives."""
        if self.stuck and self.chance.random() < self.stuck:
            return self.chance.random() * ARRIVAL_SECONDS
        return self.takes()


class SimulatedLog:
    """Implements Log. What was sent arrives, or not, whatever becomes of the sender."""

    def __init__(self, clock: Clock, weather: Weather | None = None, trace: blake2b | None = None) -> None:
        """Without weather every call is done at once."""
        self.records: dict[tuple[str, int], list[Record]] = {}
        self.on_append: Callable[[], None] = lambda: None
        self._clock = clock
        self._weather = weather
        self._trace = trace
        self._partitions: dict[str, int] = {}
        self._outside = Context()  # of no worker: what is on its way survives its sender

    def still(self) -> SimulatedLog:
        """Return the same log without weather, for who looks at it from outside."""
        view = SimulatedLog(self._clock, trace=self._trace)
        view.records, view._partitions = self.records, self._partitions
        view.on_append = lambda: self.on_append()  # noqa: PLW0108 - it is set later
        return view

    async def create_topic(
        self, name: str, partitions: int, retention: timedelta | None = None, *, compact: bool = False
    ) -> None:
        """Create a topic, or leave it as it is. Nothing is ever dropped or compacted."""
        del retention, compact
        known = self._partitions.setdefault(name, partitions)
        if known != partitions:
            raise LogError(f"topic {name} has {known} partitions, not {partitions}")
        for partition in range(partitions):
            self.records.setdefault((name, partition), [])

    async def append(self, records: Sequence[NewRecord]) -> list[Appended]:
        """Append all records, after a while. Raises LogUnavailable whenever the weather says so, and UnknownTopic."""
        for record in records:
            self._of(record.topic, record.partition)
        return await self._send(lambda: self._store(records))

    async def _send(self, store: Callable[[], list[Appended]]) -> list[Appended]:
        weather = self._weather
        if weather is None:
            return store()
        loop, drawn = asyncio.get_running_loop(), weather.chance.random()
        answer: asyncio.Future[list[Appended]] = loop.create_future()
        first, second = weather.arrives(), weather.takes()
        failing = LogUnavailable("the log is simulated to be away: try again")
        if drawn < weather.refused:
            self._later(min(first, APPEND_S), lambda: _fail(answer, failing))
        elif drawn < weather.refused + weather.late:
            self._later(min(first, APPEND_S), lambda: _fail(answer, failing))

            def arrive_unnoticed() -> None:
                with suppress(LogMoved):
                    store()

            self._arrive(min(first + second, ARRIVAL_SECONDS), arrive_unnoticed)
        else:
            unheard = drawn < weather.refused + weather.late + weather.unacknowledged

            def arrive() -> None:
                try:
                    appended = store()
                except LogMoved as moved:
                    refusal = moved
                    self._later(second, lambda: _fail(answer, refusal))
                    return
                self._later(second, lambda: _fail(answer, failing) if unheard else _answer(answer, appended))

            self._arrive(first, arrive)
            self._later(APPEND_S, lambda: _fail(answer, failing))
        return await answer

    async def read(self, topic: str, partition: int, start: int, limit: int = 1000) -> list[Record]:
        """Return records from `start` on. Raises LogUnavailable when the weather says so, and UnknownTopic."""
        records = self._of(topic, partition)
        if self._weather is not None:
            await asyncio.sleep(self._weather.takes())
            if self._weather.chance.random() < self._weather.unreadable:
                raise LogUnavailable("the log is simulated to be away: try again")
        return records[max(0, start) : max(0, start) + limit]

    async def end(self, topic: str, partition: int) -> int:
        """Return the next offset."""
        if self._weather is not None:
            await asyncio.sleep(0)
        return len(self._of(topic, partition))

    async def earliest(self, topic: str, partition: int) -> int:
        """Return 0: nothing is dropped."""
        self._of(topic, partition)
        return 0

    async def drop_before(self, topic: str, partition: int, offset: int) -> None:
        """Refuse: nothing asks for it in a run."""
        raise NotImplementedError

    async def partitions(self, topic: str) -> int:
        """Return how many partitions the topic has. Raises UnknownTopic."""
        try:
            return self._partitions[topic]
        except KeyError:
            raise UnknownTopic(f"there is no topic {topic}") from None

    def _of(self, topic: str, partition: int) -> list[Record]:
        try:
            return self.records[topic, partition]
        except KeyError:
            raise UnknownTopic(f"there is no partition {partition} of a topic {topic}") from None

    def _arrive(self, seconds: float, arrival: Callable[[], None]) -> None:
        """Let something arrive, whatever becomes of its sender."""
        self._later(seconds, arrival)

    def _later(self, seconds: float, action: Callable[[], object]) -> None:
        asyncio.get_running_loop().call_later(seconds, action, context=self._outside)

    def _store(self, records: Sequence[NewRecord], as_of: datetime | None = None) -> list[Appended]:
        appended = []
        for new in records:
            held = self._of(new.topic, new.partition)
            position, at = Position(new.topic, new.partition, len(held)), as_of or self._now(held)
            held.append(Record(position=position, recorded_at=at, key=new.key, value=new.value, headers=new.headers))
            appended.append(Appended(position, at))
            if self._trace is not None:
                self._trace.update(f"{position} {at.isoformat()}".encode() + _repeatable(new))
        self.on_append()
        return appended

    def _now(self, held: list[Record]) -> datetime:
        return max(self._clock.now(), held[-1].recorded_at) if held else self._clock.now()


def _repeatable(new: NewRecord) -> bytes:
    """Return what is the same of a record whenever its run is played: keys and nonces are not."""
    if new.topic in (KEYS.name, REPLACEMENTS.name) or sealed_record.key_id_of(new.value) is not None:
        return str(len(new.value)).encode()
    return (new.key or b"") + new.value


def _answer(answer: asyncio.Future[list[Appended]], appended: list[Appended]) -> None:
    if not answer.done():
        answer.set_result(appended)


def _fail(answer: asyncio.Future[list[Appended]], error: LogError) -> None:
    if not answer.done():
        answer.set_exception(error)
