"""The spacing of questions: those of windows that close at the same moment are sent one after the other."""

from __future__ import annotations

import asyncio
from typing import Final

WORK_SECONDS: Final = 0.006
"""The approximate work of a worker for each turn that a model extracts."""
SHARE: Final = 1 / 64
"""The greatest share of the model's last time: questions to a quick model do not wait, and slots do not stay idle."""


class Spacing:
    """The interval between questions to a slow model, so that the worker finishes one answer before the next arrives.

    Otherwise, users who wait for the answers would stay in step: all ask together, all are answered together, and each
    waits for the work on all of them.
    """

    def __init__(self) -> None:
        self._next = 0.0
        self._between = 0.0

    async def wait(self) -> None:
        """Wait until the next question may be sent."""
        now = asyncio.get_running_loop().time()
        at = max(now, self._next)
        self._next = at + self._between
        if at > now:
            await asyncio.sleep(at - now)

    def answered(self, took: float) -> None:
        """Learn from the seconds that the model took for an answer."""
        self._between = min(WORK_SECONDS, SHARE * took)
