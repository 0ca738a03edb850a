"""Processes that a test waits for."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

GONE_SECONDS = 240.0


def wait_until_gone(pid: int) -> None:
    """Wait until a process has ended, even if nobody has collected it. Raises AssertionError if it does not end."""
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
    """Return the processor time, in seconds, of all threads of a process and of the children that it has waited for.

    A deadline in processor time does not depend on how busy the machine is, as one by the clock does.
    """
    of_process = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    return sum(map(int, of_process[11:15])) / os.sysconf("SC_CLK_TCK")
