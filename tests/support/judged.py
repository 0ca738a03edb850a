"""The facts about a memory that a ranking uses besides its scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from datetime import datetime


class Judged(NamedTuple):
    """A memory's importance, and the time when it happened."""

    importance: float
    occurred_at: datetime
