"""Connections: how many there may be, and how long a request's head may take; uvicorn bounds what is kept alive."""

from __future__ import annotations

import resource
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

if TYPE_CHECKING:
    import asyncio
    from asyncio.events import TimerHandle

HEAD_SECONDS: Final = 10.0
"""The time from the connection, or from the first byte after an answer, to the end of a request's head."""
KEPT_ALIVE_SECONDS: Final = 5
"""The time from an answer to the first byte of the next request."""
MAX_CONNECTIONS: Final = 4_096
"""Connections at one port."""
MAX_DESCRIPTORS: Final = 65_536
"""File descriptors that the process asks for."""
OTHER_DESCRIPTORS: Final = 256
"""Descriptors that are kept for log, shards, other workers and the model."""
_FULL: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: 0\r\n"
    b"Cache-Control: no-store\r\n\r\n"
)


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """The limits of one port's connections."""

    most: int = MAX_CONNECTIONS
    head_seconds: float = HEAD_SECONDS


def raise_file_limit() -> None:
    """Raise this process's limit of open files; a shell's usual 1,024 would be reached first."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, MAX_DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def limits_of_process(ports: int) -> ConnectionLimits:
    """Return the limits of each of so many ports, from the number of files that this process may open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return ConnectionLimits()
    return ConnectionLimits(most=max(1, min(MAX_CONNECTIONS, (soft - OTHER_DESCRIPTORS) // ports)))


def bounded_protocol(limits: ConnectionLimits) -> type[asyncio.Protocol]:
    """Return uvicorn's HTTP protocol within limits."""

    class Bounded(_Bounded):
        bounds = limits

    return Bounded


class _Bounded(HttpToolsProtocol):
    bounds = ConnectionLimits()
    _deadline: TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self.bounds.most:
            transport.write(_FULL)
            transport.close()
            return
        self._begin_head()

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        super().data_received(data)
        # After an answer only more bytes begin a head; and what is left of a body that was not read is held to it too.
        if self.cycle is not None and self.cycle.response_complete and self.timeout_keep_alive_task is None:
            self._begin_head()

    def on_headers_complete(self) -> None:
        self._end_head()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_head()
        super().connection_lost(exc)

    def _begin_head(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(self.bounds.head_seconds, self._close_late)

    def _end_head(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _close_late(self) -> None:
        self._deadline = None
        if not self.transport.is_closing():
            self.transport.close()


def protocol_settings(limits: ConnectionLimits) -> dict[str, Any]:
    """Return uvicorn's settings of connections."""
    return {"http": bounded_protocol(limits), "timeout_keep_alive": KEPT_ALIVE_SECONDS}
