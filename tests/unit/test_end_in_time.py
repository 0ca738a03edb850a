"""A worker that cannot stop by itself is ended."""

from __future__ import annotations

import subprocess
import sys

HANGS = """
import time
from mnemolog import serve
serve.STOP_SECONDS = 0.2
serve._end_in_time()
time.sleep(60)  # an event loop that stands still
"""


def test_a_process_that_hangs_after_a_signal_is_ended_as_one_that_stopped():
    done = subprocess.run([sys.executable, "-c", HANGS], capture_output=True, text=True, timeout=59, check=False)  # noqa: S603
    assert done.returncode == 0
    assert "it ends as it is, nothing is lost" in done.stderr
