"""Garbage: the objects that a block leaves to Python's collector, which rarely looks at old objects in a worker."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def garbage() -> Iterator[list[object]]:
    """Yield a list, which after the block contains the unreachable objects that only the collector finds."""
    found: list[object] = []
    gc.collect()
    gc.disable()
    try:
        yield found
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        found += gc.garbage
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
