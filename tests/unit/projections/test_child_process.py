"""A child process answers in order, has bounds of time and size, and is left behind by nobody."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING

import pytest
from support.processes import wait_until_gone

from projections import child_process
from projections.child_process import Child, ChildDied

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

SECONDS = 60.0
ECHO = """
    with answers() as pipe:
        print("a library prints")
        write_frame(pipe, b"ready")
        while (frame := read_frame(sys.stdin.buffer)) is not None:
            if frame == b"sleep":
                time.sleep(60)
            if frame == b"die":
                sys.exit(3)
            write_frame(pipe, frame)
"""
"""A program that answers with what it was asked."""


@pytest.fixture
async def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Callable[[], Child]]:
    head = "import sys, time\nfrom schemas.frames import answers, read_frame, write_frame\nif True:"
    (tmp_path / "echoing.py").write_text(head + ECHO)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    children: list[Child] = []

    def started() -> Child:
        children.append(Child("echoing"))
        return children[-1]

    yield started
    for child in children:
        await child.aclose()


async def test_frames_that_are_sent_ahead_are_answered_in_their_order(start: Callable[[], Child]):
    child = start()
    assert await child.connect(SECONDS) == b"ready"
    sent = [str(number).encode() * 100_000 for number in range(20)]
    assert await asyncio.gather(*[child.ask(frame, SECONDS) for frame in sent]) == sent


async def test_a_process_that_dies_was_at_the_first_frame_and_answers_none(start: Callable[[], Child]):
    child = start()
    await child.connect(SECONDS)
    first, second = child.ask(b"die", SECONDS), child.ask(b"x", SECONDS)
    for answer, was_at_it in ((first, True), (second, False)):
        with pytest.raises(ChildDied) as died:
            await answer
        assert died.value.was_at_it is was_at_it
    assert child.is_over
    with pytest.raises(ChildDied):
        child.ask(b"x", SECONDS)
    assert await child.aclose() == 3
    assert child.pid is None


async def test_a_process_that_takes_too_long_is_killed(start: Callable[[], Child]):
    child = start()
    await child.connect(SECONDS)
    with pytest.raises(ChildDied, match=r"not answered for 0\.1 s"):
        await child.ask(b"sleep", 0.1)


async def test_an_answer_that_is_too_large_is_not_received(start: Callable[[], Child], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(child_process, "MAX_ANSWER_BYTES", 1_000)
    child = start()
    await child.connect(SECONDS)
    with pytest.raises(ChildDied, match="too large"):
        await child.ask(b"x" * 1_000, SECONDS)


async def test_closing_ends_what_a_caller_waits_for_and_whoever_was_cancelled_as_it_started(
    start: Callable[[], Child],
):
    cancelled, asked = children = start(), start()
    pids = [child.pid for child in children]
    starting = asyncio.create_task(cancelled.connect(SECONDS))
    await asyncio.sleep(0)
    starting.cancel()
    await asked.connect(SECONDS)
    answer = asked.ask(b"sleep", SECONDS)
    for child, pid in zip(children, pids, strict=True):
        await child.aclose()
        assert pid is not None
        wait_until_gone(pid)
    with pytest.raises(ChildDied):
        await answer
