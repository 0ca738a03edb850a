"""Both clients: they send the calls over httpx, and have the methods defined next to the calls."""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing, closing
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

import httpx

from mnemolog.client import exchange as exchange_calls
from mnemolog.client.admin import AdminMethods
from mnemolog.client.carrier import AsyncCarrier, Carrier
from mnemolog.client.context import ContextMethods
from mnemolog.client.errors import Refused, Unavailable
from mnemolog.client.exchange import ExchangeMethods
from mnemolog.client.memories import MemoryMethods
from mnemolog.client.policies import PolicyMethods
from mnemolog.client.transport import (
    RETRIES,
    TIMEOUT_SECONDS,
    address,
    connection_to,
    headers_of,
    pause_before,
    read_answer,
    request_of,
    unreachable,
)
from mnemolog.client.wakes import WakeMethods
from mnemolog.client.webhooks import WebhookMethods

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping
    from pathlib import Path
    from types import TracebackType

    from mnemolog.client.call import Call, Json

T = TypeVar("T")
AT_ONCE: Final = 100
"""The most requests of an AsyncClient in progress; further ones wait here, in order.

The number equals httpx's connections. Requests that wait in httpx's own pool time out there, and slow it down for each
request that it serves.
"""


class _Methods(
    MemoryMethods, ContextMethods, WakeMethods, ExchangeMethods, PolicyMethods, WebhookMethods, AdminMethods
):
    """The methods of both clients; each client has its own `export`, which reads the answer as it arrives."""


class AsyncClient(_Methods, AsyncCarrier):
    """Speaks to a mnemolog server. Every failure raises a MnemologError; what is safe to repeat is, a few times.

    The first three methods are PowerMem's MemoryStore.
    """

    def __init__(
        self,
        url: str,
        api_key: str | None = None,
        *,
        timeout_seconds: float = TIMEOUT_SECONDS,
        retries: int = RETRIES,
        ca_file: Path | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """Take the server's address, and the authorities of its certificate (PEM; None: as SSL_CERT_FILE names them).

        `transport` is for tests and servers in the same process. Raises ValueError.
        """
        self._timeout_seconds = timeout_seconds
        self._retries = retries
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._http = httpx.AsyncClient(
            base_url=address(url), headers=headers_of(api_key), transport=transport, **connection_to(url, ca_file)
        )

    async def __aenter__(self) -> Self:
        """Return the client, which is closed at the end of the block."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the client."""
        await self.close()

    async def close(self) -> None:
        """Give the connections back; safe to call twice."""
        await self._http.aclose()

    async def carry(self, call: Call[T]) -> T:
        """Send a call and return its answer. Raises MnemologError."""
        if self._http.is_closed:
            raise Refused("this client is closed: make another one")
        if not call.method:
            return call.read({})
        for attempt in range(self._retries + 1):
            try:
                return read_answer(call, await self._send(call))
            except Unavailable as error:
                await asyncio.sleep(pause_before(attempt, call, error, self._retries))
        raise AssertionError("the last attempt returns or raises")

    async def _send(self, call: Call[T]) -> httpx.Response:
        try:
            async with self._turns:
                return await self._http.send(request_of(self._http, call, self._timeout_seconds))
        except httpx.TransportError as error:
            raise unreachable(self._http, error) from error

    async def export(
        self,
        user_id: str,
        *,
        scope: str = "personal",
        filters: Mapping[str, Any] | None = None,
        session_id: str | None = None,
        app_id: str | None = None,
    ) -> AsyncIterator[Json]:
        """Give a user's memories and their history, a line at a time; the last one has the type `Exported`.

        With filters, a session or an application it is what meets them, without wakes.

        Raises MnemologError, also when the export ends early.
        """
        call = exchange_calls.export_call(user_id, scope, filters, session_id, app_id)
        request = request_of(self._http, call, self._timeout_seconds)
        try:
            response = await self._http.send(request, stream=True)
            async with aclosing(response):
                lines = exchange_calls.Lines(response)
                if lines.is_refused:
                    await response.aread()
                    lines.refuse(call)
                async for part in response.aiter_bytes():
                    for line in lines.read(part):
                        yield line
        except httpx.TransportError as error:
            raise unreachable(self._http, error) from error
        lines.end()


class Client(_Methods, Carrier):
    """The same as AsyncClient, without await."""

    def __init__(
        self,
        url: str,
        api_key: str | None = None,
        *,
        timeout_seconds: float = TIMEOUT_SECONDS,
        retries: int = RETRIES,
        ca_file: Path | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        """Take what AsyncClient takes. Raises ValueError."""
        self._timeout_seconds = timeout_seconds
        self._retries = retries
        self._http = httpx.Client(
            base_url=address(url), headers=headers_of(api_key), transport=transport, **connection_to(url, ca_file)
        )

    def __enter__(self) -> Self:
        """Return the client, which is closed at the end of the block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the client."""
        self.close()

    def close(self) -> None:
        """Give the connections back; safe to call twice."""
        self._http.close()

    def carry(self, call: Call[T]) -> T:
        """Send a call and return its answer. Raises MnemologError."""
        if self._http.is_closed:
            raise Refused("this client is closed: make another one")
        if not call.method:
            return call.read({})
        for attempt in range(self._retries + 1):
            try:
                return read_answer(call, self._send(call))
            except Unavailable as error:
                time.sleep(pause_before(attempt, call, error, self._retries))
        raise AssertionError("the last attempt returns or raises")

    def _send(self, call: Call[T]) -> httpx.Response:
        try:
            return self._http.send(request_of(self._http, call, self._timeout_seconds))
        except httpx.TransportError as error:
            raise unreachable(self._http, error) from error

    def export(
        self,
        user_id: str,
        *,
        scope: str = "personal",
        filters: Mapping[str, Any] | None = None,
        session_id: str | None = None,
        app_id: str | None = None,
    ) -> Iterator[Json]:
        """Give a user's memories and their history, a line at a time; the last one has the type `Exported`.

        With filters, a session or an application it is what meets them, without wakes.

        Raises MnemologError, also when the export ends early.
        """
        call = exchange_calls.export_call(user_id, scope, filters, session_id, app_id)
        request = request_of(self._http, call, self._timeout_seconds)
        try:
            with closing(self._http.send(request, stream=True)) as response:
                lines = exchange_calls.Lines(response)
                if lines.is_refused:
                    response.read()
                    lines.refuse(call)
                for part in response.iter_bytes():
                    yield from lines.read(part)
        except httpx.TransportError as error:
            raise unreachable(self._http, error) from error
        lines.end()
