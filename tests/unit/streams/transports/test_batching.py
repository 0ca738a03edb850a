"""What a busy loop's tasks want to write goes together, in order, and nobody waits for ever."""

from __future__ import annotations

import asyncio

from streams.transports.batching import BATCH_RECORDS, LONGEST_WAIT_SECONDS, AppendBatcher, when_idle


async def turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def test_who_comes_while_the_loop_works_goes_on_with_those_before() -> None:
    gathering, went_on, busy = AppendBatcher(), [], True

    async def write(name: str) -> None:
        await gathering.wait(1)
        went_on.append((name, busy))

    async def work() -> None:
        nonlocal busy
        for step in range(5):
            tasks.append(asyncio.ensure_future(write(str(step))))
            loop = asyncio.get_running_loop()
            until = loop.time() + 0.002
            while loop.time() < until:
                pass
            await asyncio.sleep(0)
        busy = False

    tasks: list[asyncio.Future[None]] = []
    await work()
    await asyncio.gather(*tasks)
    assert went_on == [(str(step), False) for step in range(5)]


async def test_enough_records_wait_for_nobody() -> None:
    gathering = AppendBatcher()
    other = asyncio.ensure_future(gathering.wait(1))
    await asyncio.wait_for(gathering.wait(BATCH_RECORDS), LONGEST_WAIT_SECONDS)
    await other


async def test_a_loop_that_is_never_idle_hands_over_all_the_same() -> None:
    loop, handed = asyncio.get_running_loop(), []
    when_idle(loop, lambda: handed.append(loop.time()), lambda: 1)
    began = loop.time()
    while not handed:
        until = loop.time() + 0.001
        while loop.time() < until:
            pass
        await asyncio.sleep(0)
    assert handed[0] - began >= LONGEST_WAIT_SECONDS


async def test_one_who_is_cancelled_holds_up_nobody() -> None:
    gathering = AppendBatcher()
    waiting = [asyncio.ensure_future(gathering.wait(1)) for _ in range(3)]
    await turns(1)
    waiting[1].cancel()
    await asyncio.gather(waiting[0], waiting[2])
    assert waiting[1].cancelled()
