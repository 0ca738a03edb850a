"""The memory that was freed and that malloc keeps for later: after a start it is more than will be needed again."""

from __future__ import annotations

import ctypes
from contextlib import suppress


def release_free_memory() -> None:
    """Give it back to the system, which takes some milliseconds. Of libraries of C only glibc's can."""
    with suppress(AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
