"""Lag: the number of unfinished items of each partition, and the age of the oldest."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from schemas.topics import GLOBALS, INBOX, INPUTS, LEDGER

if TYPE_CHECKING:
    from collections.abc import Callable

    from mnemolog.cluster.scatter_gather import ScatterGather
    from projections.partitions.shards import Shards
    from schemas.instant import Clock
    from schemas.log import Log

STEPS: Final = {**{topic.name: "extract" for topic in INPUTS}, INBOX.name: "remember", LEDGER.name: "project"}
STEPS[GLOBALS.name] = "project"
"""The step that handles each topic."""


@dataclass(frozen=True, slots=True)
class Lag:
    """The number of unfinished items of a partition, and the age of the oldest in seconds."""

    topic: str
    partition: int
    step: str
    items: int
    seconds: float


class Lags:
    """The lags of this worker's partitions, and of all partitions."""

    def __init__(
        self,
        log: Log,
        shards: Shards,
        cluster: ScatterGather,
        clock: Clock,
        *,
        handled: Callable[[str, int], int],
        url: str,
    ) -> None:
        """Take collaborators; `handled` returns the offset before which everything of a partition is done."""
        self._log = log
        self._shards = shards
        self._cluster = cluster
        self._clock = clock
        self._handled = handled
        self._url = url

    async def here(self) -> list[Lag]:
        """Return a lag for each topic and partition of this worker.

        A topic with a single partition, such as that of global memories, is reported by the worker that holds partition
        0, so that the group reports each lag once.
        """
        now = self._clock.now()
        found = []
        for topic, step in STEPS.items():
            partitions = await self._log.partitions(topic)
            for partition in self._shards.held():
                if partition >= partitions:
                    continue
                end = await self._log.end(topic, partition)
                begin = max(self._handled(topic, partition), await self._log.earliest(topic, partition))
                oldest = await self._log.read(topic, partition, begin, 1) if begin < end else ()
                ages = [(now - record.recorded_at).total_seconds() for record in oldest]
                found.append(Lag(topic, partition, step, max(0, end - begin), max([0.0, *ages])))
        return found

    async def read_local(self) -> dict[str, Any]:
        """Return the lags of this worker as JSON rows."""
        return {"items": [{**asdict(lag), "worker": self._url} for lag in await self.here()]}

    async def read(self) -> dict[str, Any]:
        """Return the lags of all partitions, each with the worker that holds it. Raises PeerUnavailable."""
        bodies = await self._cluster.gather(self.read_local(), "lag", {}, None)
        items = [item for body in bodies for item in body["items"]]
        return {"items": sorted(items, key=lambda item: (item["topic"], item["partition"]))}
