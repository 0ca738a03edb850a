"""Extraction again: windows whose extraction was rejected are put through the extractor once more.

So are those that the rules answered because the budget of the model was spent: their answer is provisional.

What comes out is an ordinary answer in the inbox, and is decided on as any other. A window that is rejected again stays
rejected, and is found by the next run; one that was extracted is found no more. So a run can be stopped anywhere.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from mnemolog.cluster.peers import PeerUnavailable
from projections.partitions.assignment import NotHeld
from projections.queries.rejected_windows import RejectedWindow, rejected_windows
from schemas.inputs.decoding import observation_of_record
from schemas.instant import instant
from schemas.messages.inbox import CandidatesExtracted
from schemas.topics import INBOX, INPUTS

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from mnemolog.cluster.scatter_gather import ScatterGather
    from projections.partitions.shards import Shards
    from schemas.identity import Owner
    from schemas.log import Log, Record
    from streams.agents.observe import Observe

WINDOWS_AT_ONCE: Final = 16
"""Windows of one worker in one call: so many a caller waits for before it sees how far the run is."""
POLL_SECONDS: Final = 0.02
COUNTS: Final = ("windows", "extracted", "rejected", "memories", "gone", "left")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejections:
    """Which rejected windows are extracted again."""

    before: datetime
    """Rejected before this instant: what a run rejects again is not of that run."""
    owner: Owner | None = None
    since: datetime | None = None
    until: datetime | None = None
    """The window was rejected from `since` to before `until`."""

    def wants(self, window: RejectedWindow) -> bool:
        """Return whether a window that was rejected in time is asked for."""
        return (self.since is None or window.rejected_at >= self.since) and (
            self.until is None or window.rejected_at < self.until
        )


class Reextraction:
    """Extracts rejected windows of this worker's partitions again, or of all workers'."""

    def __init__(
        self,
        *,
        log: Log,
        shards: Shards,
        observe: Observe,
        cluster: ScatterGather,
        handled: Callable[[str, int], int],
    ) -> None:
        """Take collaborators; `handled` returns the offset before which everything of a topic's partition is done."""
        self._log = log
        self._shards = shards
        self._observe = observe
        self._cluster = cluster
        self._handled = handled

    async def run(self, wanted: Rejections) -> dict[str, int]:
        """Extract the next windows again, on all workers, and wait until the answers are decided on.

        Returns `{windows, extracted, rejected, memories, gone, left}`: windows that were put through the extractor, how
        many gave an answer and how many none again, the memories that cite them, those whose observations are past
        their retention, and those that the next call takes. Raises PeerUnavailable.
        """
        request = {
            "before": instant(wanted.before),
            "tenant": wanted.owner and wanted.owner.tenant,
            "user_id": wanted.owner and wanted.owner.user_id,
            "since": wanted.since and instant(wanted.since),
            "until": wanted.until and instant(wanted.until),
        }
        bodies = await self._cluster.gather(self.run_local(wanted), "reextract", request, None)
        return {name: sum(body[name] for body in bodies) for name in COUNTS}

    async def run_local(self, wanted: Rejections) -> dict[str, Any]:
        """Extract the next windows of this worker's partitions again, as `run` does."""
        partitions = self._shards.held() if self._observe.memorizes else []
        if wanted.owner is not None:
            partitions = [p for p in partitions if p == self._shards.partition(wanted.owner)]
        waiting: list[tuple[int, RejectedWindow]] = []
        counts: Counter[str] = Counter()
        for partition in partitions:
            path = self._shards.at(partition).path
            earliest = {topic.name: await self._log.earliest(topic.name, partition) for topic in INPUTS}
            for window in await asyncio.to_thread(rejected_windows, path, wanted.before, wanted.owner):
                if not wanted.wants(window):
                    continue
                # The log may have let go of what the shard still lists.
                if window.places is None or any(offset < earliest[topic] for topic, offset in window.places):
                    counts["gone"] += 1
                else:
                    waiting.append((partition, window))
        now = waiting[:WINDOWS_AT_ONCE]
        counts["left"] = len(waiting) - len(now)
        of_owner: dict[Owner, list[tuple[int, RejectedWindow]]] = {}
        for partition, window in now:
            of_owner.setdefault(window.owner, []).append((partition, window))
        try:
            async with asyncio.TaskGroup() as group:
                for windows in of_owner.values():
                    group.create_task(self._extract_in_order(windows, counts))
        except* NotHeld as moved:
            raise PeerUnavailable("partitions moved between workers meanwhile: do it again") from moved
        return {name: counts[name] for name in COUNTS}

    async def _extract_in_order(self, windows: list[tuple[int, RejectedWindow]], counts: Counter[str]) -> None:
        """Extract a user's windows again, one after the other: what was said later is decided on later."""
        for partition, window in windows:
            counts.update(await self._extract(partition, window))

    async def _extract(self, partition: int, window: RejectedWindow) -> dict[str, int]:
        """Extract a window again, and count what came of it when it is decided on."""
        records = [await self._record(topic, partition, offset) for topic, offset in window.places or ()]
        observations = [(observation_of_record(r), r.recorded_at) for r in records if r is not None]
        if len(observations) < len(records):
            return {"gone": 1}
        item, end = await self._observe.extract_again(partition, observations, window.pieces, window.version)
        while partition in self._shards.held() and self._handled(INBOX.name, partition) < end:  # noqa: ASYNC110 - as drain
            await asyncio.sleep(POLL_SECONDS)
        if not isinstance(item, CandidatesExtracted) or item.provisional:
            return {"windows": 1, "rejected": 1}
        lookup = self._shards.at(partition).observations
        events = {message.envelope.event_id for message, _ in observations}
        memories = {memory for event in events for memory in lookup.citing(window.owner, event)}
        return {"windows": 1, "extracted": 1, "memories": len(memories)}

    async def _record(self, topic: str, partition: int, offset: int) -> Record | None:
        """Return a record, None where it is past its retention."""
        found = await self._log.read(topic, partition, offset, 1)
        return found[0] if found and found[0].position.offset == offset and not found[0].is_erased else None
