"""Ports for what a test starts.

They lie below those that the kernel gives to connections: there a port that a test's server has left for a moment, to
come back to it, could be taken by any connection of any process, and who knocks at a server that is not up yet could be
connected with himself. Each process of pytest has a part of them for itself.
"""

from __future__ import annotations

import os
import socket
from itertools import count as count_from
from typing import Final

FIRST, PARTS, PART = 24_000, 8, 1_000
"""The first port, and how many each process of pytest has. Linux gives ports from 32768 on to connections."""
_BEGIN: Final = FIRST + PART * (int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % PARTS)
_TURNS: Final = count_from(os.getpid())
"""Another process with the same ports begins elsewhere; what was given is not given again soon."""


def free_ports(count: int) -> list[int]:
    """Return ports that are free now, no two the same. Raises RuntimeError when there are not so many."""
    found: list[int] = []
    for _ in range(PART):
        port = _BEGIN + next(_TURNS) % PART
        if is_free(port):
            found.append(port)
        if len(found) == count:
            return found
    raise RuntimeError(f"no {count} free ports from {_BEGIN} on")


def is_free(port: int) -> bool:
    """Tell whether a server could listen there."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as servers do
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
