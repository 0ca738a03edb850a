"""Turns: long work on the event loop is divided into steps, between which other tasks may run."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator

Item = TypeVar("Item")
P = ParamSpec("P")
Result = TypeVar("Result")

TURN_SECONDS: Final = 0.005
"""How long steps run before other tasks may run."""
ITEMS_A_STEP: Final = 256
"""The memories that are examined in one step: a millisecond or two."""
MANY_MEMORIES: Final = 1_000
"""The number of memories whose handling takes some milliseconds."""


class TimeSlice:
    """A share of the event loop's time, which begins with the creation of this object."""

    def __init__(self) -> None:
        self._clock = asyncio.get_running_loop().time
        self._began = self._clock()

    async def pause(self) -> None:
        """Let other tasks run once TURN_SECONDS of this share are over; then a new share begins."""
        if self._clock() - self._began > TURN_SECONDS:
            await asyncio.sleep(0)
            self._began = self._clock()


async def in_turns(steps: Generator[None, None, Result]) -> Result:
    """Run a generator to its end and return its result; other tasks may run after each TURN_SECONDS.

    The data that it reads must not change between two steps, or the generator must handle that. A user's state is an
    immutable value.
    """
    share = TimeSlice()
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: Result = end.value
            return result
        await share.pause()


async def aside(memories: int, work: Callable[P, Result], *args: P.args, **kwargs: P.kwargs) -> Result:
    """Return the result of a computation over a number of memories; if they are many, it runs in a thread."""
    return work(*args, **kwargs) if memories < MANY_MEMORIES else await asyncio.to_thread(work, *args, **kwargs)


def to_end(steps: Generator[None, None, Result]) -> Result:
    """Run a generator to its end without turns, and return its result."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: Result = end.value
            return result


def stepwise(items: Iterable[Item]) -> Iterator[list[Item]]:
    """Yield the items in lists of one step each."""
    some: list[Item] = []
    for item in items:
        some.append(item)
        if len(some) == ITEMS_A_STEP:
            yield some
            some = []
    if some:
        yield some


def chosen(items: Iterable[Item], passes: Callable[[Item], bool]) -> Generator[None, None, list[Item]]:
    """Return the items that pass, in steps."""
    found: list[Item] = []
    for some in stepwise(items):
        found += filter(passes, some)
        yield
    return found


def ordered(items: Iterable[Item], key: Callable[[Item], object]) -> Generator[None, None, list[Item]]:
    """Return the items sorted by a key, in steps, of which the longest merges two sorted halves. The sort is stable."""
    runs = list[list[tuple[object, int, Item]]]()
    for number, some in enumerate(stepwise(items)):
        first = number * ITEMS_A_STEP
        runs.append(sorted((key(item), place, item) for place, item in enumerate(some, first)))
        yield
    while len(runs) > 1:
        merged = []
        for place in range(0, len(runs), 2):
            merged.append(sorted([entry for run in runs[place : place + 2] for entry in run]))
            yield
        runs = merged
    return [item for _, _, item in runs[0]] if runs else []
