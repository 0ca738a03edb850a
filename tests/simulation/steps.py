"""What a publisher does: steps with pauses, and the days that they fall on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from schemas.log import NewRecord


@dataclass(frozen=True, slots=True)
class Step:
    """Something that a publisher appends, after a pause in virtual seconds."""

    pause: float
    record: NewRecord
    again: bool = False
    """It is published once more, some time later."""


@dataclass(slots=True)
class Phase:
    """What happens on one day: each list is done in order, the lists of `said` and of `asked` side by side."""

    at: datetime
    said: list[list[Step]] = field(default_factory=list)
    asked: list[list[Step]] = field(default_factory=list)
    tick: datetime | None = None
    """A tick that an operator asks for, when everything else of the day is done."""
