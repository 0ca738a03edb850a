"""Reextraction: windows whose extraction was rejected are sent to the extractor once more.

The same applies to windows that the rules answered because the budget of the model was spent: their answer is
provisional.

The result is an ordinary answer in the inbox, and is decided like any other. A window that is rejected again stays
rejected, and the next run finds it; an extracted window is not found again. Therefore a run can be stopped at any
point. Of two concurrent runs, the second waits and takes what the first has left, so that no window is sent to a model
twice. Data that is erased meanwhile is left out, and nothing of its answer is kept.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from mnemolog.cluster.peers import PeerUnavailable
from projections.partitions.assignment import NotHeld
from projections.queries.tenant.rejected_windows import RejectedWindow, rejected_windows
from schemas.bounded_cache import BoundedCache
from schemas.identity import event_of_piece
from schemas.instant import instant
from schemas.messages.inbox import CandidatesExtracted
from schemas.topics import INBOX, INPUTS

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from mnemolog.cluster.scatter_gather import ScatterGather
    from projections.partitions.shards import Shards
    from projections.shard.shard import Shard
    from schemas.identity import Owner
    from schemas.log import Log, Record
    from streams.agents.extraction_queue import ExtractionQueue

WINDOWS_AT_ONCE: Final = 16
"""The windows of one worker in one call; the caller waits for that many before it sees the progress."""
POLL_SECONDS: Final = 0.02
DECISION_SECONDS: Final = 120.0
"""How long a call waits for the decision on an answer."""
MOST_RUNS: Final = 4
"""The runs whose windows are cached from one call to the next; other runs search again."""
COUNTS: Final = ("windows", "extracted", "rejected", "memories", "gone", "left")


class DecisionsStalled(Exception):
    """What was extracted again is in the log, and was not decided on in time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejections:
    """The rejected windows to extract again."""

    before: datetime
    """The window was rejected before this instant; windows that a run itself rejects do not belong to it."""
    owner: Owner | None = None
    since: datetime | None = None
    until: datetime | None = None
    """The window was rejected from `since` to before `until`."""

    def wants(self, window: RejectedWindow) -> bool:
        """Return whether a window was rejected within the requested time."""
        return (self.since is None or window.rejected_at >= self.since) and (
            self.until is None or window.rejected_at < self.until
        )


@dataclass(slots=True)
class _Run:
    """The remaining windows of a run, on this worker."""

    shards: dict[int, Shard]
    """The shards that were searched, by partition."""
    waiting: list[tuple[int, RejectedWindow]]
    gone: int


class Reextraction:
    """Extracts rejected windows again, of this worker's partitions or of all workers'."""

    def __init__(
        self,
        *,
        log: Log,
        shards: Shards,
        extractions: ExtractionQueue,
        memorizes: bool = True,
        cluster: ScatterGather,
        handled: Callable[[str, int], int],
        decision_seconds: float = DECISION_SECONDS,
    ) -> None:
        """Take collaborators; `handled` returns the offset before which everything of a topic's partition is done."""
        self._log = log
        self._shards = shards
        self._extractions = extractions
        self._memorizes = memorizes
        self._cluster = cluster
        self._handled = handled
        self._decision_seconds = decision_seconds
        self._running = asyncio.Lock()
        self._runs = BoundedCache[Rejections, _Run](MOST_RUNS)
        self._answered: dict[tuple[Owner, int], tuple[int, int]] = {}
        """For a window that was extracted again, the partition of its answer, and the end of the inbox there."""

    async def run(self, wanted: Rejections) -> dict[str, int]:
        """Extract the next windows again, on all workers, and wait until the answers are decided.

        Returns `{windows, extracted, rejected, memories, gone, left}`: the windows that were sent to the extractor,
        those with an answer, those rejected again, the memories that cite them, the windows whose observations are past
        their retention or were erased meanwhile, and those left for the next call. Raises PeerUnavailable,
        DecisionsStalled.
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
        """Extract the next windows of this worker's partitions again, as `run` does; one call at a time."""
        async with self._running:
            run = await self._found(wanted)
            now = run.waiting[:WINDOWS_AT_ONCE]
            counts: Counter[str] = Counter()
            of_owner: dict[Owner, list[tuple[int, RejectedWindow]]] = {}
            for partition, window in now:
                of_owner.setdefault(window.owner, []).append((partition, window))
            try:
                async with asyncio.TaskGroup() as group:
                    for windows in of_owner.values():
                        group.create_task(self._extract_in_order(windows, counts))
            except* NotHeld as moved:
                raise PeerUnavailable("partitions moved between workers meanwhile: do it again") from moved
            except* DecisionsStalled as stalled:
                raise DecisionsStalled(str(stalled.exceptions[0])) from None
            del run.waiting[:WINDOWS_AT_ONCE]
            run.gone += counts["gone"]
            if run.waiting:
                self._runs.put(wanted, run)
            counts.update({"left": len(run.waiting)})
            counts["gone"] = run.gone
            return {name: counts[name] for name in COUNTS}

    async def _found(self, wanted: Rejections) -> _Run:
        """Return the remaining windows of a run, as its last call left them, or from a search of the shards."""
        partitions = self._shards.held() if self._memorizes else []
        if wanted.owner is not None:
            partitions = [p for p in partitions if p == self._shards.partition(wanted.owner)]
        shards = {partition: self._shards.at(partition) for partition in partitions}
        known = self._runs.pop(wanted)  # after a failure below, the next call searches again
        if known is not None and known.shards == shards:
            return known
        listed = {(window.owner, window.version) for run in self._runs.values() for _, window in run.waiting}
        self._answered = {  # a search from now on does not find decided windows again
            key: place for key, place in self._answered.items() if key in listed or not self._is_decided(*place)
        }
        run = _Run(shards, [], 0)
        for partition, shard in shards.items():
            earliest = {topic.name: await self._log.earliest(topic.name, partition) for topic in INPUTS}
            file = shard.committed_file()
            for window in await asyncio.to_thread(rejected_windows, file, wanted.before, wanted.owner):
                if not wanted.wants(window):
                    continue
                # The log may have dropped records that the shard still lists.
                if window.places is None or any(offset < earliest[topic] for topic, offset in window.places):
                    run.gone += 1
                else:
                    run.waiting.append((partition, window))
        return run

    async def _extract_in_order(self, windows: list[tuple[int, RejectedWindow]], counts: Counter[str]) -> None:
        """Extract a user's windows again, one after the other, because later words must be decided later."""
        for partition, window in windows:
            counts.update(await self._extract(partition, window))

    async def _extract(self, partition: int, window: RejectedWindow) -> dict[str, int]:
        """Extract a window again, and count the result when it is decided.

        Nothing is counted if another run has extracted it in the meantime.
        """
        key = (window.owner, window.version)
        if (answered := self._answered.get(key)) is not None:
            await self._decided(*answered)
            return {}
        found = [await self._record(topic, partition, offset) for topic, offset in window.places or ()]
        records = [record for record in found if record is not None and not record.is_erased]
        if None in found or not records:
            return {"gone": 1}
        again = await self._extractions.extract_again(records, window.pieces, window.version)
        if again is None:
            return {"gone": 1}
        item, end = again
        self._answered[key] = partition, end
        await self._decided(partition, end)
        if not isinstance(item, CandidatesExtracted) or item.provisional:
            return {"windows": 1, "rejected": 1}
        lookup = self._shards.at(partition).observations
        events = {event_of_piece(piece) for piece in window.pieces}
        memories = {memory for event in events for memory in lookup.citing(window.owner, event)}
        return {"windows": 1, "extracted": 1, "memories": len(memories)}

    def _is_decided(self, partition: int, end: int) -> bool:
        return partition not in self._shards.held() or self._handled(INBOX.name, partition) >= end

    async def _decided(self, partition: int, end: int) -> None:
        """Wait until the inbox is decided up to an offset. Raises DecisionsStalled."""
        try:
            async with asyncio.timeout(self._decision_seconds):
                while not self._is_decided(partition, end):  # noqa: ASYNC110 - as drain
                    await asyncio.sleep(POLL_SECONDS)
        except TimeoutError:
            detail = (
                f"what was extracted again is in the log and was not decided on within {self._decision_seconds:g} s:"
                " look at `mnemolog doctor`, and do it again later; what was answered is not asked again"
            )
            raise DecisionsStalled(detail) from None

    async def _record(self, topic: str, partition: int, offset: int) -> Record | None:
        """Return a record; None if it is past its retention."""
        found = await self._log.read(topic, partition, offset, 1)
        return found[0] if found and found[0].position.offset == offset else None
