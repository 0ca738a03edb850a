"""What a busy loop's tasks want to write goes together, in order, and nobody waits for ever."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from streams.transports import batching
from streams.transports.batching import (
    BATCH_RECORDS,
    IDLE_TURN_SECONDS,
    LONGEST_WAIT_SECONDS,
    AppendBatcher,
    when_idle,
)

if TYPE_CHECKING:
    import pytest


async def turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def keep_busy(seconds: float) -> None:
    """Be a task that works so long at least."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass


async def test_who_comes_while_the_loop_works_goes_on_with_those_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batching, "LONGEST_WAIT_SECONDS", 60.0)  # a busy machine may stand still for the real one
    gathering, went_on, busy = AppendBatcher(), [], True

    async def write(name: str) -> None:
        await gathering.wait(1)
        went_on.append((name, busy))

    async def work() -> None:
        nonlocal busy
        for step in range(5):
            tasks.append(asyncio.ensure_future(write(str(step))))
            keep_busy(0.002)
            await asyncio.sleep(0)
        busy = False

    tasks: list[asyncio.Future[None]] = []
    await work()
    await asyncio.gather(*tasks)
    assert went_on == [(str(step), False) for step in range(5)]


async def test_enough_records_wait_for_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batching, "LONGEST_WAIT_SECONDS", 60.0)
    gathering = AppendBatcher()
    waiting = [asyncio.ensure_future(gathering.wait(records)) for records in (1, BATCH_RECORDS)]
    for _ in range(5):
        keep_busy(2 * IDLE_TURN_SECONDS)
        await asyncio.sleep(0)
    assert all(one.done() for one in waiting)


async def test_a_loop_that_is_never_idle_hands_over_all_the_same() -> None:
    loop, handed = asyncio.get_running_loop(), []
    when_idle(loop, lambda: handed.append(loop.time()), lambda: 1)
    began = loop.time()
    while not handed:
        keep_busy(0.001)
        await asyncio.sleep(0)
    assert handed[0] - began >= LONGEST_WAIT_SECONDS


async def test_one_who_is_cancelled_holds_up_nobody() -> None:
    gathering = AppendBatcher()
    waiting = [asyncio.ensure_future(gathering.wait(1)) for _ in range(3)]
    await turns(1)
    waiting[1].cancel()
    await asyncio.gather(waiting[0], waiting[2])
    assert waiting[1].cancelled()
