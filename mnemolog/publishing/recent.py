"""What this worker has appended to the input topics and its shards have not folded yet.

An event must be checked against everything that the log holds, and folding it takes longer than accepting it. What a
worker appended itself it knows without folding, so a request need not wait for the fold of the one before.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

from schemas.topics import INPUTS

if TYPE_CHECKING:
    from schemas.identity import Owner
    from schemas.log import Position

    Name: TypeAlias = tuple[Owner, str]
    Known: TypeAlias = tuple[bytes, Position]

MOST_EVENTS: Final = 4_000
"""Of one topic's partition; then a request waits for the fold."""


@dataclass(slots=True)
class _Run:
    """Records without a gap between them: those with offset >= `start` and < `end`."""

    start: int
    end: int
    events: dict[Name, Known] = field(default_factory=dict)


class Unfolded:
    """For each partition of an input topic, the last run of records that were all appended here."""

    def __init__(self) -> None:
        self._runs: dict[tuple[str, int], _Run] = {}

    def add(self, name: Name, digest: bytes, position: Position) -> None:
        """Take in an event that the log has acknowledged; in the order of their offsets."""
        place = (position.topic, position.partition)
        run = self._runs.get(place)
        if run is None or run.end != position.offset:  # somebody else's record stands between
            run = self._runs[place] = _Run(position.offset, position.offset)
        run.end += 1
        run.events[name] = (digest, position)

    def bridges(self, topic: str, partition: int, folded: int, end: int) -> bool:
        """Tell whether everything from `folded` to `end` is known here; if not, or if that is nothing, forget the run.

        What was not appended here may be the first record of an event that is known here: only the fold can tell.
        """
        run = self._runs.get((topic, partition))
        if (
            folded < end
            and run is not None
            and run.start <= folded
            and run.end == end
            and len(run.events) < MOST_EVENTS
        ):
            return True
        self._runs.pop((topic, partition), None)
        return folded >= end

    def get(self, partition: int, name: Name) -> Known | None:
        """Return digest and position of an event of the partition's runs."""
        for topic in INPUTS:
            run = self._runs.get((topic.name, partition))
            if run is not None and name in run.events:
                return run.events[name]
        return None
