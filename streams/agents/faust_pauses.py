"""Faust's pause before each record, which its compiled streams take from a place that it does not document.

`tests/unit/repository/test_public_ground.py` fails where it is no more there.
"""

from __future__ import annotations

import asyncio
import importlib
from contextlib import suppress
from contextvars import ContextVar

_takes_turns: ContextVar[bool] = ContextVar("takes_turns", default=False)
"""Whether this task gives the event loop away by itself: an agent of ours."""


async def _pause(seconds: float) -> None:
    if seconds or not _takes_turns.get():
        await asyncio.sleep(seconds)


def spare_pauses() -> None:
    """Have Faust's streams not pause for each record in tasks that take turns.

    Faust ends the loop's turn before each record. A turn with one record is so short that the loop looks idle: appends
    then go out, and shards commit, with a few records each.
    """
    with suppress(ImportError):  # without its extension Faust goes on as ever, and is slower
        importlib.import_module("faust._cython.streams").sleep = _pause  # type: ignore[attr-defined]


def take_turns() -> None:
    """Say that this task gives the event loop away by itself: its streams pause no more."""
    _takes_turns.set(True)
