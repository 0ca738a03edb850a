"""Events that this worker has appended to the input topics and that its shards have not folded yet.

An event must be compared with everything that the log holds, and folding takes longer than appending. A worker knows
without folding what it appended itself, so a request need not wait for the fold of the one before.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

from schemas.topics import INPUTS

if TYPE_CHECKING:
    from schemas.identity import Owner
    from schemas.log import Position

    EventName: TypeAlias = tuple[Owner, str]
    """An owner and the id of an event."""
    Appended: TypeAlias = tuple[bytes, Position]
    """Digest and position."""

MOST_EVENTS: Final = 4_000
"""Kept of one topic's partition; a request that comes then waits for the fold."""


@dataclass(slots=True)
class _Run:
    """Consecutive records: those with offset >= `start` and < `end`."""

    start: int
    end: int
    events: dict[EventName, Appended] = field(default_factory=dict)
    owners: set[Owner] = field(default_factory=set)


class Unfolded:
    """For each partition of an input topic, the last run of records that were all appended here."""

    def __init__(self) -> None:
        self._runs: dict[tuple[str, int], _Run] = {}

    def add(self, name: EventName, digest: bytes, position: Position) -> None:
        """Add an event that the log has acknowledged; events come in the order of their offsets."""
        key = (position.topic, position.partition)
        run = self._runs.get(key)
        if run is None or run.end != position.offset:  # another producer's record is between
            run = self._runs[key] = _Run(position.offset, position.offset)
        run.end += 1
        run.events[name] = (digest, position)
        run.owners.add(name[0])

    def holds(self, partition: int, owner: Owner) -> bool:
        """Return whether a run of the partition has events of an owner."""
        runs = (self._runs.get((topic.name, partition)) for topic in INPUTS)
        return any(run is not None and owner in run.owners for run in runs)

    def bridges(self, topic: str, partition: int, folded: int, end: int) -> bool:
        """Return whether nothing from `folded` to `end` has to be folded, because all of it was appended here.

        If it was not, or if there is nothing to fold, the run is forgotten: what another producer appended may be the
        first record of an event that was appended here too, and only the fold can tell.
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

    def get(self, partition: int, name: EventName) -> Appended | None:
        """Return digest and position of an event that is in a run of the partition."""
        for topic in INPUTS:
            run = self._runs.get((topic.name, partition))
            if run is not None and name in run.events:
                return run.events[name]
        return None
