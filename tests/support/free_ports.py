"""Free ports for the servers that tests start.

They are below the ephemeral ports, which the kernel gives to outgoing connections. Any connection of any process could
take an ephemeral port while a test's server restarts, and a client that connects before its server is up could be
connected to itself. No two living processes are given the same port.
"""

from __future__ import annotations

import os
import socket
from itertools import count as count_from
from typing import Final

FIRST, PORTS = 24_000, 8_000
"""On Linux the ephemeral ports begin at 32768."""
_TURNS: Final = count_from(os.getpid() * 97)
"""Each process begins at another port, and returns to a port only after all others."""


def free_ports(count: int) -> list[int]:
    """Return `count` different ports that are free now. Raises RuntimeError if there are too few."""
    found: list[int] = []
    for _ in range(PORTS):
        port = FIRST + next(_TURNS) % PORTS
        if is_free(port) and _is_ours(port):
            found.append(port)
        if len(found) == count:
            return found
    raise RuntimeError(f"no {count} free ports from {FIRST} on")


def is_free(port: int) -> bool:
    """Return whether a server could listen on a port."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as servers do
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def _is_ours(port: int) -> bool:
    """Return whether this process could reserve a port, by a socket name that only one process can have."""
    name = socket.socket(socket.AF_UNIX)
    try:
        name.bind(f"\0mnemolog-test-port-{port}")
    except OSError:
        name.close()
        return False
    name.detach()  # it stays open, and the name taken, until this process ends
    return True
