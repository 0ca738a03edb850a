"""Waits for something while agents run that may fail meanwhile."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Any


async def unless_failed(failure: asyncio.Future[None], awaited: Coroutine[Any, Any, None]) -> None:
    """Wait for something to end, but no longer than until the failure. Raises what either raises."""
    waiting = asyncio.ensure_future(awaited)
    await asyncio.wait({waiting, failure}, return_when=asyncio.FIRST_COMPLETED)
    if failure.done():
        waiting.cancel()
        failure.result()
    waiting.result()
