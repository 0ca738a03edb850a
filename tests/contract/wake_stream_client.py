"""A client of the stream of wakes: it reads the server-sent events of an application in this process."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from fastapi import FastAPI

TIMEOUT_SECONDS = 120.0


@dataclass(frozen=True)
class StreamedWake:
    """One wake of a stream, and its id."""

    event_id: str | None
    wake: dict[str, Any]


class WakeStream:
    """What one connection received, in order."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.has_ended = asyncio.Event()
        self._text = ""
        self._more = asyncio.Event()

    def take(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {name.decode(): value.decode() for name, value in message["headers"]}
        else:
            self._text += message.get("body", b"").decode()
            if not message.get("more_body", False):
                self.has_ended.set()
        self._more.set()

    @property
    def text(self) -> str:
        """Everything that has come."""
        return self._text

    async def wait_for(self, text: str) -> None:
        """Wait until a text has come, in the stream's own spelling."""
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while text not in self._text:
                self._more.clear()
                await self._more.wait()

    async def beginning(self) -> str:
        """Return the id that the stream has before its first wake."""
        await self.wait_for("\n\n")
        fields = dict(line.split(": ", 1) for line in self._text.split("\n\n")[0].splitlines())
        return fields["id"]

    async def events(self, count: int) -> list[StreamedWake]:
        """Return the first so many wakes, when they have come."""
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while len(found := self.so_far()) < count:
                self._more.clear()
                await self._more.wait()
        return found[:count]

    def changes(self) -> list[dict[str, Any]]:
        """Return the changes that have come, of a stream of these."""
        blocks = [block.splitlines() for block in self._text.split("\n\n")[:-1]]
        return [orjson.loads(line[6:]) for lines in blocks for line in lines if line.startswith("data: ")]

    async def changed(self, count: int) -> list[dict[str, Any]]:
        """Return the first so many changes, when they have come."""
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while len(found := self.changes()) < count:
                self._more.clear()
                await self._more.wait()
        return found[:count]

    @property
    def last_id(self) -> str:
        """The id that a caller comes back with."""
        return [line[4:] for line in self._text.splitlines() if line.startswith("id: ")][-1]

    def so_far(self) -> list[StreamedWake]:
        """Return the wakes that have come."""
        found = []
        for block in self._text.split("\n\n")[:-1]:
            fields = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
            if fields.get("event") == "wake":
                found.append(StreamedWake(fields.get("id"), orjson.loads(fields["data"])))
        return found


@asynccontextmanager
async def open_wake_stream(
    app: FastAPI,
    query: str = "",
    last_event_id: str | None = None,
    key: str | None = None,
    path: str = "/v1/wakes/stream",
) -> AsyncIterator[WakeStream]:
    """Open a stream of wakes, and hang up at the end of the block."""
    stream, hung_up = WakeStream(), asyncio.Event()
    asked = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> Any:
        if asked:
            return asked.pop()
        await hung_up.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        stream.take(message)

    headers = [(b"host", b"127.0.0.1")]
    if key is not None:
        headers.append((b"x-api-key", key.encode()))
    if last_event_id is not None:
        headers.append((b"last-event-id", last_event_id.encode()))
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": query.encode(),
        "headers": headers,
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }
    task = asyncio.ensure_future(app(scope, receive, send))
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while not stream.status:
                stream._more.clear()
                await stream._more.wait()
        yield stream
    finally:
        hung_up.set()
        await asyncio.wait_for(task, TIMEOUT_SECONDS)
