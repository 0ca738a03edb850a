"""Ports for what a test starts.

They lie below those that the kernel gives to connections: there a port that a test's server has left for a moment, to
come back to it, could be taken by any connection of any process, and who knocks at a server that is not up yet could be
connected with himself. What one process was given no other is given while that one lives.
"""

from __future__ import annotations

import os
import socket
from itertools import count as count_from
from typing import Final

FIRST, PORTS = 24_000, 8_000
"""Linux gives ports from 32768 on to connections."""
_TURNS: Final = count_from(os.getpid() * 97)
"""Each process begins elsewhere; what was given is not given again soon."""


def free_ports(count: int) -> list[int]:
    """Return ports that are free now, no two the same. Raises RuntimeError when there are not so many."""
    found: list[int] = []
    for _ in range(PORTS):
        port = FIRST + next(_TURNS) % PORTS
        if is_free(port) and _is_ours(port):
            found.append(port)
        if len(found) == count:
            return found
    raise RuntimeError(f"no {count} free ports from {FIRST} on")


def is_free(port: int) -> bool:
    """Tell whether a server could listen there."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as servers do
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def _is_ours(port: int) -> bool:
    """Take the port's name, which no two processes can have; return whether nobody had it."""
    name = socket.socket(socket.AF_UNIX)
    try:
        name.bind(f"\0mnemolog-test-port-{port}")
    except OSError:
        name.close()
        return False
    name.detach()  # it stays open, and the name taken, until this process ends
    return True
