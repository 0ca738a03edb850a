"""Bounds on connections: their number, the time and size of a request's head, and the time that an answer is not read.

uvicorn bounds the time that a connection is kept alive.
"""

from __future__ import annotations

import logging
import resource
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

if TYPE_CHECKING:
    import asyncio
    from asyncio.events import TimerHandle

HEAD_SECONDS: Final = 10.0
"""The time from the connection, or from the first byte after an answer, to the end of a request's head."""
KEPT_ALIVE_SECONDS: Final = 20
"""The time from an answer to the first byte of the next request.

It is longer than clients reuse an idle connection (httpx and mnemolog's client: 5 s, aiohttp: 15 s). With the same time
on both sides, a request is sometimes sent just as the connection closes, and its caller cannot know whether it counted.
"""
MAX_HEAD_BYTES: Final = 64 * 1024
"""The maximum size of a request's line and headers, and of the trailer of a chunked body."""
UNREAD_SECONDS: Final = 30.0
"""The time after which a connection is aborted if its caller reads nothing of an answer."""
MAX_JOINED_BYTES: Final = 64 * 1024
"""The bytes that are collected within a turn of the event loop before they are sent."""
MAX_CONNECTIONS: Final = 4_096
"""The maximum number of connections at one port."""
MAX_DESCRIPTORS: Final = 65_536
"""The number of file descriptors that the process requests."""
OTHER_DESCRIPTORS: Final = 256
"""The descriptors reserved for the log, shards, other workers and the model."""
_ON_EVERY_ANSWER: Final = (
    b"Connection: close\r\nContent-Length: 0\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
    b"Content-Security-Policy: default-src 'none'; frame-ancestors 'none'\r\n"
    b"Cross-Origin-Resource-Policy: same-origin\r\n\r\n"
)
_FULL: Final = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\n" + _ON_EVERY_ANSWER
_MALFORMED: Final = b"HTTP/1.1 400 Bad Request\r\n" + _ON_EVERY_ANSWER
_TOO_LARGE: Final = b"HTTP/1.1 431 Request Header Fields Too Large\r\n" + _ON_EVERY_ANSWER
_OF_CALLERS: Final = logging.getLogger("uvicorn.error.callers")
_OF_CALLERS.setLevel(logging.ERROR)  # invalid requests are not logged: strangers may send any number


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """The limits of connections at one port."""

    most: int = MAX_CONNECTIONS
    head_seconds: float = HEAD_SECONDS
    unread_seconds: float = UNREAD_SECONDS


def raise_file_limit() -> None:
    """Raise this process's limit of open files, because a shell's usual 1,024 is too low."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, MAX_DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def limits_of_process(ports: int) -> ConnectionLimits:
    """Return the limits for each of `ports` ports, from the number of files that this process may open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return ConnectionLimits()
    return ConnectionLimits(most=max(1, min(MAX_CONNECTIONS, (soft - OTHER_DESCRIPTORS) // ports)))


def bounded_protocol(limits: ConnectionLimits) -> type[asyncio.Protocol]:
    """Return uvicorn's HTTP protocol within limits."""

    class Bounded(_Bounded):
        bounds = limits

    return Bounded


class JoinedWrites:
    """A transport that joins the writes of one turn of the event loop, such as an answer's head and body.

    Each write is a system call and wakes up the receiver. Larger data is sent as it is written, so that the transport
    can apply back pressure.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        """`transport` is the transport that sends."""
        self._transport = transport
        self._loop = loop
        self._written: list[bytes] = []
        self._bytes = 0
        self.is_closing = transport.is_closing

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever a transport has
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Send at the end of this turn, or now if there is much; send nothing if the caller disconnects before."""
        if not self._written:
            self._loop.call_soon(self._send)
        self._written.append(data)
        self._bytes += len(data)
        if self._bytes > MAX_JOINED_BYTES:
            self._send()

    def close(self) -> None:
        """Send the collected data and close."""
        self._send()
        self._transport.close()

    def _send(self) -> None:
        written, self._written, self._bytes = self._written, [], 0
        if written and not self._transport.is_closing():  # uvloop raises if the caller is gone
            self._transport.write(written[0] if len(written) == 1 else b"".join(written))


class _Bounded(HttpToolsProtocol):
    bounds = ConnectionLimits()
    _deadline: TimerHandle | None = None
    _next_look: TimerHandle | None = None
    _unread = 0
    """The unread bytes of answers at the last look; 0 if some were read since."""
    _head_bytes = 0
    """The bytes received that belong neither to a body nor to a complete head."""
    _header_bytes = 0
    _is_body = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.transport = JoinedWrites(transport, self.loop)  # type: ignore[assignment] # the part that uvicorn uses
        self.logger = _OF_CALLERS
        self._next_look = self.loop.call_later(self.bounds.unread_seconds, self._look)
        if len(self.connections) > self.bounds.most:
            transport.write(_FULL)
            transport.close()
            return
        self._begin_head()

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        self._head_bytes += len(data)
        super().data_received(data)
        if self._head_bytes > MAX_HEAD_BYTES:
            self.send_400_response("")
        # After an answer only new bytes start the time of a head, which also bounds the rest of an unread body.
        if self.cycle is not None and self.cycle.response_complete and self.timeout_keep_alive_task is None:
            self._begin_head()

    def on_message_begin(self) -> None:
        self._is_body, self._header_bytes = False, 0
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._is_body:  # else it is a trailer, which nothing checks
            super().on_header(name, value)
            self._header_bytes += len(name) + len(value)
            if self._header_bytes > MAX_HEAD_BYTES:
                self._head_bytes = MAX_HEAD_BYTES + 1
                raise ValueError("the head is too large")

    def on_headers_complete(self) -> None:
        self._end_head()
        self._is_body, self._head_bytes = True, 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._head_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._head_bytes = 0
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - the answer quotes nothing
        if self.transport.is_closing():
            return
        self.transport.write(_TOO_LARGE if self._head_bytes > MAX_HEAD_BYTES else _MALFORMED)
        self.transport.close()

    def resume_writing(self) -> None:
        self._unread = 0
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_head()
        if self._next_look is not None:
            self._next_look.cancel()
        super().connection_lost(exc)

    def _look(self) -> None:
        """Abort the connection if the caller has read nothing since the last look; closing would wait forever."""
        waiting = self.transport.get_write_buffer_size()
        if waiting and self._unread and waiting >= self._unread:
            self.transport.abort()
            return
        self._unread = waiting
        self._next_look = self.loop.call_later(self.bounds.unread_seconds, self._look)

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
    """Return uvicorn's settings of connections.

    A request for a WebSocket is answered in HTTP: nothing here supports it, and its library takes 3 MB.
    """
    return {"http": bounded_protocol(limits), "ws": "none", "timeout_keep_alive": KEPT_ALIVE_SECONDS}
