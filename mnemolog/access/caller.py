"""The caller on whose behalf something is done: what another worker is asked for a request is asked in its name."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from mnemolog.access.principal import Principal

CALLER: Final[ContextVar[Principal | None]] = ContextVar("mnemolog.caller", default=None)
"""The principal of the request that is answered now; None: the worker does something of its own."""
