"""Ports of the cluster's processes: free when taken, and kept for as long as the run lasts, restarts included."""

from __future__ import annotations

import socket

FIRST_PORT, LAST_PORT = 18500, 18599


class Ports:
    """Hands out each port once."""

    def __init__(self) -> None:
        self._next = FIRST_PORT

    def take(self) -> int:
        """Return a free port. Raises RuntimeError."""
        while self._next <= LAST_PORT:
            port, self._next = self._next, self._next + 1
            with socket.socket() as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                try:
                    probe.bind(("127.0.0.1", port))
                except OSError:
                    continue
                return port
        raise RuntimeError(f"no free port left in {FIRST_PORT} to {LAST_PORT}")
