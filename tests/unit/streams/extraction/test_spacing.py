"""Questions to a slow model leave one after the other; a quick one is asked at once."""

from __future__ import annotations

import asyncio

from streams.extraction.model.spacing import WORK_SECONDS, Spacing

AT_ONCE, SLOW = 0.001, 0.5


async def leaving(spacing: Spacing, questions: int) -> list[float]:
    """Return when each of some questions that come at the same moment leaves, in seconds from then on."""
    loop = asyncio.get_running_loop()
    began = loop.time()

    async def ask() -> float:
        await spacing.wait()
        return loop.time() - began

    return await asyncio.gather(*(ask() for _ in range(questions)))


async def test_questions_to_a_slow_model_leave_as_far_apart_as_the_worker_works_for_a_turn():
    spacing = Spacing()
    spacing.answered(SLOW)
    left = await leaving(spacing, 4)
    assert left == sorted(left)
    assert all(at >= number * WORK_SECONDS * 0.9 for number, at in enumerate(left))


async def test_the_first_question_and_one_after_a_pause_leave_at_once():
    spacing = Spacing()
    spacing.answered(SLOW)
    for _ in range(2):
        waiting = asyncio.ensure_future(spacing.wait())
        await asyncio.sleep(0)
        assert waiting.done()
        await asyncio.sleep(2 * WORK_SECONDS)


async def test_questions_to_a_quick_model_are_not_held_back():
    spacing = Spacing()
    spacing.answered(AT_ONCE)
    [*_, last] = await leaving(spacing, 8)
    spacing.answered(SLOW)
    [*_, last_of_slow] = await leaving(spacing, 8)
    assert last < last_of_slow
