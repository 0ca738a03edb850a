"""Work on many inputs in slices: between two of them everything else on the event loop has its turn."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

Input = TypeVar("Input")
SLICE_SECONDS: Final = 0.02
"""How long the work on them may keep the loop; one input takes as long as it takes."""


async def in_slices(inputs: Iterable[Input]) -> AsyncIterator[Input]:
    """Yield the inputs, and let others have the loop when they have waited for a slice."""
    until = time.perf_counter() + SLICE_SECONDS
    for each in inputs:
        if time.perf_counter() > until:
            await asyncio.sleep(0)
            until = time.perf_counter() + SLICE_SECONDS
        yield each
