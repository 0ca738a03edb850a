"""Events that this worker has appended to the input topics and that its shards have not folded yet.

An event must be compared with the whole log, and folding takes longer than appending. A worker knows the events that it
appended itself without folding them, so a request need not wait until the events of the previous one are folded.
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
    """The digest and the position of an appended event."""

MOST_EVENTS: Final = 4_000
"""The events kept for one partition of a topic; a request beyond them waits for the fold."""


@dataclass(slots=True)
class _Run:
    """Consecutive records: those with offset >= `start` and < `end`."""

    start: int
    end: int
    events: dict[EventName, Appended] = field(default_factory=dict)
    owners: set[Owner] = field(default_factory=set)


class Unfolded:
    """The last run of records that were all appended here, for each partition of an input topic."""

    def __init__(self) -> None:
        self._runs: dict[tuple[str, int], _Run] = {}

    def add(self, name: EventName, digest: bytes, position: Position) -> None:
        """Add an event that the log has acknowledged. Call it in the order of the offsets."""
        key = (position.topic, position.partition)
        run = self._runs.get(key)
        if run is None or run.end != position.offset:  # there is a record of another producer in between
            run = self._runs[key] = _Run(position.offset, position.offset)
        run.end += 1
        run.events[name] = (digest, position)
        run.owners.add(name[0])

    def holds(self, partition: int, owner: Owner) -> bool:
        """Return whether a run of the partition contains events of an owner."""
        runs = (self._runs.get((topic.name, partition)) for topic in INPUTS)
        return any(run is not None and owner in run.owners for run in runs)

    def bridges(self, topic: str, partition: int, folded: int, end: int) -> bool:
        """Return whether no record from `folded` to `end` needs folding, because all of them were appended here.

        Otherwise, or if there is nothing to fold, the run is dropped: a record of another producer may be the first of
        an event that was appended here too, which only folding can show.
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
        """Return the digest and the position of an event in a run of the partition, or None."""
        for topic in INPUTS:
            run = self._runs.get((topic.name, partition))
            if run is not None and name in run.events:
                return run.events[name]
        return None
