"""Work on many inputs in slices, between which other tasks on the event loop may run."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

Input = TypeVar("Input")
SLICE_SECONDS: Final = 0.02
"""How long the work may occupy the loop, except that one input is never interrupted."""


async def in_slices(inputs: Iterable[Input]) -> AsyncIterator[Input]:
    """Yield the inputs, and let other tasks run after each slice."""
    until = time.perf_counter() + SLICE_SECONDS
    for each in inputs:
        if time.perf_counter() > until:
            await asyncio.sleep(0)
            until = time.perf_counter() + SLICE_SECONDS
        yield each
