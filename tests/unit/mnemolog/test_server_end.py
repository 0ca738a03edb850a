"""A worker that cannot stop by itself is ended."""

from __future__ import annotations

import os
import subprocess
import sys

HANGS = """
import time
from mnemolog.server import end_in_time
end_in_time(0.2)
time.sleep(60)  # an event loop that hangs
"""


def test_a_process_that_hangs_after_a_signal_is_ended_as_one_that_stopped():
    done = subprocess.run([sys.executable, "-c", HANGS], capture_output=True, text=True, timeout=59, check=False)  # noqa: S603
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
    done = subprocess.run([sys.executable, "-c", DEAF], stderr=writes, timeout=59, check=False)  # noqa: S603
    os.close(reads)
    os.close(writes)
    assert done.returncode == 0
