"""Erasures that are repeated: a few at a time, and the event loop goes on, however many users are looked at."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from mnemolog.operations.erasing.recovery import run_several

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator
    from typing import Any

MANY = 100


async def test_only_those_that_run_are_made_and_all_of_them_run():
    made, ended = list[int](), list[int]()
    most = 0

    async def wait(number: int) -> None:
        nonlocal most
        most = max(most, len(made) - len(ended))
        await asyncio.sleep(0)
        ended.append(number)

    def each() -> Iterator[Coroutine[Any, Any, None]]:
        for number in range(MANY):
            made.append(number)
            yield wait(number)

    await run_several(each(), 3)
    assert sorted(ended) == list(range(MANY))
    assert most == 3


async def test_others_have_their_turn_between_those_that_wait_for_nothing():
    seen = list[int]()
    ended = 0

    async def end() -> None:
        nonlocal ended
        ended += 1

    async def look() -> None:
        while ended < MANY:
            seen.append(ended)
            await asyncio.sleep(0)

    looking = asyncio.create_task(look())
    await run_several((end() for _ in range(MANY)), 1)
    await looking
    assert len(seen) >= MANY // 2


async def test_where_one_fails_the_others_have_ended_and_no_more_begin():
    begun, cancelled = list[int](), list[int]()

    async def wait(number: int) -> None:
        begun.append(number)
        try:
            await asyncio.sleep(0)
            if number == 1:
                raise OSError("the disk is full")
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(number)
            raise

    with pytest.raises(OSError, match="the disk is full"):
        await run_several((wait(number) for number in range(MANY)), 3)
    assert (begun, cancelled) == ([0, 1, 2], [0, 2])
