"""The caller on whose behalf something is done.

Another worker is asked in its name, and what is published and commanded meanwhile names its key. It travels with the
request as the deadline does, and not through every signature in between. What no request asked for (ticks, recalls, the
settings' wake) is by nobody.
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
    """Return the principal of the request at hand; None: the worker does something of its own."""
    return _CALLER.get()


def callers_key() -> str | None:
    """Return the id of the key of the request at hand; None without keys, and outside of requests."""
    found = _CALLER.get()
    return None if found is None else found.key_id


class _InNameOf:
    """The part of a request that is done for a caller."""

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
    """Have what is done meanwhile be done for this caller."""
    return _InNameOf(principal)
