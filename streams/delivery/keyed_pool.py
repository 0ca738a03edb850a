"""The keyed pool: it runs users' jobs concurrently, but those of one user one at a time in the order of arrival."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter, deque
from dataclasses import dataclass
from functools import partial
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from projections.partitions.assignment import NotHeld
from streams.delivery.fair_slots import FairSlots

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable, Sequence

log = logging.getLogger("mnemolog")
Job: TypeAlias = "Callable[[], Awaitable[None]]"
Item = TypeVar("Item")
MAX_QUEUED: Final = 2_000
"""The most queued jobs; at this number `submit` waits, and the log is not read further."""
MAX_SHARED: Final = 64
"""The most items that one job handles."""


def one_party(_key: Hashable) -> Hashable:
    """Return the same party for all keys."""
    return None


@dataclass(frozen=True, slots=True)
class _Shared:
    """An item for a job that handles all consecutive items in the queue at once."""

    work: Callable[[Sequence[Any]], Awaitable[None]]
    item: object


@dataclass(frozen=True, slots=True)
class Hold:
    """A key's turn, taken without running a job; `release` gives it back."""

    _queue: deque[Job | _Shared]
    _is_held: Callable[[], bool]
    release: Callable[[], None]

    @property
    def is_wanted(self) -> bool:
        """Whether a job of the key waits for the turn, or the turn was dropped, so that jobs may be running."""
        return bool(self._queue) or not self._is_held()


class KeyedPool:
    """Runs at most `slots` jobs at a time. A job takes a slot when it runs, not while it waits for jobs of its key.

    Jobs belong to a partition. `drop` cancels the jobs of a revoked one. A job that raises NotHeld ends the queue of
    its key: the log delivers those records again, in order. Jobs handle all other errors themselves; one that escapes
    is passed to `failure`, for the owner of the pool to decide.
    """

    def __init__(
        self,
        slots: int,
        failure: Callable[[BaseException], None],
        took: Callable[[float], None] = lambda _seconds: None,
        party: Callable[[Hashable], Hashable] = one_party,
    ) -> None:
        """Report to `took` how many seconds each job ran, without its time in the queue.

        `party` returns the party of a key; parties get slots in turns.
        """
        self._slots = FairSlots(slots)
        self._party = party
        self._failure = failure
        self._took = took
        self._queues: dict[tuple[int, Hashable], deque[Job | _Shared]] = {}
        self._tasks: dict[tuple[int, Hashable], asyncio.Task[None]] = {}
        self._drops: Counter[int] = Counter()
        self._waiting = 0
        self._changed = asyncio.Event()

    async def submit(self, partition: int, key: Hashable, job: Job) -> None:
        """Queue a job after those of its key; wait while MAX_QUEUED jobs are queued.

        A job whose partition is dropped while it waits here is not queued: it would overtake the dropped ones, which
        are delivered again.
        """
        await self._queue(partition, key, job)

    async def share(
        self, partition: int, key: Hashable, work: Callable[[Sequence[Item]], Awaitable[None]], item: Item
    ) -> None:
        """Queue an item as `submit` queues a job; one job handles consecutive items for the same work."""
        await self._queue(partition, key, _Shared(work, item))

    async def _queue(self, partition: int, key: Hashable, job: Job | _Shared) -> None:
        drops = self._drops[partition]
        while self._waiting >= MAX_QUEUED:
            await self.until_changed()
            if self._drops[partition] != drops:
                return
        place = (partition, key)
        self._waiting += 1
        queue = self._queues.get(place)
        if queue is not None:
            queue.append(job)
            return
        self._queues[place] = deque([job])
        self._tasks[place] = asyncio.get_running_loop().create_task(self._run(place))

    def hold(self, partition: int, key: Hashable) -> Hold | None:
        """Take a key's turn without a job, so that its jobs wait; None if one is queued or running already."""
        place = (partition, key)
        if place in self._queues:
            return None
        queue = self._queues[place] = deque()

        def is_held() -> bool:
            return self._queues.get(place) is queue

        def release() -> None:
            if not is_held():
                return  # dropped meanwhile
            if queue:
                self._tasks[place] = asyncio.get_running_loop().create_task(self._run(place))
            else:
                del self._queues[place]
                self._changed.set()

        return Hold(queue, is_held, release)

    def is_busy(self, partition: int, key: Hashable) -> bool:
        """Return whether a job of a key is queued or running, or its turn is taken by a `Hold`."""
        return (partition, key) in self._queues

    async def settle(self, partition: int | None = None) -> None:
        """Wait until no job of the partition, or of any, is queued or running."""
        while any(partition is None or place[0] == partition for place in self._queues):
            await self.until_changed()

    def drop(self, partition: int) -> None:
        """Cancel all jobs of a partition, queued and running."""
        self._drops[partition] += 1
        for place in [p for p in self._queues if p[0] == partition]:
            self._waiting -= len(self._queues.pop(place))
            if (task := self._tasks.pop(place, None)) is not None:  # without a task, a Hold has its turn
                task.cancel()
        self._changed.set()

    async def until_changed(self) -> None:
        """Wait until a job has ended, or was dropped."""
        self._changed.clear()
        await self._changed.wait()

    async def _run(self, place: tuple[int, Hashable]) -> None:
        queue, party = self._queues[place], self._party(place[1])
        me = asyncio.current_task()
        try:
            while queue:
                async with self._slots.slot(party):
                    began = time.perf_counter()
                    job, count = _next(queue)
                    await job()
                    self._took(time.perf_counter() - began)
                for _ in range(count):
                    queue.popleft()
                self._waiting -= count
                self._changed.set()
        except NotHeld:
            log.info("partition %d was revoked: the waiting records of its users are delivered again", place[0])
        except Exception as error:  # noqa: BLE001 - the boundary of a step: reported, never swallowed
            self._failure(error)
        finally:
            if self._tasks.get(place) is me:
                self._waiting -= len(queue)
                del self._queues[place], self._tasks[place]
                self._changed.set()


def _next(queue: deque[Job | _Shared]) -> tuple[Job, int]:
    """Return the job to run now, and how many entries of the queue it handles."""
    first = queue[0]
    if not isinstance(first, _Shared):
        return first, 1
    alike = takewhile(lambda other: isinstance(other, _Shared) and other.work == first.work, islice(queue, MAX_SHARED))
    items = [shared.item for shared in alike if isinstance(shared, _Shared)]
    return partial(first.work, items), len(items)
