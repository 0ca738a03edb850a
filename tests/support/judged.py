"""What a ranking knows of a memory besides what was found, without the memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from datetime import datetime


class Judged(NamedTuple):
    """A memory's importance, and when it happened."""

    importance: float
    occurred_at: datetime
