"""Who waits for the log to grow: woken from the writer's thread, each in its own event loop."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class LogWaiters:
    """Lets any number of tasks wait for a condition that can only become true when something was committed."""

    def __init__(self) -> None:
        """Start with nobody waiting."""
        self._waiting: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = set()

    async def wait_until(self, condition: Callable[[], bool], timeout: float | None) -> bool:  # noqa: ASYNC109
        """Wait until the condition holds; False when `timeout` seconds passed before it did."""
        waiter = (asyncio.get_running_loop(), asyncio.Event())
        event = waiter[1]
        self._waiting.add(waiter)
        try:
            async with asyncio.timeout(timeout):
                while not condition():
                    await event.wait()
                    event.clear()
        except TimeoutError:
            return False
        finally:
            self._waiting.discard(waiter)
        return True

    def wake(self) -> None:
        """Let everybody look again; from any thread."""
        for loop, event in tuple(self._waiting):
            with suppress(RuntimeError):  # the loop is closed: nobody waits in it any more
                loop.call_soon_threadsafe(event.set)
