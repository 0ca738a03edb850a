"""Deadlines of requests: one that waits for the log is ended soon after the log has fallen silent.

The edge gives every request a deadline. It runs only while the log is silent, and is suspended while the request waits
for something else, such as an embedder or a pause. What is deep inside a request is handed `suspend_deadline` by the
composition root and knows nothing of requests.
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
        runs = log_is_silent and not self._suspensions
        if (runs or self.timeout.when() is not None) and not self.timeout.expired():
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


class _Suspension:
    """The part of a request in which its deadline does not run. Plain classes: a generator takes twice as long."""

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
    """Suspend the deadline of the request that this runs in, if it has one: it waits for something besides the log."""
    return _Suspension()


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

    def enforced(self) -> AbstractAsyncContextManager[None]:
        """Give what runs inside a deadline. Raises LogUnavailable when it is over."""
        return _Enforced(self)

    def begin(self) -> _Deadline:
        """Return a new deadline, which is told of the log's silence until its `end`."""
        deadline = _Deadline(self._seconds)
        self._running.add(deadline)
        return deadline

    def tell(self, deadline: _Deadline) -> None:
        """Tell a deadline whether the log is silent now."""
        deadline.update(log_is_silent=self._silence is not None)

    def end(self, deadline: _Deadline) -> None:
        """Tell a deadline nothing more."""
        self._running.discard(deadline)

    @property
    def reason(self) -> str:
        """Why a deadline is over."""
        return f"{self._silence or 'the log did not answer'}: try again"


class _Enforced:
    """The part of a request that has a deadline."""

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
