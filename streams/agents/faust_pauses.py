"""Faust's pause before each record, which its compiled streams take from a place that it does not document.

`tests/unit/repository/test_public_ground.py` fails if it is no longer there.
"""

from __future__ import annotations

import asyncio
import importlib
from contextlib import suppress
from contextvars import ContextVar

_takes_turns: ContextVar[bool] = ContextVar("takes_turns", default=False)
"""Whether this task is an agent of ours, which yields to the event loop by itself."""


async def _pause(seconds: float) -> None:
    if seconds or not _takes_turns.get():
        await asyncio.sleep(seconds)


def spare_pauses() -> None:
    """Keep Faust's streams from pausing for each record in tasks that take turns.

    Faust yields to the event loop before each record. A turn with one record is so short that the loop looks idle:
    appends are then sent, and shards committed, with a few records each.
    """
    with suppress(ImportError):  # without its extension Faust goes on as ever, and is slower
        importlib.import_module("faust._cython.streams").sleep = _pause  # type: ignore[attr-defined]


def take_turns() -> None:
    """Mark this task as one that yields to the event loop by itself, so that its streams no longer pause."""
    _takes_turns.set(True)
