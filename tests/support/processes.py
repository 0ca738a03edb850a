"""Processes that a test waits for."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

GONE_SECONDS = 240.0


def wait_until_gone(pid: int) -> None:
    """Return when a process has ended, whoever is to collect it. Raises AssertionError when it does not."""
    deadline = time.monotonic() + GONE_SECONDS
    while _is_running(pid):
        assert time.monotonic() < deadline, f"process {pid} goes on"
        time.sleep(0.02)


def _is_running(pid: int) -> bool:
    with suppress(FileNotFoundError):
        return Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0] != "Z"
    with suppress(ProcessLookupError):
        os.kill(pid, 0)
        return not Path("/proc").exists()
    return False


def processor_seconds(pid: int) -> float:
    """Return how long a process and the children that it has waited for have had a processor, in all their threads.

    Who waits for a process that is busy waits so long at least, and on a machine with others only by the clock longer.
    """
    of_process = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    return sum(map(int, of_process[11:15])) / os.sysconf("SC_CLK_TCK")
