"""A worker that cannot stop by itself is ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

HANGS = """
import time
from mnemolog.server import end_in_time
end_in_time(0.2)
time.sleep(600)  # an event loop that hangs
"""


def test_a_process_that_hangs_after_a_signal_is_ended_as_one_that_stopped():
    done = subprocess.run([sys.executable, "-c", HANGS], capture_output=True, text=True, timeout=240, check=False)  # noqa: S603
    assert done.returncode == 0
    assert "it ends as it is, nothing that was accepted is lost" in done.stderr


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
    reads, writes = os.pipe()
    done = subprocess.run([sys.executable, "-c", DEAF], stderr=writes, timeout=240, check=False)  # noqa: S603
    os.close(reads)
    os.close(writes)
    assert done.returncode == 0


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
    command = [sys.executable, "-c", STANDS_STILL, work]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:  # noqa: S603
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            process.send_signal(signal.SIGTERM)
            _, errors = process.communicate(timeout=240)
        finally:
            process.kill()
    assert process.returncode == code
    assert said in errors
