"""Drain: ends open sessions, flushes recalls, and waits until everything published so far is remembered."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from projections.shard.snapshot import count_active
from schemas.topics import DEAD_LETTERS, GLOBALS, INBOX, INPUTS, LEDGER
from streams.delivery.retry import fold_with_retry

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mnemolog.cluster.scatter_gather import ScatterGather
    from mnemolog.commands.recalls import Recalls
    from mnemolog.publishing.publisher import Publisher
    from projections.index.sync import IndexSync
    from projections.partitions.shards import Shards
    from projections.queries.turns.making import TurnVectorMaking
    from schemas.instant import Clock
    from schemas.log import Log
    from schemas.topics import Topic
    from streams.agents.observe import Observe

POLL_SECONDS: Final = 0.02
MARGIN_SECONDS: Final = 10.0
"""Extra seconds to wait for another worker, beyond its own time-out."""


class DrainTimeout(Exception):
    """The drain timed out. `mnemolog_lag_items` shows what is pending; run drain again."""


class Drain:
    """Makes everything published to this worker's partitions, or to all, searchable, and counts it."""

    def __init__(
        self,
        *,
        log: Log,
        shards: Shards,
        index_sync: IndexSync,
        observe: Observe,
        publisher: Publisher,
        recalls: Recalls,
        cluster: ScatterGather,
        handled: Callable[[str, int], int],
        clock: Clock,
        turn_vectors: TurnVectorMaking,
    ) -> None:
        """Take collaborators; `handled` returns the offset before which everything of a topic's partition is done."""
        self._turn_vectors = turn_vectors
        self._log = log
        self._shards = shards
        self._index_sync = index_sync
        self._observe = observe
        self._publisher = publisher
        self._recalls = recalls
        self._cluster = cluster
        self._handled = handled
        self._clock = clock

    async def run(self, seconds: float) -> dict[str, int]:
        """Drain all partitions and return the counts. Raises DrainTimeout, WorkersDiffer, PeerUnavailable."""
        await self._cluster.check_settings()
        # Twice with other workers: the first round moves misplaced records, perhaps to a worker that had finished.
        for _ in range(2 if self._cluster.has_others else 1):
            answers = await self._cluster.gather(
                self.run_local(seconds), "drain", {"timeout": seconds}, seconds + MARGIN_SECONDS
            )
        return {name: sum(body[name] for body in answers) for name in answers[0]}

    async def run_local(self, seconds: float) -> dict[str, Any]:
        """Drain the partitions of this worker and return their counts. Raises DrainTimeout."""
        try:
            async with asyncio.timeout(seconds):
                await self._extract(await self._ends(INPUTS))
                held, reappended = self._shards.held(), self._observe.reencoder.ends
                await self._extract({place: end for place, end in reappended.items() if place[1] in held})
                await self._recalls.flush()
                items = await self._ends((INBOX,))
                while not self._is_handled(items):  # noqa: ASYNC110 - the transport has no event for it
                    await asyncio.sleep(POLL_SECONDS)
                await fold_with_retry(self._fold)  # immediate decisions are handled before they are folded
                await self._index_sync.flush()
                await self._turn_vectors.catch_up()
        except TimeoutError:
            raise DrainTimeout(f"not everything was remembered within {seconds:g} s: drain again") from None
        return await self.counts()

    async def counts(self) -> dict[str, Any]:
        """Return the number of this worker's observations by outcome, and the number of its active memories.

        `{observations, remembered, nothing, rejected, dead, memories}`; `dead` also counts dead letters that are not
        observations, or not readable ones.
        """
        numbers = {"observations": 0, "remembered": 0, "nothing": 0, "rejected": 0, "dead": 0, "memories": 0}
        for partition in self._shards.held():
            end = await self._log.end(DEAD_LETTERS.name, partition)
            await self._shards.up_to(DEAD_LETTERS.name, partition, end)
            shard = self._shards.at(partition)
            for name, number in shard.observations.counts().items():
                numbers[name] += number
            numbers["dead"] += shard.dead_letters.count()
        paths = [shard.committed_file() for shard in self._shards.all()]
        numbers["memories"] = await count_active(paths, self._clock.now(), self._shards.counts)
        return numbers

    async def _extract(self, ends: Mapping[tuple[str, int], int]) -> None:
        """End open sessions until everything published up to these ends is extracted."""
        ended: set[str] = set()
        while not self._is_handled(ends):
            sessions = [e for e in self._observe.windows.ends() if e.envelope.event_id not in ended]
            if sessions:
                await self._publisher.publish(sessions)
                ended |= {e.envelope.event_id for e in sessions}
            await asyncio.sleep(POLL_SECONDS)

    async def _fold(self) -> None:
        """Fold the remaining records. If there are none, return at once, because the caller may be out of time."""
        ends = {**await self._ends((LEDGER,)), (GLOBALS.name, 0): await self._log.end(GLOBALS.name, 0)}
        for (topic, partition), end in ends.items():
            await self._shards.up_to(topic, partition, end)

    async def _ends(self, topics: Sequence[Topic]) -> dict[tuple[str, int], int]:
        partitions = self._shards.held()
        return {(t.name, p): await self._log.end(t.name, p) for t in topics for p in partitions}

    def _is_handled(self, ends: Mapping[tuple[str, int], int]) -> bool:
        return all(self._handled(*place) >= end for place, end in ends.items())
