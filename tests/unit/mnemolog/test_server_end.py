"""A worker that cannot stop by itself is ended."""

from __future__ import annotations

import os
import signal

import pytest
from support.forked_program import FORKS, started

SECONDS = 240
HANGS = """
import time
from mnemolog.server import end_in_time
end_in_time(0.2)
time.sleep(600)  # an event loop that hangs
"""


def test_a_process_that_hangs_after_a_signal_is_ended_as_one_that_stopped():
    errors, stderr = FORKS.Pipe(duplex=False)
    _, stdout = FORKS.Pipe(duplex=False)
    process = started(HANGS, stdout=stdout, stderr=stderr)
    with os.fdopen(os.dup(errors.fileno()), encoding="utf-8") as said:
        assert "it ends as it is, nothing that was accepted is lost" in said.read()
    process.join(SECONDS)
    assert process.exitcode == 0


DEAF = f"""
import logging, os
os.set_blocking(2, False)
try:
    while True:
        os.write(2, b"x" * 65536)
except BlockingIOError:
    os.set_blocking(2, True)
logging.basicConfig()
{HANGS}
"""


def test_a_process_whose_stderr_nobody_reads_is_ended_all_the_same():
    _unread, stderr = FORKS.Pipe(duplex=False)
    _, stdout = FORKS.Pipe(duplex=False)
    process = started(DEAF, stdout=stdout, stderr=stderr)
    process.join(SECONDS)
    assert process.exitcode == 0


STANDS_STILL = """
import asyncio, re, sys
from mnemolog.server import end_in_time, handled_signals

def loop_for_ever():
    while True:
        pass

def never_matched():
    re.match("(?:a|aa)+$", "a" * 200 + "b")

async def stand_still(work):
    with handled_signals(lambda: None, lambda: end_in_time(0.2)):
        print("ready", flush=True)
        work()

asyncio.run(stand_still(globals()[sys.argv[1]]))
"""


@pytest.mark.parametrize(
    ("work", "code", "said"),
    [
        ("loop_for_ever", 0, "it ends as it is, nothing that was accepted is lost"),
        ("never_matched", 1, "never_matched"),
    ],
    ids=["Python", "C that holds the interpreter's lock"],
)
def test_a_process_whose_loop_stands_still_when_the_signal_comes_is_ended_too(work: str, code: int, said: str):
    (answers, stdout), (errors, stderr) = FORKS.Pipe(duplex=False), FORKS.Pipe(duplex=False)
    process = started(STANDS_STILL, work, stdout=stdout, stderr=stderr)
    try:
        with os.fdopen(os.dup(answers.fileno()), encoding="utf-8") as lines:
            assert lines.readline() == "ready\n"
        assert process.pid is not None
        os.kill(process.pid, signal.SIGTERM)
        with os.fdopen(os.dup(errors.fileno()), encoding="utf-8") as lines:
            assert said in lines.read()
        process.join(SECONDS)
    finally:
        process.kill()
        process.join()
    assert process.exitcode == code
