"""The spacing of questions: those of windows that close at the same moment leave one after the other."""

from __future__ import annotations

import asyncio
from typing import Final

WORK_SECONDS: Final = 0.006
"""A worker works about so long for a turn that a model extracts."""
SHARE: Final = 1 / 64
"""Of the time that the model took last: a quick one is asked at once, and no slots of a usual number are left idle."""


class Spacing:
    """Questions to a slow model leave so far apart that the worker has done with one answer when the next one comes.

    Users who wait for the answers would otherwise stay in step: all ask together, all are answered together, and each
    waits for the work on all of them.
    """

    def __init__(self) -> None:
        self._next = 0.0
        self._between = 0.0

    async def wait(self) -> None:
        """Return when the next question may leave."""
        now = asyncio.get_running_loop().time()
        at = max(now, self._next)
        self._next = at + self._between
        if at > now:
            await asyncio.sleep(at - now)

    def answered(self, took: float) -> None:
        """Learn how many seconds the model took for an answer."""
        self._between = min(WORK_SECONDS, SHARE * took)
