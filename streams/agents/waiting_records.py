"""Records of partitions that are not ready: they wait beside an agent's stream, so that no other partition waits."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from typing import TYPE_CHECKING, Final

from schemas.topics import GLOBALS
from streams.delivery.priority import LONGEST_TURN_SECONDS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from schemas.log import Position
    from streams.delivery.delivery import Delivery

MOST: Final = 1_000
"""Of one partition, for they are held in memory. Where there are more of one, all partitions wait."""


class WaitingRecords:
    """An agent's records of partitions that are not ready yet, handled in order when they are.

    A shard may be folded for minutes, or wait until an operator has mended its disk.
    """

    def __init__(
        self,
        is_ready: Callable[[int], bool],
        handle: Callable[[Delivery], Awaitable[bool]],
        give_way: Callable[[], Awaitable[None]],
    ) -> None:
        """`handle` waits until the record's partition is ready, and returns whether others may be handled.

        `give_way` is awaited before each turn.
        """
        self._is_ready = is_ready
        self._handle = handle
        self._give_way = give_way
        self._queues: dict[int, deque[Delivery]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._room = asyncio.Event()

    def concern(self, place: Position) -> bool:
        """Return whether a record is to wait here: its partition is not ready, or others of it wait before it."""
        if place.topic == GLOBALS.name:
            return False
        return place.partition in self._queues or not self._is_ready(place.partition)

    async def add(self, delivery: Delivery) -> None:
        """Have a record wait; returns when there is room for it."""
        partition = delivery.record.position.partition
        while len(self._queues.get(partition, ())) >= MOST:
            self._room.clear()
            await self._room.wait()
        if partition not in self._queues:
            self._queues[partition] = deque()
            task = asyncio.create_task(self._work_off(partition))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        self._queues[partition].append(delivery)

    async def _work_off(self, partition: int) -> None:
        queue, turn = self._queues[partition], time.perf_counter()
        while queue:
            if time.perf_counter() - turn > LONGEST_TURN_SECONDS:
                await self._give_way()
                turn = time.perf_counter()
            delivery = queue.popleft()
            self._room.set()
            # One that is not current is delivered again, after those before it.
            if delivery.is_current() and not await self._handle(delivery):
                return
        del self._queues[partition]

    def drop(self) -> None:
        """Handle nothing more: what waits is not acknowledged, and is delivered again."""
        for task in self._tasks:
            task.cancel()
