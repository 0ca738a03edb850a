"""Watches whether the log answers, so that no request waits for one that does not."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from itertools import chain
from typing import TYPE_CHECKING, Final

from schemas.log import LogError, LogUnavailable
from schemas.topics import LEDGER

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from projections.partitions.shards import Shards
    from schemas.log import Log

log = logging.getLogger("mnemolog")
LOOK_EVERY_SECONDS: Final = 1.0
ANSWER_SECONDS: Final = 3.0
"""A partition that says nothing for so long is silent, and a request waits for it no longer."""
ASKED_AT_ONCE: Final = 16
"""Partitions asked in one look; with more they take turns."""


class _Waiting:
    """A request that waits, for the log as far as anybody knows, unless it is at leisure."""

    def __init__(self) -> None:
        self.limit = asyncio.timeout(None)
        self.leisure = 0
        self.silent = False
        self.began = asyncio.get_running_loop().time()

    def heed(self, *, silent: bool) -> None:
        """Set when it ends, unless it is ending already."""
        self.silent = silent
        if not self.limit.expired():
            self.limit.reschedule(self.began + ANSWER_SECONDS if silent and not self.leisure else None)


_REQUEST: ContextVar[_Waiting | None] = ContextVar("request that waits", default=None)


@contextmanager
def at_leisure() -> Iterator[None]:
    """Let the request go on within this for as long as it takes: it waits for something else than the log."""
    waiting = _REQUEST.get()
    if waiting is None:
        yield
        return
    waiting.leisure += 1
    waiting.heed(silent=waiting.silent)
    try:
        yield
    finally:
        waiting.leisure -= 1
        waiting.began = asyncio.get_running_loop().time()
        waiting.heed(silent=waiting.silent)


class LogWatch:
    """Asks the partitions held here for their ends, again and again.

    A request is answered with 503 at the latest ANSWER_SECONDS + LOOK_EVERY_SECONDS after the log has fallen silent,
    or ANSWER_SECONDS after it was sent. One that does not need a silent partition is answered as ever: it is done
    before, or what takes longer in it is `at_leisure`.
    """

    def __init__(self) -> None:
        self.away: str | None = None
        """Why the log counts as away: no partition asked has answered."""
        self._silent: str | None = None
        """Why some partition counts as silent."""
        self._waiting: set[_Waiting] = set()
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
        for waiting in self._waiting:
            waiting.heed(silent=self._silent is not None)

    @asynccontextmanager
    async def waited_for(self) -> AsyncIterator[None]:
        """Let a request wait within this. Raises LogUnavailable when that takes too long and the log is silent."""
        waiting = _Waiting()
        self._waiting.add(waiting)
        before = _REQUEST.set(waiting)
        try:
            async with waiting.limit:
                waiting.heed(silent=self._silent is not None)
                yield
        except TimeoutError:
            if not waiting.limit.expired():
                raise
            raise LogUnavailable(f"{self._silent or 'the log did not answer'}: try again") from None
        finally:
            _REQUEST.reset(before)
            self._waiting.discard(waiting)


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
