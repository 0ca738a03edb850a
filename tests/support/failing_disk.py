"""A disk that is full: for a while, writes of this process to any file fail."""

from __future__ import annotations

import resource
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def failing_disk() -> Iterator[None]:
    """Make all writes of this process to files fail inside the block, so that SQLite reports a disk error."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
