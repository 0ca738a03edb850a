"""Deadlines of requests: one that waits for the log is ended soon after the log has fallen silent.

The edge gives every request a deadline. It runs only while the log is silent, and is suspended while the request waits
for something else, such as an embedder or a pause. What is deep inside a request is handed `suspend_deadline` by the
composition root and knows nothing of requests.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

from schemas.log import LogUnavailable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

SILENT_SECONDS: Final = 3.0
"""How long a request may wait for a log that is silent."""


class _Deadline:
    """The time-out of one request: it runs while the log is silent and nothing suspends it."""

    def __init__(self, seconds: float) -> None:
        self.timeout = asyncio.timeout(None)
        self._seconds = seconds
        self._suspensions = 0
        self._log_is_silent = False
        self._waits_since = asyncio.get_running_loop().time()

    def update(self, *, log_is_silent: bool) -> None:
        """Set when the request ends, unless it is ending already."""
        self._log_is_silent = log_is_silent
        if not self.timeout.expired():
            runs = log_is_silent and not self._suspensions
            self.timeout.reschedule(self._waits_since + self._seconds if runs else None)

    def suspend(self) -> None:
        """Stop the deadline until `resume`; several may suspend it at the same time."""
        self._suspensions += 1
        self.update(log_is_silent=self._log_is_silent)

    def resume(self) -> None:
        """Let the deadline run again, from now on."""
        self._suspensions -= 1
        self._waits_since = asyncio.get_running_loop().time()
        self.update(log_is_silent=self._log_is_silent)


_CURRENT: ContextVar[_Deadline | None] = ContextVar("deadline of the request", default=None)


@contextmanager
def suspend_deadline() -> Iterator[None]:
    """Suspend the deadline of the request that this runs in, if it has one: it waits for something besides the log."""
    deadline = _CURRENT.get()
    if deadline is None:
        yield
        return
    deadline.suspend()
    try:
        yield
    finally:
        deadline.resume()


class RequestDeadlines:
    """The deadlines of all requests in progress."""

    def __init__(self, seconds: float = SILENT_SECONDS) -> None:
        self._seconds = seconds
        self._silence: str | None = None
        """Why the log counts as silent, None while it answers."""
        self._running: set[_Deadline] = set()

    @property
    def running(self) -> int:
        """How many requests have a deadline now."""
        return len(self._running)

    def set_silence(self, reason: str | None) -> None:
        """Take why the log is silent, None when it answers, and start or stop the deadlines of all requests."""
        self._silence = reason
        for deadline in self._running:
            deadline.update(log_is_silent=reason is not None)

    @asynccontextmanager
    async def enforced(self) -> AsyncIterator[None]:
        """Give what runs inside a deadline. Raises LogUnavailable when it is over."""
        deadline = _Deadline(self._seconds)
        self._running.add(deadline)
        token = _CURRENT.set(deadline)
        try:
            async with deadline.timeout:
                deadline.update(log_is_silent=self._silence is not None)
                yield
        except TimeoutError:
            if not deadline.timeout.expired():
                raise
            raise LogUnavailable(f"{self._silence or 'the log did not answer'}: try again") from None
        finally:
            _CURRENT.reset(token)
            self._running.discard(deadline)
