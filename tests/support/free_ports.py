"""Ports for what a test starts."""

from __future__ import annotations

import socket


def free_ports(count: int) -> list[int]:
    """Return ports that are free now; they are held together, so that no two are the same."""
    held = [socket.socket() for _ in range(count)]
    try:
        for one in held:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in held]
    finally:
        for one in held:
            one.close()
