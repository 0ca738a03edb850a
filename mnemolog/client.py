"""The Python client, with await and without: every method is a call of client_calls or client_admin, carried."""

from __future__ import annotations

import asyncio
import functools
import time
from contextlib import aclosing, closing
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Self, TypeVar

import httpx

from mnemolog import client_admin, client_calls, client_context, client_exchange, client_wakes
from mnemolog.client_carrying import (
    RETRIES,
    TIMEOUT_SECONDS,
    address,
    headers_of,
    pause_before,
    read_answer,
    request_of,
    unreachable,
)
from mnemolog.client_errors import Refused, Unavailable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
    from types import TracebackType
    from typing import Any

    from mnemolog.client_call import Call, Json

P = ParamSpec("P")
T = TypeVar("T")


def _awaited(build: Callable[P, Call[T]]) -> Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, T]]:
    @functools.wraps(build)
    async def method(self: AsyncClient, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.carry(build(*args, **kwargs))

    return method


def _direct(build: Callable[P, Call[T]]) -> Callable[Concatenate[Client, P], T]:
    @functools.wraps(build)
    def method(self: Client, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.carry(build(*args, **kwargs))

    return method


class AsyncClient:
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
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """Take the server's address; `transport` is for tests and servers in the same process. Raises ValueError."""
        self._timeout_seconds = timeout_seconds
        self._retries = retries
        self._http = httpx.AsyncClient(base_url=address(url), headers=headers_of(api_key), transport=transport)

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
            return await self._http.send(request_of(self._http, call, self._timeout_seconds))
        except httpx.TransportError as error:
            raise unreachable(self._http, error) from error

    add = _awaited(client_calls.add)
    search = _awaited(client_calls.search)
    get_user_profile = _awaited(client_calls.get_user_profile)

    publish = _awaited(client_calls.publish)
    event = _awaited(client_calls.event)
    events_status = _awaited(client_calls.events_status)
    remember = _awaited(client_calls.remember)
    memories = _awaited(client_calls.memories)
    memory = _awaited(client_calls.memory)
    revise = _awaited(client_calls.revise)
    forget = _awaited(client_calls.forget)
    restore = _awaited(client_calls.restore)
    share = _awaited(client_calls.share)
    history = _awaited(client_calls.history)
    importance = _awaited(client_calls.importance)
    context = _awaited(client_context.context)
    greeting = _awaited(client_context.greeting)
    emotions = _awaited(client_context.emotions)
    upcoming = _awaited(client_context.upcoming)
    report = _awaited(client_context.report)
    profile = _awaited(client_calls.profile)
    episodes = _awaited(client_calls.episodes)
    stats = _awaited(client_calls.stats)
    turns = _awaited(client_calls.turns)
    tools = _awaited(client_calls.tools)
    call_tool = _awaited(client_calls.call_tool)

    async def export(self, user_id: str, *, scope: str = "personal") -> AsyncIterator[Json]:
        """Give a user's memories and their history, a line at a time; the last one has the type `Exported`.

        Raises MnemologError, also when the export ends early.
        """
        call = client_exchange.export_call(user_id, scope)
        request = request_of(self._http, call, self._timeout_seconds)
        try:
            response = await self._http.send(request, stream=True)
            async with aclosing(response):
                lines = client_exchange.Lines(response)
                if lines.is_refused:
                    await response.aread()
                    lines.refuse(call)
                async for part in response.aiter_bytes():
                    for line in lines.read(part):
                        yield line
        except httpx.TransportError as error:
            raise unreachable(self._http, error) from error
        lines.end()

    import_memories = _awaited(client_exchange.import_memories)

    checks = _awaited(client_admin.checks)
    wake = _awaited(client_wakes.wake)
    configure_wake = _awaited(client_wakes.configure_wake)
    remove_wake = _awaited(client_wakes.remove_wake)
    remind = _awaited(client_wakes.remind)
    reminders = _awaited(client_wakes.reminders)
    cancel_reminder = _awaited(client_wakes.cancel_reminder)
    wakes = _awaited(client_wakes.wakes)

    digest = _awaited(client_admin.digest)
    drain = _awaited(client_admin.drain)
    tick = _awaited(client_admin.tick)
    rebuild = _awaited(client_admin.rebuild)
    generations = _awaited(client_admin.generations)
    metrics = _awaited(client_admin.metrics)
    dead_letters = _awaited(client_admin.dead_letters)
    retry_dead_letters = _awaited(client_admin.retry_dead_letters)


class Client:
    """The same as AsyncClient, without await."""

    def __init__(
        self,
        url: str,
        api_key: str | None = None,
        *,
        timeout_seconds: float = TIMEOUT_SECONDS,
        retries: int = RETRIES,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        """Take the server's address; `transport` is for tests. Raises ValueError."""
        self._timeout_seconds = timeout_seconds
        self._retries = retries
        self._http = httpx.Client(base_url=address(url), headers=headers_of(api_key), transport=transport)

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

    add = _direct(client_calls.add)
    search = _direct(client_calls.search)
    get_user_profile = _direct(client_calls.get_user_profile)

    publish = _direct(client_calls.publish)
    event = _direct(client_calls.event)
    events_status = _direct(client_calls.events_status)
    remember = _direct(client_calls.remember)
    memories = _direct(client_calls.memories)
    memory = _direct(client_calls.memory)
    revise = _direct(client_calls.revise)
    forget = _direct(client_calls.forget)
    restore = _direct(client_calls.restore)
    share = _direct(client_calls.share)
    history = _direct(client_calls.history)
    importance = _direct(client_calls.importance)
    context = _direct(client_context.context)
    greeting = _direct(client_context.greeting)
    emotions = _direct(client_context.emotions)
    upcoming = _direct(client_context.upcoming)
    report = _direct(client_context.report)
    profile = _direct(client_calls.profile)
    episodes = _direct(client_calls.episodes)
    stats = _direct(client_calls.stats)
    turns = _direct(client_calls.turns)
    tools = _direct(client_calls.tools)
    call_tool = _direct(client_calls.call_tool)

    def export(self, user_id: str, *, scope: str = "personal") -> Iterator[Json]:
        """Give a user's memories and their history, a line at a time; the last one has the type `Exported`.

        Raises MnemologError, also when the export ends early.
        """
        call = client_exchange.export_call(user_id, scope)
        request = request_of(self._http, call, self._timeout_seconds)
        try:
            with closing(self._http.send(request, stream=True)) as response:
                lines = client_exchange.Lines(response)
                if lines.is_refused:
                    response.read()
                    lines.refuse(call)
                for part in response.iter_bytes():
                    yield from lines.read(part)
        except httpx.TransportError as error:
            raise unreachable(self._http, error) from error
        lines.end()

    import_memories = _direct(client_exchange.import_memories)

    checks = _direct(client_admin.checks)
    wake = _direct(client_wakes.wake)
    configure_wake = _direct(client_wakes.configure_wake)
    remove_wake = _direct(client_wakes.remove_wake)
    remind = _direct(client_wakes.remind)
    reminders = _direct(client_wakes.reminders)
    cancel_reminder = _direct(client_wakes.cancel_reminder)
    wakes = _direct(client_wakes.wakes)

    digest = _direct(client_admin.digest)
    drain = _direct(client_admin.drain)
    tick = _direct(client_admin.tick)
    rebuild = _direct(client_admin.rebuild)
    generations = _direct(client_admin.generations)
    metrics = _direct(client_admin.metrics)
    dead_letters = _direct(client_admin.dead_letters)
    retry_dead_letters = _direct(client_admin.retry_dead_letters)
