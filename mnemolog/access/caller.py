"""The caller on whose behalf the current code runs.

Requests to other workers carry the caller, and the events and commands of its request name its key. A context variable
carries it through the request, like the deadline, so that no signature in between needs it. Work that no request
started (ticks, recalls, the wake of the settings) has no caller.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from contextvars import Token
    from types import TracebackType

    from mnemolog.access.principal import Principal

_CALLER: Final[ContextVar[Principal | None]] = ContextVar("mnemolog.caller", default=None)


def caller() -> Principal | None:
    """Return the principal of the current request; None for the worker's own work."""
    return _CALLER.get()


def callers_key() -> str | None:
    """Return the key id of the current request; None without keys, and outside of requests."""
    found = _CALLER.get()
    return None if found is None else found.key_id


class _InNameOf:
    """A context manager that sets the caller for its block."""

    _token: Token[Principal | None]

    def __init__(self, principal: Principal | None) -> None:
        self._principal = principal

    def __enter__(self) -> None:
        self._token = _CALLER.set(self._principal)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _CALLER.reset(self._token)


def in_name_of(principal: Principal | None) -> AbstractContextManager[None]:
    """Return a context manager that makes this principal the caller of its block."""
    return _InNameOf(principal)
