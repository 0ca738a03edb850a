"""The health of the log: periodic checks whether the partitions held here answer."""

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
"""The time without an answer after which a partition counts as silent."""
ASKED_AT_ONCE: Final = 16
"""The partitions checked in one look; if there are more, they take turns."""


class LogWatch:
    """Reads the ends of the partitions held here, and starts the deadlines of requests if one is silent.

    A waiting request is answered with 503 at the latest ANSWER_SECONDS + LOOK_EVERY_SECONDS after the log has fallen
    silent, or SILENT_SECONDS after it was sent. A request that does not need a silent partition is answered as usual,
    because it finishes before its deadline or suspends it.
    """

    def __init__(self, deadlines: RequestDeadlines, answer_seconds: float = ANSWER_SECONDS) -> None:
        self.away: str | None = None
        """The reason why the log counts as away, when no checked partition answers; else None."""
        self._deadlines = deadlines
        self._answer_seconds = answer_seconds
        self._first = 0
        """The place of the next partition to check, if they take turns."""

    async def run(self, watched: Log, shards: Shards) -> None:
        """Look every LOOK_EVERY_SECONDS until cancelled."""
        while True:
            await self.look(watched, shards.held() or [0])
            await asyncio.sleep(LOOK_EVERY_SECONDS)

    async def look(self, watched: Log, partitions: list[int]) -> None:
        """Read the ends of some partitions, and update the deadlines according to whether one is silent."""
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
        """Return the reason why a partition counts as silent, None if it answers."""
        began = time.monotonic()
        try:
            async with asyncio.timeout(self._answer_seconds):
                await watched.end(LEDGER.name, partition)
        except TimeoutError:
            return f"the log is away: {LEDGER.name}:{partition} has not answered for {time.monotonic() - began:.0f} s"
        except LogError as error:
            return f"the log is away: {error}"
        return None
