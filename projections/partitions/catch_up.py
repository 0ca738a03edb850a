"""The fold of a shard up to the log's end before it is held; a long one runs in a thread and reports its progress."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Final

from projections.blocking_work import run_in_thread
from projections.shard.log_position import ends_of
from projections.shard.shard import BULK_RECORDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from projections.shard.shard import Shard

MANY_RECORDS: Final = 5_000
"""A shard that is behind by more records than this is folded in a thread."""
REPORT_EVERY_SECONDS: Final = 5.0

log = logging.getLogger("mnemolog.shard")


class CatchUp:
    """Brings a shard to the log's end. Only for a shard that answers no query yet: a thread may write to it."""

    def __init__(self, shard: Shard, progress: Callable[[int], None] | None = None) -> None:
        """Call `progress` with the number of records that each step folded; by default that is logged."""
        self._shard = shard
        self._progress = progress or self._report
        self._folded, self._total, self._reported = 0, 0, time.monotonic()

    async def run(self) -> None:
        """Fold every topic to its end, in a thread if it is far behind."""
        shard = self._shard
        ends = await ends_of(shard.log, shard.topics, shard.partition)
        self._total = sum(end - shard.offset(topic) for topic, end in ends.items())
        if self._total > MANY_RECORDS:
            await self.run_in_thread()
        await shard.catch_up()

    async def run_in_thread(self) -> None:
        """Fold every topic to its end without blocking the event loop."""
        shard = self._shard
        for topic in shard.topics:
            end = await shard.log.end(topic, shard.partition)  # others may go on writing without an end
            while shard.offset(topic) < end and (folded := await self._fold_many(topic)):
                self._progress(folded)

    async def _fold_many(self, topic: str) -> int:
        """Fold the next records of a topic in a thread; return their number."""
        shard = self._shard
        async with shard.folding:
            records = await shard.log.read(topic, shard.partition, shard.offset(topic), BULK_RECORDS)
            if not records or shard.retired:
                return 0
            shard.writes.commit()  # here, where the timer of a commit to come can be stopped
            await run_in_thread(shard.fold, topic, records)
            shard.checkpoints.committed()
            return len(records)

    def _report(self, records: int) -> None:
        self._folded += records
        if time.monotonic() - self._reported > REPORT_EVERY_SECONDS:
            self._reported = time.monotonic()
            name, folded, total = self._shard.path.name, f"{self._folded:,}", f"{self._total:,}"
            log.info("shard %s: %s of %s records folded", name, folded, total)
