"""Whoever publishes goes before the agents, and never stops them."""

import asyncio

import pytest

from streams.delivery.priority import BATCH_RECORDS, LINGER_SECONDS, LONGEST_SECONDS, AppendPriority


async def test_without_a_caller_giving_way_is_one_turn_of_the_loop():
    precedence = AppendPriority()
    turns: list[int] = []
    asyncio.get_running_loop().call_soon(turns.append, 1)
    await asyncio.wait_for(precedence.give_way(), LONGEST_SECONDS / 2)
    assert turns == [1]


async def test_agents_give_way_until_the_last_caller_is_done():
    precedence = AppendPriority()
    order: list[str] = []

    async def agent():
        await precedence.give_way()
        order.append("agent")

    with precedence.first(1):
        with precedence.first(1):
            working = asyncio.create_task(agent())
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        order.append("one caller is done")
        await asyncio.sleep(0)
        order.append("both are")
    await working
    assert order == ["one caller is done", "both are", "agent"]


async def test_a_caller_who_stays_does_not_stop_the_agents():
    precedence = AppendPriority()
    with precedence.first(1):
        began = asyncio.get_running_loop().time()
        await precedence.give_way()
        assert asyncio.get_running_loop().time() - began >= LONGEST_SECONDS * 0.9


async def test_a_caller_that_fails_is_first_no_longer():
    precedence = AppendPriority()
    with pytest.raises(RuntimeError), precedence.first(1):
        raise RuntimeError
    await asyncio.wait_for(precedence.give_way(), LONGEST_SECONDS / 2)


async def test_a_caller_who_comes_back_with_a_batch_at_once_finds_the_loop_free():
    slowly = 50  # so that a busy machine is in time
    precedence = AppendPriority(longest_seconds=slowly * LONGEST_SECONDS, linger_seconds=slowly * LINGER_SECONDS)
    turns: list[str] = []

    async def agent():
        await precedence.give_way()
        turns.append("agent")

    with precedence.first(BATCH_RECORDS):
        working = asyncio.create_task(agent())
        await asyncio.sleep(LINGER_SECONDS / 8)
    for _ in range(2):
        await asyncio.sleep(LINGER_SECONDS / 8)
        with precedence.first(BATCH_RECORDS):
            turns.append("caller")
    await working
    assert turns == ["caller", "caller", "agent"]


async def test_callers_with_single_events_leave_the_agents_the_time_between_them():
    precedence = AppendPriority()
    with precedence.first(BATCH_RECORDS - 1):
        pass
    await asyncio.wait_for(precedence.give_way(), LINGER_SECONDS / 4)
