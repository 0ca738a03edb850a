"""The rules in a process of their own: the same findings, an end to what takes too long, and no process left behind."""

from __future__ import annotations

import asyncio
import os
import pickle
import select
import signal
import socket
import subprocess
import sys
import textwrap

import pytest
from support.processes import wait_until_gone
from support.windows import talk

from projections.child_process import Child
from schemas.frames import frame_of
from streams.extraction.own_words.statements import read_window
from streams.extraction.protocol import Outage, Rejected
from streams.extraction.rules.process import RuleProcess

ORDINARY = talk("我叫张三，喜欢喝咖啡", "I work at Acme and I love hiking.", "下周三有项目评审会议")
LONG = talk(*["我喜欢茶，我在北京工作，今天我们吵架了。I am a nurse, I live in Oslo. " * 90] * 4)
"""Takes more than half a second."""


async def test_it_finds_what_the_rules_find():
    """Where they run changes nothing."""
    rules = RuleProcess()
    try:
        assert await rules.read(ORDINARY) == read_window(ORDINARY)
    finally:
        await rules.aclose()


async def test_what_takes_too_long_is_rejected_and_the_next_window_is_read():
    """The loop goes on meanwhile."""
    rules = RuleProcess(cpu_seconds=0.05)
    try:
        with pytest.raises(Rejected, match="processor time") as rejected:
            await rules.read(LONG)
        assert rejected.value.answer == "\n".join(piece.text for piece in LONG.pieces)
        assert (await rules.read(ORDINARY)).statements
    finally:
        await rules.aclose()


async def test_a_process_that_was_killed_is_started_again():
    """Nothing is lost with it."""
    rules = RuleProcess()
    try:
        await rules.read(ORDINARY)
        assert rules.pid is not None
        os.kill(rules.pid, signal.SIGKILL)
        assert (await rules.read(ORDINARY)).statements
    finally:
        await rules.aclose()


SAYS_READY = r"printf '\0\0\0\0'"


def program(folder, *does):
    """Make a program that does this, in the place of Python; return its path."""
    stub = folder / "python"
    stub.write_text("\n".join(["#!/bin/sh", *does, ""]))
    stub.chmod(0o755)
    return str(stub)


@pytest.mark.parametrize(
    ("does", "said"),
    [("exit 1", "ended with code 1 before it was ready"), (SAYS_READY, "before it was asked anything")],
    ids=["not ready", "ready"],
)
async def test_a_process_that_dies_before_it_was_asked_is_an_outage_and_no_windows_fault(
    monkeypatch, tmp_path, does, said
):
    """There is no memory for it, for one. Nobody is kept waiting, and when it can be started its windows are read."""
    rules, connect = RuleProcess(), Child.connect

    async def connect_and_see_it_end(child, seconds):
        await connect(child, seconds)
        while not child.is_over:  # noqa: ASYNC110 - it sets no event
            await asyncio.sleep(0.01)

    try:
        with monkeypatch.context() as patch:
            patch.setattr(sys, "executable", program(tmp_path, does))
            patch.setattr(Child, "connect", connect_and_see_it_end)
            for _ in range(5):
                with pytest.raises(Outage, match=said):
                    await rules.read(ORDINARY)
        assert (await rules.read(ORDINARY)).statements
    finally:
        await rules.aclose()


async def test_a_window_at_which_the_process_dies_again_and_again_is_rejected(monkeypatch, tmp_path):
    """It was asked each time. A process that has died has no id."""
    monkeypatch.setattr(sys, "executable", program(tmp_path, SAYS_READY, "head -c 4 > /dev/null"))
    rules = RuleProcess()
    try:
        with pytest.raises(Rejected, match="died 3 times"):
            await rules.read(ORDINARY)
        assert rules.pid is None
    finally:
        await rules.aclose()


async def test_a_process_that_cannot_be_started_is_an_outage(monkeypatch):
    """There are too many processes, for one. Its windows are asked about again, and the worker goes on."""
    rules = RuleProcess()
    try:
        with monkeypatch.context() as patch:
            patch.setattr(sys, "executable", "/nowhere/python")
            with pytest.raises(Outage, match="cannot be started"):
                await rules.read(ORDINARY)
        assert (await rules.read(ORDINARY)).statements
    finally:
        await rules.aclose()


def test_it_ends_without_a_word_when_its_answer_is_not_read():
    """Its worker has ended first, for one: a socket says otherwise than a pipe that nobody is there."""
    ours, theirs = socket.socketpair()
    program = [sys.executable, "-P", "-m", "streams.extraction.rules.child", "60"]
    with theirs:
        child = subprocess.Popen(  # noqa: S603 - our own program
            program, stdin=theirs.fileno(), stdout=theirs.fileno(), stderr=subprocess.PIPE
        )
    with ours:
        ours.sendall(frame_of(pickle.dumps(ORDINARY)))
        select.select([ours], [], [])
    _, said = child.communicate()
    assert (child.returncode, said) == (0, b"")


async def test_the_answer_to_a_window_that_nobody_waits_for_is_not_taken_for_the_next_ones():
    """It comes nevertheless, before the next one's."""
    rules = RuleProcess(cpu_seconds=60)
    try:
        await rules.read(ORDINARY)
        reading = asyncio.create_task(rules.read(LONG))
        await asyncio.sleep(0)
        assert rules._child is not None
        assert rules._child._asked  # it was sent
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        assert await rules.read(ORDINARY) == read_window(ORDINARY)
    finally:
        await rules.aclose()


async def test_a_window_is_not_blamed_for_the_end_that_an_earlier_one_came_to():
    """Its caller did not wait, so the next window was sent before the process died."""
    rules = RuleProcess(cpu_seconds=0.05)
    try:
        await rules.read(ORDINARY)
        reading = asyncio.create_task(rules.read(LONG))
        await asyncio.sleep(0)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        assert (await rules.read(ORDINARY)).statements
    finally:
        await rules.aclose()


async def test_closing_ends_a_window_in_progress():
    """Its caller waits for an extractor that will not come: an outage, which records nothing."""
    rules = RuleProcess(cpu_seconds=60)
    reading = asyncio.create_task(rules.read(LONG))
    while rules.pid is None:  # noqa: ASYNC110 - what starts it tells nobody
        await asyncio.sleep(0.01)
    pid = rules.pid
    await rules.aclose()
    with pytest.raises((Outage, Rejected)):
        await reading
    await asyncio.to_thread(wait_until_gone, pid)


PARENT = """
    import asyncio, os, signal, threading, time
    from datetime import UTC, datetime
    from streams.extraction.protocol import Piece, Window
    from streams.extraction.rules.process import RuleProcess

    at = datetime(2026, 1, 5, tzinfo=UTC)
    text = "我喜欢茶，" * 1200
    piece = Piece(piece_id="t#0", event_id="t", speaker="user", text=text, occurred_at=at, recorded_at=at)
    window = Window(
        tenant="d",
        user_id="u",
        agent_id=None,
        session_id="s",
        source_type="chat",
        source_ref="s",
        pieces=(piece,) * 200,
    )
    rules = RuleProcess(cpu_seconds=1)

    def end():
        while rules.pid is None:
            time.sleep(0.01)
        print(rules.pid, flush=True)
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=end).start()
    asyncio.run(rules.read(window))
"""
"""A parent that is killed while its rules read."""


def test_it_does_not_outlive_its_parent(tmp_path):
    """Not even a parent that is killed in the middle of a window."""
    program = textwrap.dedent(PARENT)
    ended = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert ended.returncode == -signal.SIGKILL
    wait_until_gone(int(ended.stdout))
