"""Connections: a head that does not come, one too many, and smuggled bodies, at a real socket."""

from __future__ import annotations

import asyncio
import socket
import statistics
import time
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

import httpx
import pytest
import uvicorn
from contract.front_door import front_door

from mnemolog.http.app import make_http
from mnemolog.http.bounds.connections import (
    KEPT_ALIVE_SECONDS,
    ConnectionLimits,
    protocol_settings,
    raise_file_limit,
)
from mnemolog.server import listen

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from starlette.types import ASGIApp

LIVE = b"GET /health/live HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
HEAD = b"POST /v1/search HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
DOCUMENT = b"GET /openapi.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
CLOSING = LIVE[:-2] + b"Connection: close\r\n\r\n"
MIB = 1 << 20
PATIENCE = 120


@asynccontextmanager
async def served(app: ASGIApp, limits: ConnectionLimits) -> AsyncIterator[int]:
    """Serve an application at a socket of this machine, and yield the port."""
    listening = listen("127.0.0.1", 0)
    settings = protocol_settings(limits)
    server = uvicorn.Server(uvicorn.Config(app, lifespan="off", log_config=None, access_log=False, **settings))
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        yield listening.getsockname()[1]
    finally:
        server.should_exit = server.force_exit = True
        await serving


@asynccontextmanager
async def door_served(folder: Path, **limits: float) -> AsyncIterator[int]:
    async with (
        front_door(folder) as door,
        served(make_http(door.worker), ConnectionLimits(**limits)) as port,  # type: ignore[arg-type]
    ):
        yield port


def test_a_connection_is_kept_well_beyond_the_time_for_which_clients_use_an_idle_one():
    """Else it is closed now and then as the next request is on its way."""
    idle = httpx.Limits().keepalive_expiry
    assert idle is not None
    assert 2 * idle <= KEPT_ALIVE_SECONDS


async def exchange(port: int, sent: bytes) -> bytes:
    """Send bytes and return what comes until the connection is closed."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(sent)
        async with asyncio.timeout(PATIENCE):
            return await reader.read()
    finally:
        writer.close()


@pytest.mark.parametrize("begun", [b"", b"GET /health", LIVE[:-2], LIVE + b"GET /hea"])
async def test_a_connection_whose_head_does_not_come_is_closed(tmp_path: Path, begun: bytes):
    async with door_served(tmp_path, head_seconds=0.2) as port:
        answered = await exchange(port, begun)
    assert answered.count(b"HTTP/1.1 200") == (1 if begun.startswith(LIVE) else 0)


async def test_who_asks_for_websocket_is_answered_in_http(tmp_path: Path):
    asked = CLOSING.replace(b"Connection: close", b"Connection: upgrade, close\r\nUpgrade: websocket")
    async with door_served(tmp_path) as port:
        answered = await exchange(port, asked)
    assert answered.startswith(b"HTTP/1.1 200 ")


async def test_a_body_that_trickles_is_not_held_to_the_head(tmp_path: Path):
    """It has a deadline of its own (test_http_bodies)."""
    async with door_served(tmp_path, head_seconds=0.2) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(HEAD + b"Content-Length: 8\r\n\r\n")
        for byte in b"[[[[[[[[":
            await asyncio.sleep(0.05)
            writer.write(bytes([byte]))
        assert (await reader.readline()).startswith(b"HTTP/1.1 422")
        writer.close()


@pytest.mark.parametrize(
    "endless",
    [
        (b"GET /health/live HTTP/1.1\r\nHost: 127.0.0.1\r\n", b"a: b\r\n" * 1_000),
        (b"GET /health/live HTTP/1.1\r\nHost: 127.0.0.1\r\na: ", b"b" * 6_000),
        (b"GET /health/live?", b"b" * 6_000),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n", b"a: b\r\n" * 1_000),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\na: ", b"b" * 6_000),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n2;", b"b" * 6_000),
    ],
    ids=["headers", "a header", "a path", "trailers", "a trailer", "a chunk's extension"],
)
async def test_what_stands_around_a_body_and_does_not_end_is_refused(tmp_path: Path, endless: tuple[bytes, bytes]):
    (begun, more), sent = endless, 0
    async with door_served(tmp_path) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        answered = asyncio.create_task(reader.read())
        writer.write(begun)
        with suppress(ConnectionError):
            while sent < 5 * MIB:
                sent += len(more)
                writer.write(more)
                await writer.drain()
                if answered.done():
                    break
        async with asyncio.timeout(PATIENCE):
            with suppress(ConnectionError):
                assert (await answered).startswith(b"HTTP/1.1 431")
        writer.close()
    assert sent < 5 * MIB  # what the sockets' buffers hold, and not all that was to come


async def test_a_trailer_is_no_header_of_the_request(tmp_path: Path):
    chunked = b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nContent-Type: text/plain\r\n\r\n"
    async with door_served(tmp_path) as port:
        answered = await exchange(port, HEAD + b"Connection: close\r\n" + chunked)
    assert answered.startswith(b"HTTP/1.1 422")  # it has no query; text/plain would be 415


async def test_who_reads_no_answer_is_cut_off(tmp_path: Path):
    async with door_served(tmp_path, unread_seconds=0.2, most=1) as port:
        deaf = socket.socket()
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        deaf.connect(("127.0.0.1", port))
        deaf.sendall(DOCUMENT * 60)
        async with asyncio.timeout(PATIENCE):
            answered = b""
            while not answered.startswith(b"HTTP/1.1 200"):
                with suppress(ConnectionError):  # while the deaf one has the only place
                    answered = await exchange(port, CLOSING)
        deaf.close()


async def test_who_reads_slowly_gets_the_whole_answer(tmp_path: Path):
    async with door_served(tmp_path, unread_seconds=1.0) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1_024)
        writer.write(DOCUMENT * 4 + CLOSING)
        read = b""
        while part := await reader.read(40_000):
            read += part
            await asyncio.sleep(0.06)
        writer.close()
    assert read.count(b"HTTP/1.1 200") == 5


async def test_one_connection_too_many_is_told_so_and_closed(tmp_path: Path):
    async with door_served(tmp_path, most=2) as port:
        held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2)]
        refused = await exchange(port, b"")
        assert refused.startswith(b"HTTP/1.1 503")
        assert b"Retry-After: 1\r\n" in refused
        for _, writer in held:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(LIVE)
        assert (await reader.readline()).startswith(b"HTTP/1.1 200")
        writer.close()


@pytest.mark.parametrize(
    "lengths",
    [
        b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n",
        b"Transfer-Encoding: chunked\r\nContent-Length: 2\r\n",
        b"Content-Length: 2\r\nContent-Length: 3\r\n",
        b"Content-Length: +2\r\n",
        b"Transfer-Encoding : chunked\r\n",
    ],
)
async def test_a_body_whose_end_two_readers_may_see_differently_ends_the_connection(tmp_path: Path, lengths: bytes):
    async with door_served(tmp_path) as port:
        answered = await exchange(port, HEAD + lengths + b"\r\n0\r\n\r\n" + LIVE)
    assert answered.startswith(b"HTTP/1.1 400")
    assert answered.count(b"HTTP/1.1") == 1


async def test_a_thousand_idle_and_two_hundred_slow_connections_do_not_slow_the_others(tmp_path: Path):
    raise_file_limit()
    async with door_served(tmp_path) as port:
        alone = await answers_within(port)
        held = []
        for each in range(1_200):
            held.append(await asyncio.open_connection("127.0.0.1", port))
            if each >= 1_000:
                held[-1][1].write(HEAD + b"Content-Length: 1000\r\n\r\n[")
        beside = await answers_within(port)
        for _, writer in held:
            writer.close()
    assert beside < alone * 5 + 0.01


async def answers_within(port: int) -> float:
    """Return how much processor time an answer takes on a new connection, the median of many.

    Who asks and who answers are this process; by the clock a machine with other work is slower at any moment.
    """
    took = []
    for _ in range(40):
        began = time.process_time()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(LIVE)
        assert (await reader.readline()).startswith(b"HTTP/1.1 200")
        took.append(time.process_time() - began)
        writer.close()
    return statistics.median(took)


async def test_a_body_that_is_too_large_is_answered_while_it_is_sent_and_the_connection_ends(tmp_path: Path):
    """Closed at once, the answer might never reach who is still sending."""
    async with door_served(tmp_path, head_seconds=0.5) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(HEAD + b"Content-Length: 600000\r\n\r\n" + b" " * 300_000)
        assert (await reader.readline()).startswith(b"HTTP/1.1 413")
        writer.write(b" " * 200_000)
        async with asyncio.timeout(PATIENCE):
            await reader.read()
        writer.close()
