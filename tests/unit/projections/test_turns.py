"""Turns: long work lets others have theirs, and comes to the same."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from projections import turns
from projections.turns import ITEMS_A_STEP, MANY_MEMORIES, TURN_SECONDS, aside, chosen, in_turns, ordered, to_end

if TYPE_CHECKING:
    from collections.abc import Generator

    import pytest

MANY = 5 * ITEMS_A_STEP + 3


async def test_others_have_their_turn_while_long_work_is_done() -> None:
    """A task that has waited for the loop runs between two steps, not after the last."""
    seen = list[str]()

    def long() -> Generator[None, None, str]:
        for number in range(3):
            time.sleep(1.5 * TURN_SECONDS)
            seen.append(f"step {number}")
            yield
        return "done"

    async def other() -> None:
        seen.append("other")

    waiting = asyncio.ensure_future(other())
    assert await in_turns(long()) == "done"
    await waiting
    assert seen == ["step 0", "other", "step 1", "step 2"]


async def test_short_work_keeps_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is done within a turn is done at once."""
    monkeypatch.setattr(turns, "TURN_SECONDS", 60.0)  # a busy machine may stand still for the real one
    waiting = asyncio.ensure_future(asyncio.sleep(0))
    assert await in_turns(chosen(range(10), lambda n: n % 2 == 0)) == [0, 2, 4, 6, 8]
    assert not waiting.done()
    await waiting


def test_steps_choose_what_one_pass_chooses() -> None:
    """Nothing is lost, or twice, where one step ends and the next begins."""
    for count in (0, 1, ITEMS_A_STEP, ITEMS_A_STEP + 1, MANY):
        assert to_end(chosen(range(count), lambda n: n % 3 == 0)) == list(range(0, count, 3))


def test_steps_sort_as_one_sort_does() -> None:
    """Items of one key keep their order, also across steps."""
    items = [((n * 7919) % 13, n) for n in range(MANY)]
    for count in (0, 1, ITEMS_A_STEP, 2 * ITEMS_A_STEP, MANY):
        some = items[:count]
        assert to_end(ordered(some, key=lambda item: item[0])) == sorted(some, key=lambda item: item[0])


async def test_much_is_computed_in_a_thread_and_little_is_not() -> None:
    """The event loop goes on while many memories are gone through."""
    here, there = await aside(1, _loop_runs), await aside(MANY_MEMORIES, _loop_runs)
    assert (here, there) == (True, False)


def _loop_runs() -> bool:
    """Return whether this is the event loop's own thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
