"""Watches whether the log answers, so that no request waits for one that does not."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import asynccontextmanager
from itertools import chain
from typing import TYPE_CHECKING, Final

from schemas.log import LogError, LogUnavailable
from schemas.topics import LEDGER

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from projections.shards import Shards
    from schemas.log import Log

log = logging.getLogger("mnemolog")
LOOK_EVERY_SECONDS: Final = 1.0
ANSWER_SECONDS: Final = 3.0
"""A partition that says nothing for so long is silent, and a request waits for it no longer."""
ASKED_AT_ONCE: Final = 16
"""Partitions asked in one look; with more they take turns."""


class LogWatch:
    """Asks the partitions held here for their ends, again and again.

    A request is answered with 503 at the latest ANSWER_SECONDS + LOOK_EVERY_SECONDS after the log has fallen silent,
    or ANSWER_SECONDS after it was sent. One that does not need a silent partition is answered as ever.
    """

    def __init__(self) -> None:
        self.away: str | None = None
        """Why the log counts as away: no partition asked has answered."""
        self._silent: str | None = None
        """Why some partition counts as silent."""
        self._waiting: dict[asyncio.Timeout, float] = {}
        self._turn = 0

    async def run(self, watched: Log, shards: Shards) -> None:
        """Look for ever."""
        while True:
            await self.look(watched, shards.held() or [0])
            await asyncio.sleep(LOOK_EVERY_SECONDS)

    async def look(self, watched: Log, partitions: list[int]) -> None:
        """Ask some partitions, and end what waits for longer than it should where one is silent."""
        turn = self._turn % len(partitions)
        asked = list(chain(partitions[turn:], partitions[:turn]))[:ASKED_AT_ONCE]
        self._turn += len(asked)
        found = await asyncio.gather(*(_trouble(watched, partition) for partition in asked))
        silent = [trouble for trouble in found if trouble is not None]
        self._silent = silent[0] if silent else None
        before, self.away = self.away, self._silent if len(silent) == len(asked) else None
        if (self.away is None) != (before is None):
            log.warning("%s", self.away or "the log answers again")
        for limit, began in self._waiting.items():
            limit.reschedule(began + ANSWER_SECONDS if self._silent else None)

    @asynccontextmanager
    async def waited_for(self) -> AsyncIterator[None]:
        """Let a request wait within this. Raises LogUnavailable when that takes too long and the log is silent."""
        began = asyncio.get_running_loop().time()
        limit = asyncio.timeout(ANSWER_SECONDS if self._silent else None)
        self._waiting[limit] = began
        try:
            async with limit:
                yield
        except TimeoutError:
            if not limit.expired():
                raise
            raise LogUnavailable(f"{self._silent or 'the log did not answer'}: try again") from None
        finally:
            del self._waiting[limit]


async def _trouble(watched: Log, partition: int) -> str | None:
    began = time.monotonic()
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            await watched.end(LEDGER.name, partition)
    except TimeoutError:
        return f"the log is away: {LEDGER.name}:{partition} has not answered for {time.monotonic() - began:.0f} s"
    except LogError as error:
        return f"the log is away: {error}"
    return None
