"""The moment that a log is restored to: its end, a time of the log, or a decision."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from schemas.log import LogError, Position
from schemas.topics import GLOBALS, KEYS, LEDGER, REPLACEMENTS

if TYPE_CHECKING:
    from schemas.log import Record

ALWAYS: Final = frozenset({KEYS.name, REPLACEMENTS.name})
"""Topics that are restored in full, because only current keys reflect later erasures and rotations."""
_DECISIONS: Final = (LEDGER.name, GLOBALS.name)


class NoMoment(LogError):
    """A text names no moment; it says what does."""


@dataclass(frozen=True, slots=True)
class Moment:
    """Everything up to a time of the log, and in one partition up to a position; None stands for everything."""

    at: datetime | None = None
    position: Position | None = None

    @property
    def is_end(self) -> bool:
        """Whether everything is restored."""
        return self.at is None

    def has(self, record: Record) -> bool:
        """Return whether a record existed at this moment."""
        place = record.position
        if self.at is None or place.topic in ALWAYS:
            return True
        own = self.position
        if own is not None and (place.topic, place.partition) == (own.topic, own.partition):
            return place.offset <= own.offset
        return record.recorded_at <= self.at


def moment_of(text: str | None) -> Moment | Position:
    """Return the moment, or the decision, that a text names; without a text, the end. Raises NoMoment."""
    if text is None:
        return Moment()
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        pass
    else:
        if at.tzinfo is None:
            whole = at.isoformat()
            raise NoMoment(f"--to {text}: the time has no offset: write {whole}Z for UTC, or {whole}+08:00")
        return Moment(at.astimezone(UTC))
    try:
        position = Position.of(text)
    except ValueError:
        raise NoMoment(
            f"--to {text}: neither a time, such as 2026-02-10T08:00:00Z, nor a position, such as {LEDGER.name}:0:41"
        ) from None
    if position.topic not in _DECISIONS:
        raise NoMoment(f"--to {text}: give the position of a decision, in {' or '.join(_DECISIONS)}, or a time")
    return position
