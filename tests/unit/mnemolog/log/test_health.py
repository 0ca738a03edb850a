"""A silent partition ends the requests that wait for the log, and neither others nor the watch."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import UTC, datetime

import pytest
from support.memory_log import MemoryLog

from mnemolog.log.deadline import RequestDeadlines, suspend_deadline
from mnemolog.log.health import LogWatch
from schemas.log import LogUnavailable

ENDS = "the log is away"
SOON_SECONDS = 0.05


class SilentLog(MemoryLog):
    """Partition 0 never answers."""

    def __init__(self) -> None:
        super().__init__(now=datetime(2026, 1, 1, tzinfo=UTC))

    async def end(self, topic: str, partition: int) -> int:
        """Wait for ever, or answer."""
        if partition == 0:
            await asyncio.Event().wait()
        return await super().end(topic, partition)


@pytest.fixture
def deadlines() -> RequestDeadlines:
    return RequestDeadlines(SOON_SECONDS)


@pytest.fixture
def watch(deadlines: RequestDeadlines) -> LogWatch:
    return LogWatch(deadlines, SOON_SECONDS)


async def test_a_request_that_is_slow_to_end_does_not_end_the_watch(watch: LogWatch, deadlines: RequestDeadlines):
    async def slow() -> None:
        async with deadlines.enforced():
            try:
                await asyncio.Event().wait()
            finally:
                await asyncio.sleep(0.3)

    request = asyncio.ensure_future(slow())
    for _ in range(4):
        await watch.look(SilentLog(), [0])
    with pytest.raises(LogUnavailable, match=ENDS):
        await request


async def test_a_request_that_waits_for_the_log_ends_and_one_whose_deadline_is_suspended_does_not(
    watch: LogWatch, deadlines: RequestDeadlines
):
    held = asyncio.Event()

    async def waits() -> str:
        async with deadlines.enforced():
            await held.wait()
        return "answered"

    async def greets() -> str:
        async with deadlines.enforced():
            with suspend_deadline():
                await held.wait()
        return "answered"

    requests = [asyncio.ensure_future(waits()), asyncio.ensure_future(greets())]
    await watch.look(SilentLog(), [0, 1])
    with pytest.raises(LogUnavailable, match=ENDS):
        await requests[0]
    late = asyncio.ensure_future(greets())
    await asyncio.sleep(0.1)
    held.set()
    assert [await requests[1], await late] == ["answered", "answered"]
    assert deadlines.running == 0


async def test_what_comes_after_the_suspension_is_ended_again(watch: LogWatch, deadlines: RequestDeadlines):
    await watch.look(SilentLog(), [0])
    asked: list[str] = []
    with suppress(LogUnavailable):
        async with deadlines.enforced():
            with suspend_deadline():
                await asyncio.sleep(0.1)
                asked.append("model")
            await asyncio.Event().wait()
            asked.append("log")
    assert asked == ["model"]


async def test_a_request_whose_own_wait_was_too_long_is_not_told_of_the_log(deadlines: RequestDeadlines):
    with pytest.raises(TimeoutError, match="the model"):
        async with deadlines.enforced():
            raise TimeoutError("the model")
    assert deadlines.running == 0


async def test_a_request_that_begins_while_the_log_is_silent_ends_soon(watch: LogWatch, deadlines: RequestDeadlines):
    await watch.look(SilentLog(), [0])
    with pytest.raises(LogUnavailable, match=ENDS):
        async with deadlines.enforced():
            await asyncio.Event().wait()
    assert deadlines.running == 0
