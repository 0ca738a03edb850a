"""Ports of the cluster's processes: free when taken, and kept for as long as the run lasts, restarts included."""

from __future__ import annotations

import socket

FIRST_PORT, LAST_PORT = 18500, 18599


class Ports:
    """Hands out each port once, of those from `first` to `last`."""

    def __init__(self, first: int = FIRST_PORT, last: int = LAST_PORT) -> None:
        self._first = self._next = first
        self._last = last

    def take(self) -> int:
        """Return a free port. Raises RuntimeError."""
        while self._next <= self._last:
            port, self._next = self._next, self._next + 1
            with socket.socket() as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                try:
                    probe.bind(("127.0.0.1", port))
                except OSError:
                    continue
                return port
        raise RuntimeError(f"no free port left in {self._first} to {self._last}")
