"""The records that are not fetched yet: where they begin in each partition, and a signal when the log has new ones."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from schemas.log import Record
    from streams.transports.sqlite.growth import Place
    from streams.transports.sqlite.log import SqliteLog

RECORDS_OF_A_READ = 32  # after which the size of the fetch is checked: 500 pictures would be 350 MB
ENOUGH_BYTES = 4 * 1024 * 1024  # the size at which a fetch from one partition ends
SETTLED_SECONDS = 0.25
"""How long settled records wait, to be passed over together: no agent needs them."""


class UnreadRecords:
    """The log's records from a position in each partition on. Taking some moves the position past them."""

    def __init__(self, grew: Callable[[], None], at_once: int) -> None:
        """`grew` is called when there may be more to take; `at_once` bounds the records of a partition in one take."""
        self._grew = grew
        self._at_once = at_once
        self._log: SqliteLog
        self._positions: dict[Place, int] = {}
        self._grown: set[Place] = set()
        """The partitions that may have records to take, because a position was set there or the log has grown."""
        self._unfollow: Callable[[], None] | None = None
        self._later: asyncio.TimerHandle | None = None
        """The timer after which settled records are taken."""

    def follow(self, log: SqliteLog) -> None:
        """Follow the growth of the log from now on. Repeating it changes nothing."""
        if self._unfollow is None:
            self._log = log
            self._unfollow = log.growth.follow(self._note)

    def close(self) -> None:
        """Stop following the log."""
        if self._later is not None:
            self._later.cancel()
        if self._unfollow is not None:
            self._unfollow()
            self._unfollow = None

    def _note(self, places: Collection[Place], is_settled: bool) -> None:  # noqa: FBT001 - see `Told`
        self._grown.update(places)
        if not is_settled:
            self._wake()
        elif self._later is None:
            self._later = asyncio.get_running_loop().call_later(SETTLED_SECONDS, self._wake)

    def _wake(self) -> None:
        if self._later is not None:
            self._later.cancel()
            self._later = None
        self._grew()

    def clear(self) -> None:
        """Forget all positions."""
        self._positions = {}

    def go_to(self, place: Place, offset: int) -> None:
        """Take a partition's records from an offset on."""
        self._positions[place] = offset
        self._grown.add(place)

    def position(self, place: Place) -> int | None:
        """Return the next offset to take; None if no position was set."""
        return self._positions.get(place)

    def places(self) -> list[Place]:
        """Return the partitions with records to take; one without any is not looked at again until it grows."""
        for place in tuple(self._grown):
            position = self._positions.get(place)
            if position is None or position >= self._log.end_now(*place):
                self._grown.discard(place)
        return list(self._grown)

    async def take(self, place: Place) -> list[Record]:
        """Return a partition's next records, and move its position past them."""
        position = self._positions.get(place)
        if position is None:  # a rebalance came meanwhile
            return []
        records: list[Record] = []
        size = requested = 0
        while len(records) == requested < self._at_once and size < ENOUGH_BYTES:
            limit = min(RECORDS_OF_A_READ, self._at_once - requested)
            read = await self._log.read(*place, position, limit)
            requested += limit
            records += read
            size += sum(len(record.value) for record in read)
            position = read[-1].position.offset + 1 if read else position
        self._positions[place] = position
        return records
