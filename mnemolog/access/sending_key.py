"""The id of the current request's API key, which the envelopes of its events and commands carry.

It travels with the request as its deadline does, and not through every signature in between: only whoever makes an
envelope for a caller asks for it. What no request asked for (ticks, recalls, the settings' wake) has no sender.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_KEY_ID: Final[ContextVar[str | None]] = ContextVar("id of the key that the request was sent with", default=None)


def sending_key() -> str | None:
    """Return the id of the current request's key; None without keys, and outside of requests."""
    return _KEY_ID.get()


@contextmanager
def sent_with(key_id: str | None) -> Iterator[None]:
    """Set the key whose id envelopes carry inside the block."""
    token = _KEY_ID.set(key_id)
    try:
        yield
    finally:
        _KEY_ID.reset(token)
