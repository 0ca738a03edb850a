"""Ports of the cluster's processes: free when taken, and kept for as long as the run lasts, restarts included."""

from __future__ import annotations

from support.free_ports import free_ports, is_free

FIRST_PORT = 18500
"""Of a measurement, unless another is asked for."""


class Ports:
    """Hands out each port once: those from `first` to `last`, or any that no other test process was given."""

    def __init__(self, first: int | None = None, last: int = 0) -> None:
        self._range = None if first is None else iter(range(first, last + 1))

    def take(self) -> int:
        """Return a free port. Raises RuntimeError."""
        if self._range is None:
            [port] = free_ports(1)
            return port
        for port in self._range:
            if is_free(port):
                return port
        raise RuntimeError("no free port is left")
