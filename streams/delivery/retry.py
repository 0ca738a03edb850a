"""Retry: repeat an action with growing pauses until the log or the shard is available again."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final, TypeVar

from projections.shard.errors import ShardUnavailable
from schemas.log import LogUnavailable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from projections.partitions.shards import Shards
    from schemas.log import Appended, Log, NewRecord, Record

log = logging.getLogger("mnemolog.shard")
FIRST_PAUSE_SECONDS: Final = 0.1
LONGEST_PAUSE_SECONDS: Final = 30.0
Result = TypeVar("Result")


def pauses() -> Callable[[], float]:
    """Return a function that returns the next pause in seconds: 0.1, then twice the previous one, at most 30."""
    length = FIRST_PAUSE_SECONDS / 2

    def next_pause() -> float:
        nonlocal length
        length = min(LONGEST_PAUSE_SECONDS, length * 2)
        return length

    return next_pause


async def retry(
    action: Callable[[], Awaitable[Result]],
    waits_for: type[Exception],
    on_retry: Callable[[Exception], None] = lambda _: None,
) -> Result:
    """Repeat the action while it raises `waits_for`, and return its result; other errors go to the caller."""
    pause: Callable[[], float] | None = None
    while True:
        try:
            return await action()  # it nearly always succeeds, so nothing is prepared for failures
        except waits_for as error:
            on_retry(error)
            pause = pause or pauses()
            await asyncio.sleep(pause())


async def append_with_retry(log: Log, records: Sequence[NewRecord]) -> list[Appended]:
    """Append, waiting while the log is down. The records may end up in it twice: folds count them once."""
    return await retry(lambda: log.append(records), LogUnavailable)


async def fold_with_retry(
    action: Callable[[], Awaitable[None]], hindered: Callable[[Exception], None] = lambda _: None
) -> None:
    """Fold, waiting while the shard's file cannot be written; `hindered` is called with each failure."""

    def warn(error: Exception) -> None:
        log.warning("waiting: %s", error)
        hindered(error)

    await retry(action, ShardUnavailable, warn)


async def catch_up(shards: Shards, topic: str, partition: int, end: int) -> None:
    """Fold a topic's partition up to the offset `end`, waiting for the shard's file if needed. Raises NotHeld."""
    if not shards.has_folded(topic, partition, end):
        await fold_with_retry(lambda: shards.up_to(topic, partition, end))


class RetryingReads:
    """A log whose reads wait while it is down. Appends raise LogUnavailable, for the caller to repeat or to report."""

    def __init__(self, log: Log) -> None:
        self._log = log

    async def append(self, records: Sequence[NewRecord]) -> list[Appended]:
        """See `Log.append`."""
        return await self._log.append(records)

    async def read(self, topic: str, partition: int, start: int, limit: int = 1000) -> list[Record]:
        """See `Log.read`."""
        return await retry(lambda: self._log.read(topic, partition, start, limit), LogUnavailable)

    async def end(self, topic: str, partition: int) -> int:
        """See `Log.end`."""
        return await retry(lambda: self._log.end(topic, partition), LogUnavailable)

    async def earliest(self, topic: str, partition: int) -> int:
        """See `Log.earliest`."""
        return await retry(lambda: self._log.earliest(topic, partition), LogUnavailable)

    async def partitions(self, topic: str) -> int:
        """See `Log.partitions`."""
        return await retry(lambda: self._log.partitions(topic), LogUnavailable)
