"""Waiting out what is down: the same action again, with growing pauses, until it succeeds."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, TypeVar

from schemas.log import LogUnavailable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from schemas.log import Appended, Log, NewRecord

FIRST_PAUSE_SECONDS: Final = 0.1
LONGEST_PAUSE_SECONDS: Final = 30.0
Result = TypeVar("Result")


def pauses() -> Callable[[], float]:
    """Return a function that gives the next pause in seconds: 0.1, doubled each time, at most 30."""
    length = FIRST_PAUSE_SECONDS / 2

    def following() -> float:
        nonlocal length
        length = min(LONGEST_PAUSE_SECONDS, length * 2)
        return length

    return following


async def patiently(
    action: Callable[[], Awaitable[Result]],
    waits_for: type[Exception],
    on_retry: Callable[[Exception], None] = lambda _: None,
) -> Result:
    """Return what the action returns, as often as it takes; other errors than `waits_for` are the caller's."""
    pause = pauses()
    while True:
        try:
            return await action()
        except waits_for as error:
            on_retry(error)
            await asyncio.sleep(pause())


async def append_patiently(log: Log, records: Sequence[NewRecord]) -> list[Appended]:
    """Append when the log is there again. A record may then be in it twice: folds count it once."""
    return await patiently(lambda: log.append(records), LogUnavailable)
