"""The caller on whose behalf something is done.

Another worker is asked in its name, and what is published and commanded meanwhile names its key. It travels with the
request as the deadline does, and not through every signature in between. What no request asked for (ticks, recalls, the
settings' wake) is by nobody.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mnemolog.access.principal import Principal

_CALLER: Final[ContextVar[Principal | None]] = ContextVar("mnemolog.caller", default=None)


def caller() -> Principal | None:
    """Return the principal of the request at hand; None: the worker does something of its own."""
    return _CALLER.get()


def callers_key() -> str | None:
    """Return the id of the key of the request at hand; None without keys, and outside of requests."""
    found = _CALLER.get()
    return None if found is None else found.key_id


@contextmanager
def in_name_of(principal: Principal | None) -> Iterator[None]:
    """Have what is done meanwhile be done for this caller."""
    token = _CALLER.set(principal)
    try:
        yield
    finally:
        _CALLER.reset(token)
