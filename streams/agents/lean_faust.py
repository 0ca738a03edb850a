"""Faust without aiohttp, which it would load for a web server and a client that nothing here asks for: 6 MB.

What needs aiohttp imports it itself, before this or after it.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import contextmanager
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


class NoClient:
    """The class of a client that is never made."""


@contextmanager
def _stand_in() -> Iterator[None]:
    """Have the name of aiohttp's client, which Faust wants for an annotation, without aiohttp."""
    if "aiohttp" in sys.modules:
        yield
        return
    client: Any = ModuleType("aiohttp.client")
    client.ClientSession = NoClient
    sys.modules |= {"aiohttp": client, "aiohttp.client": client}
    try:
        yield
    finally:
        del sys.modules["aiohttp"], sys.modules["aiohttp.client"]


with _stand_in():
    import faust
    from faust.tables.manager import TableManager
    from faust.types import TP


class NoTables(TableManager):
    """Faust's tables, of which there are none: a worker that starts waits no second for some to be added."""

    async def sleep(self, n: object) -> None:  # noqa: ARG002 - the second
        """Give way once."""
        await asyncio.sleep(0)


__all__ = ["TP", "NoClient", "NoTables", "faust"]
