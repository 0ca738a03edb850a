"""Deadlines of requests: a request that waits for the log ends soon after the log has fallen silent.

The edge gives every request a deadline. It runs only while the log is silent, and is suspended while the request waits
for something else, such as an embedder or a pause. Code deep inside a request receives `suspend_deadline` from the
composition root and needs no knowledge of requests.
"""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

from schemas.log import LogUnavailable

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager, AbstractContextManager
    from contextvars import Token
    from types import TracebackType

SILENT_SECONDS: Final = 3.0
"""How long a request may wait for a silent log."""


class _Deadline:
    """The time-out of one request: it runs while the log is silent and nothing suspends it."""

    def __init__(self, seconds: float) -> None:
        self.timeout = asyncio.timeout(None)
        self._seconds = seconds
        self._suspensions = 0
        self._log_is_silent = False
        self._waits_since = asyncio.get_running_loop().time()

    def update(self, *, log_is_silent: bool) -> None:
        """Reschedule the end of the request, unless it is already ending."""
        self._log_is_silent = log_is_silent
        runs = log_is_silent and not self._suspensions
        if (runs or self.timeout.when() is not None) and not self.timeout.expired():
            self.timeout.reschedule(self._waits_since + self._seconds if runs else None)

    def suspend(self) -> None:
        """Stop the deadline until `resume`. Suspensions may overlap."""
        self._suspensions += 1
        self.update(log_is_silent=self._log_is_silent)

    def resume(self) -> None:
        """End a suspension; after the last one the deadline starts again from now."""
        self._suspensions -= 1
        self._waits_since = asyncio.get_running_loop().time()
        self.update(log_is_silent=self._log_is_silent)


_CURRENT: ContextVar[_Deadline | None] = ContextVar("deadline of the request", default=None)


class _Suspension:
    """A context in which a request's deadline does not run. It is a class, because a generator takes twice as long."""

    def __enter__(self) -> None:
        self._deadline = _CURRENT.get()
        if self._deadline is not None:
            self._deadline.suspend()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._deadline is not None:
            self._deadline.resume()


def suspend_deadline() -> AbstractContextManager[None]:
    """Suspend the deadline of the current request, if any, while it waits for something other than the log."""
    return _Suspension()


class RequestDeadlines:
    """The deadlines of all requests in progress."""

    def __init__(self, seconds: float = SILENT_SECONDS) -> None:
        self._seconds = seconds
        self._silence: str | None = None
        """The reason why the log counts as silent, None while it answers."""
        self._running: set[_Deadline] = set()

    @property
    def running(self) -> int:
        """The number of requests that have a deadline now."""
        return len(self._running)

    def set_silence(self, reason: str | None) -> None:
        """Start the deadlines of all requests because the log is silent, or stop them if `reason` is None."""
        self._silence = reason
        for deadline in self._running:
            deadline.update(log_is_silent=reason is not None)

    def enforced(self) -> AbstractAsyncContextManager[None]:
        """Return a context whose body has a deadline. It raises LogUnavailable when the deadline is over."""
        return _Enforced(self)

    def begin(self) -> _Deadline:
        """Return a new deadline, which follows the silence of the log until `end`."""
        deadline = _Deadline(self._seconds)
        self._running.add(deadline)
        return deadline

    def tell(self, deadline: _Deadline) -> None:
        """Update a deadline with the current silence of the log."""
        deadline.update(log_is_silent=self._silence is not None)

    def end(self, deadline: _Deadline) -> None:
        """Stop updating a deadline."""
        self._running.discard(deadline)

    @property
    def reason(self) -> str:
        """The message of the error when a deadline is over."""
        return f"{self._silence or 'the log did not answer'}: try again"


class _Enforced:
    """A context whose body has a deadline."""

    _deadline: _Deadline
    _token: Token[_Deadline | None]

    def __init__(self, deadlines: RequestDeadlines) -> None:
        self._deadlines = deadlines

    async def __aenter__(self) -> None:
        self._deadline = self._deadlines.begin()
        self._token = _CURRENT.set(self._deadline)
        await self._deadline.timeout.__aenter__()
        self._deadlines.tell(self._deadline)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        timeout, is_over = self._deadline.timeout, isinstance(error, TimeoutError)
        try:
            await timeout.__aexit__(kind, error, trace)
        except TimeoutError:
            is_over = True
        finally:
            _CURRENT.reset(self._token)
            self._deadlines.end(self._deadline)
        if is_over and timeout.expired():
            raise LogUnavailable(self._deadlines.reason) from None
