"""Listens to a stream of server-sent events of an application in this process, as a caller with a socket would."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from fastapi import FastAPI

PATIENCE_SECONDS = 20.0


@dataclass(frozen=True)
class Heard:
    """An event of a stream."""

    event_id: str | None
    wake: dict[str, Any]


class Listening:
    """What comes over one connection, in order."""

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

    async def wait_for(self, text: str) -> None:
        """Wait until a text has come, in the stream's own spelling."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while text not in self._text:
                self._more.clear()
                await self._more.wait()

    async def beginning(self) -> str:
        """Return the id that the stream has before its first wake."""
        await self.wait_for("\n\n")
        fields = dict(line.split(": ", 1) for line in self._text.split("\n\n")[0].splitlines())
        return fields["id"]

    async def events(self, count: int) -> list[Heard]:
        """Return the first so many wakes, when they have come."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while len(found := self.so_far()) < count:
                self._more.clear()
                await self._more.wait()
        return found[:count]

    def so_far(self) -> list[Heard]:
        """Return the wakes that have come."""
        found = []
        for block in self._text.split("\n\n")[:-1]:
            fields = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
            if fields.get("event") == "wake":
                found.append(Heard(fields.get("id"), orjson.loads(fields["data"])))
        return found


@asynccontextmanager
async def listening(
    app: FastAPI, query: str = "", last_event_id: str | None = None, key: str | None = None
) -> AsyncIterator[Listening]:
    """Open a stream of wakes, and hang up at the end of the block."""
    heard, hung_up = Listening(), asyncio.Event()
    asked = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> Any:
        if asked:
            return asked.pop()
        await hung_up.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        heard.take(message)

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
        "path": "/v1/wakes/stream",
        "raw_path": b"/v1/wakes/stream",
        "root_path": "",
        "query_string": query.encode(),
        "headers": headers,
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }
    task = asyncio.ensure_future(app(scope, receive, send))
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not heard.status:
                heard._more.clear()
                await heard._more.wait()
        yield heard
    finally:
        hung_up.set()
        await asyncio.wait_for(task, PATIENCE_SECONDS)
