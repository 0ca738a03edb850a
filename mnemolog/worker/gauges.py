"""Gauges read from log and shards when they are asked for: how far behind each step is, and what is held."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from mnemolog.operations.dead_letters import letter_of
from projections.state.memory import STATUSES
from schemas.messages.dead_letters import RETRIED
from schemas.topics import DEAD_LETTERS, GLOBALS, INBOX, INPUTS, LEDGER

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prometheus_client import Metric

    from mnemolog.worker.worker import Worker
    from projections.shard.shard import Shard

STEPS: Final = {**{topic.name: "extract" for topic in INPUTS}, INBOX.name: "remember", LEDGER.name: "project"}
STEPS[GLOBALS.name] = "project"
COUNT_EVERY_SECONDS: Final = 15.0
"""Counting memories reads a shard's table: not more often than this, however often it is scraped."""


class Gauges(Collector):
    """What the last look saw. Dead letters and memories are counted from the log, so that a restart loses nothing."""

    def __init__(self) -> None:
        self._seen: list[Metric] = []
        self._letters: Counter[tuple[str, str]] = Counter()
        self._read: dict[int, int] = {}
        self._statuses: dict[str, tuple[float, int, dict[str, int]]] = {}

    def collect(self) -> Iterable[Metric]:
        """Return what the last look saw."""
        return list(self._seen)

    async def look(self, worker: Worker) -> None:
        """Look at the worker's log and shards."""
        await self._read_letters(worker)
        self._seen = [*await _lags(worker), self._dead(), self._memories(worker), _void(worker)]

    async def _read_letters(self, worker: Worker) -> None:
        """Count the letters that came since the last look."""
        topic = DEAD_LETTERS.name
        for partition in range(await worker.log.partitions(topic)):
            while records := await worker.log.read(topic, partition, self._read.get(partition, 0)):
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

    def _memories(self, worker: Worker) -> Metric:
        total = Counter(dict.fromkeys(STATUSES, 0))
        for shard in worker.shards.all() if 0 in worker.shards.held() else worker.shards.all()[:-1]:
            total.update(self._statuses_of(shard))
        family = GaugeMetricFamily("mnemolog_memories", "Memories by stored status", labels=("status",))
        for status, number in sorted(total.items()):
            family.add_metric((status,), number)
        return family

    def _statuses_of(self, shard: Shard) -> dict[str, int]:
        place, offset, now = str(shard.path), shard.offset(shard.ledger_topic), time.monotonic()
        known = self._statuses.get(place)
        if known is not None and (known[1] == offset or now - known[0] < COUNT_EVERY_SECONDS):
            return known[2]
        self._statuses[place] = (now, offset, shard.ledger.statuses())
        return self._statuses[place][2]


async def _lags(worker: Worker) -> list[Metric]:
    """Return how many items of each topic are not done, and how old the oldest is."""
    items = GaugeMetricFamily("mnemolog_lag_items", "Items of a topic that are not done", labels=("topic",))
    seconds = GaugeMetricFamily("mnemolog_lag_seconds", "Age of the oldest item that is not done", labels=("step",))
    oldest: dict[str, float] = dict.fromkeys(STEPS.values(), 0.0)
    now = worker.clock.now()
    for topic, step in STEPS.items():
        left = 0
        for partition in await _counted_here(worker, topic):
            end = await worker.log.end(topic, partition)
            begin = max(worker.handled(topic, partition), await worker.log.earliest(topic, partition))
            if begin >= end:
                continue
            left += end - begin
            for record in await worker.log.read(topic, partition, begin, 1):
                oldest[step] = max(oldest[step], (now - record.recorded_at).total_seconds())
        items.add_metric((topic,), left)
    for step, age in oldest.items():
        seconds.add_metric((step,), age)
    return [items, seconds]


async def _counted_here(worker: Worker, topic: str) -> list[int]:
    """Return the partitions that this worker reports on: the sum over all workers counts each once.

    What has only one partition, as global memories, is reported by who holds partition 0 of users.
    """
    return [p for p in worker.shards.held() if p < await worker.log.partitions(topic)]


def _void(worker: Worker) -> Metric:
    family = CounterMetricFamily("mnemolog_void_decisions", "Decisions that did not count")
    family.add_metric((), sum(shard.ledger.void_decisions for shard in worker.shards.all()))
    return family
