"""Gauges, read from log and shards when they are scraped: the backlog of each step, and the totals."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from mnemolog.operations.dead_letters import letter_of
from mnemolog.worker.lag import STEPS
from projections.shard.errors import ShardDamaged
from projections.shard.snapshot import ReadSnapshot
from projections.state.memory import STATUSES
from schemas.messages.dead_letters import RETRIED
from schemas.topics import DEAD_LETTERS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prometheus_client import Metric

    from mnemolog.operations.rebuild import Rebuilder
    from mnemolog.worker.lag import Lags
    from projections.partitions.shards import Shards
    from projections.shard.shard import Shard
    from schemas.log import Log

GLOBAL_MEMORIES: Final = "global"
"""The label of the global memories, which belong to no partition."""
COUNT_EVERY_SECONDS: Final = 15.0
"""The least interval between counts of memories, since a count reads a shard's table in a thread."""


class Gauges(Collector):
    """The gauges at the last look. Dead letters and memories are counted from the log, so a restart loses nothing."""

    def __init__(self, log: Log, shards: Shards, rebuilder: Rebuilder, lags: Lags) -> None:
        self._log = log
        self._shards = shards
        self._rebuilder = rebuilder
        self._lag = lags
        self._metrics: list[Metric] = []
        self._letters: Counter[tuple[str, str]] = Counter()
        self._read: dict[int, int] = {}
        self._statuses: dict[str, tuple[float, int, dict[str, int]]] = {}

    def collect(self) -> Iterable[Metric]:
        """Return the metrics at the last look."""
        return list(self._metrics)

    @property
    def rebuild_progress(self) -> float:
        """The progress of the running rebuild, 0 to 1; 1 without one."""
        return self._rebuilder.progress.ratio

    async def look(self) -> None:
        """Read the log and the shards again."""
        await self._read_letters()
        counted = [self._dead(), await self._memories(), self._void()]
        self._metrics = [*await self._lags(), *counted, self._damage(), self._waiting()]

    async def _read_letters(self) -> None:
        """Count the dead letters that were added since the last look."""
        topic = DEAD_LETTERS.name
        for partition in range(await self._log.partitions(topic)):
            while records := await self._log.read(topic, partition, self._read.get(partition, 0)):
                for record in records:
                    letter = letter_of(record)
                    if letter.reason != RETRIED:
                        self._letters[letter.topic, letter.reason] += 1
                self._read[partition] = records[-1].position.offset + 1

    def _dead(self) -> Metric:
        family = CounterMetricFamily("mnemolog_dead_letters", "Records put aside", labels=("topic", "reason"))
        for labels, number in sorted(self._letters.items()):
            family.add_metric(labels, number)
        return family

    async def _memories(self) -> Metric:
        total = Counter(dict.fromkeys(STATUSES, 0))
        for shard in self._shards.all() if 0 in self._shards.held() else self._shards.all()[:-1]:
            with suppress(ShardDamaged):  # it was reported: its partition waits
                total.update(await self._statuses_of(shard))
        family = GaugeMetricFamily("mnemolog_memories", "Memories by stored status", labels=("status",))
        for status, number in sorted(total.items()):
            family.add_metric((status,), number)
        return family

    async def _statuses_of(self, shard: Shard) -> dict[str, int]:
        """Return the number of a shard's memories in each status, at most COUNT_EVERY_SECONDS old.

        While the shard cannot be written, return the last count: metrics matter most when a disk is full.
        """
        path, now = str(shard.path), time.monotonic()
        offset = shard.offset(shard.ledger_topic)
        if path in self._statuses:
            counted_at, counted_to, statuses = self._statuses[path]
            if counted_to == offset or now - counted_at < COUNT_EVERY_SECONDS:
                return statuses
        shard.writes.try_commit()
        with closing(ReadSnapshot(shard.path)) as committed:
            statuses = await committed.statuses()
        if shard.writes.trouble is None:
            self._statuses[path] = (now, offset, statuses)
        return statuses

    async def _lags(self) -> list[Metric]:
        """Return the number of unfinished items of each topic, and the age of the oldest."""
        items = GaugeMetricFamily("mnemolog_lag_items", "Items of a topic that are not done", labels=("topic",))
        seconds = GaugeMetricFamily("mnemolog_lag_seconds", "Age of the oldest item that is not done", labels=("step",))
        oldest: dict[str, float] = dict.fromkeys(STEPS.values(), 0.0)
        left: dict[str, int] = dict.fromkeys(STEPS, 0)
        for lag in await self._lag.here():
            left[lag.topic] += lag.items
            oldest[lag.step] = max(oldest[lag.step], lag.seconds)
        for topic, number in left.items():
            items.add_metric((topic,), number)
        for step, age in oldest.items():
            seconds.add_metric((step,), age)
        return [items, seconds]

    def _damage(self) -> Metric:
        family = GaugeMetricFamily(
            "mnemolog_damaged_histories", "Users, or partitions, whose part of the log is damaged"
        )
        family.add_metric((), len(self._shards.users.damages()) + len(self._shards.assignment.refused))
        return family

    def _waiting(self) -> Metric:
        family = GaugeMetricFamily(
            "mnemolog_waiting_partitions",
            "Partitions that are not answered until they are mended",
            labels=("partition",),
        )
        assignment = self._shards.assignment
        for partition in sorted(assignment.hindrances.keys() - assignment.shards.keys()):
            family.add_metric((GLOBAL_MEMORIES if partition < 0 else str(partition),), 1)
        return family

    def _void(self) -> Metric:
        family = CounterMetricFamily("mnemolog_void_decisions", "Decisions that did not count")
        family.add_metric((), sum(shard.ledger.void_decisions for shard in self._shards.all()))
        return family
