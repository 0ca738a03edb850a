"""The Python client, with await and without: every method is a call of client_calls or client_admin, carried."""

from __future__ import annotations

import asyncio
import functools
import time
from contextlib import aclosing, closing
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Self, TypeVar

import httpx

from mnemolog.client import admin as admin_calls
from mnemolog.client import context as context_calls
from mnemolog.client import exchange as exchange_calls
from mnemolog.client import memories as memory_calls
from mnemolog.client import wakes as wake_calls
from mnemolog.client.errors import Refused, Unavailable
from mnemolog.client.transport import (
    RETRIES,
    TIMEOUT_SECONDS,
    address,
    headers_of,
    pause_before,
    read_answer,
    request_of,
    unreachable,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
    from types import TracebackType
    from typing import Any

    from mnemolog.client.call import Call, Json

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

    add = _awaited(memory_calls.add)
    search = _awaited(memory_calls.search)
    get_user_profile = _awaited(memory_calls.get_user_profile)

    publish = _awaited(memory_calls.publish)
    event = _awaited(memory_calls.event)
    events_status = _awaited(memory_calls.events_status)
    remember = _awaited(memory_calls.remember)
    memories = _awaited(memory_calls.memories)
    memory = _awaited(memory_calls.memory)
    revise = _awaited(memory_calls.revise)
    forget = _awaited(memory_calls.forget)
    restore = _awaited(memory_calls.restore)
    share = _awaited(memory_calls.share)
    history = _awaited(memory_calls.history)
    importance = _awaited(memory_calls.importance)
    context = _awaited(context_calls.context)
    greeting = _awaited(context_calls.greeting)
    emotions = _awaited(context_calls.emotions)
    upcoming = _awaited(context_calls.upcoming)
    report = _awaited(context_calls.report)
    profile = _awaited(memory_calls.profile)
    episodes = _awaited(memory_calls.episodes)
    stats = _awaited(memory_calls.stats)
    turns = _awaited(memory_calls.turns)
    tools = _awaited(memory_calls.tools)
    call_tool = _awaited(memory_calls.call_tool)

    async def export(self, user_id: str, *, scope: str = "personal") -> AsyncIterator[Json]:
        """Give a user's memories and their history, a line at a time; the last one has the type `Exported`.

        Raises MnemologError, also when the export ends early.
        """
        call = exchange_calls.export_call(user_id, scope)
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

    import_memories = _awaited(exchange_calls.import_memories)

    checks = _awaited(admin_calls.checks)
    wake = _awaited(wake_calls.wake)
    configure_wake = _awaited(wake_calls.configure_wake)
    remove_wake = _awaited(wake_calls.remove_wake)
    remind = _awaited(wake_calls.remind)
    reminders = _awaited(wake_calls.reminders)
    cancel_reminder = _awaited(wake_calls.cancel_reminder)
    wakes = _awaited(wake_calls.wakes)

    digest = _awaited(admin_calls.digest)
    drain = _awaited(admin_calls.drain)
    tick = _awaited(admin_calls.tick)
    rebuild = _awaited(admin_calls.rebuild)
    generations = _awaited(admin_calls.generations)
    metrics = _awaited(admin_calls.metrics)
    dead_letters = _awaited(admin_calls.dead_letters)
    retry_dead_letters = _awaited(admin_calls.retry_dead_letters)


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

    add = _direct(memory_calls.add)
    search = _direct(memory_calls.search)
    get_user_profile = _direct(memory_calls.get_user_profile)

    publish = _direct(memory_calls.publish)
    event = _direct(memory_calls.event)
    events_status = _direct(memory_calls.events_status)
    remember = _direct(memory_calls.remember)
    memories = _direct(memory_calls.memories)
    memory = _direct(memory_calls.memory)
    revise = _direct(memory_calls.revise)
    forget = _direct(memory_calls.forget)
    restore = _direct(memory_calls.restore)
    share = _direct(memory_calls.share)
    history = _direct(memory_calls.history)
    importance = _direct(memory_calls.importance)
    context = _direct(context_calls.context)
    greeting = _direct(context_calls.greeting)
    emotions = _direct(context_calls.emotions)
    upcoming = _direct(context_calls.upcoming)
    report = _direct(context_calls.report)
    profile = _direct(memory_calls.profile)
    episodes = _direct(memory_calls.episodes)
    stats = _direct(memory_calls.stats)
    turns = _direct(memory_calls.turns)
    tools = _direct(memory_calls.tools)
    call_tool = _direct(memory_calls.call_tool)

    def export(self, user_id: str, *, scope: str = "personal") -> Iterator[Json]:
        """Give a user's memories and their history, a line at a time; the last one has the type `Exported`.

        Raises MnemologError, also when the export ends early.
        """
        call = exchange_calls.export_call(user_id, scope)
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

    import_memories = _direct(exchange_calls.import_memories)

    checks = _direct(admin_calls.checks)
    wake = _direct(wake_calls.wake)
    configure_wake = _direct(wake_calls.configure_wake)
    remove_wake = _direct(wake_calls.remove_wake)
    remind = _direct(wake_calls.remind)
    reminders = _direct(wake_calls.reminders)
    cancel_reminder = _direct(wake_calls.cancel_reminder)
    wakes = _direct(wake_calls.wakes)

    digest = _direct(admin_calls.digest)
    drain = _direct(admin_calls.drain)
    tick = _direct(admin_calls.tick)
    rebuild = _direct(admin_calls.rebuild)
    generations = _direct(admin_calls.generations)
    metrics = _direct(admin_calls.metrics)
    dead_letters = _direct(admin_calls.dead_letters)
    retry_dead_letters = _direct(admin_calls.retry_dead_letters)
