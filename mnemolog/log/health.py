"""The health of the log: whether the partitions held here answer, asked again and again."""

from __future__ import annotations

import asyncio
import logging
import time
from itertools import chain
from typing import TYPE_CHECKING, Final

from schemas.log import LogError
from schemas.topics import LEDGER

if TYPE_CHECKING:
    from mnemolog.log.deadline import RequestDeadlines
    from projections.partitions.shards import Shards
    from schemas.log import Log

log = logging.getLogger("mnemolog")
LOOK_EVERY_SECONDS: Final = 1.0
ANSWER_SECONDS: Final = 3.0
"""A partition that has not answered for so long is silent."""
ASKED_AT_ONCE: Final = 16
"""Partitions asked in one look; with more they take turns."""


class LogWatch:
    """Asks the partitions held here for their ends, and starts the deadlines of requests when one is silent.

    A request is answered with 503 at the latest ANSWER_SECONDS + LOOK_EVERY_SECONDS after the log has fallen silent,
    or SILENT_SECONDS after it was sent. One that does not need a silent partition is answered as usual: it is done
    before its deadline, or its deadline is suspended.
    """

    def __init__(self, deadlines: RequestDeadlines, answer_seconds: float = ANSWER_SECONDS) -> None:
        self.away: str | None = None
        """Why the log counts as away: no partition asked has answered."""
        self._deadlines = deadlines
        self._answer_seconds = answer_seconds
        self._first = 0
        """The place of the next partition to ask, where they take turns."""

    async def run(self, watched: Log, shards: Shards) -> None:
        """Look until cancelled."""
        while True:
            await self.look(watched, shards.held() or [0])
            await asyncio.sleep(LOOK_EVERY_SECONDS)

    async def look(self, watched: Log, partitions: list[int]) -> None:
        """Ask some of the partitions for their ends, and tell the deadlines whether one is silent."""
        first = self._first % len(partitions)
        asked = list(chain(partitions[first:], partitions[:first]))[:ASKED_AT_ONCE]
        self._first += len(asked)
        answers = await asyncio.gather(*(self._trouble(watched, partition) for partition in asked))
        troubles = [trouble for trouble in answers if trouble is not None]
        was_away = self.away is not None
        self.away = troubles[0] if len(troubles) == len(asked) else None
        if (self.away is not None) != was_away:
            log.warning("%s", self.away or "the log answers again")
        self._deadlines.set_silence(troubles[0] if troubles else None)

    async def _trouble(self, watched: Log, partition: int) -> str | None:
        """Return why a partition counts as silent, None when it answers."""
        began = time.monotonic()
        try:
            async with asyncio.timeout(self._answer_seconds):
                await watched.end(LEDGER.name, partition)
        except TimeoutError:
            return f"the log is away: {LEDGER.name}:{partition} has not answered for {time.monotonic() - began:.0f} s"
        except LogError as error:
            return f"the log is away: {error}"
        return None
