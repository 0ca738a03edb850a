"""The caller of the current request: other workers are asked on behalf of that principal."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from mnemolog.access.principal import Principal

CALLER: Final[ContextVar[Principal | None]] = ContextVar("mnemolog.caller", default=None)
"""The principal of the current request; None where the worker acts on its own behalf."""
