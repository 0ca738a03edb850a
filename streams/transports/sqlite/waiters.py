"""Tasks that wait for the log to grow, woken from the writer's thread, each in its own event loop."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class LogWaiters:
    """Lets tasks wait for a condition that can become true only with a commit."""

    def __init__(self) -> None:
        """Start without waiting tasks."""
        self._waiting: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = set()

    async def wait_until(self, condition: Callable[[], bool], timeout: float | None) -> bool:  # noqa: ASYNC109
        """Wait until the condition holds; return False after `timeout` seconds without it."""
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
        """Let all waiting tasks check their condition; callable from any thread."""
        for loop, event in tuple(self._waiting):
            with suppress(RuntimeError):  # the loop is closed, and its tasks with it
                loop.call_soon_threadsafe(event.set)
