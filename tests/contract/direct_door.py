"""Requests that are given to the application as they are: for tests that send thousands, whose client would cost most.

They have what httpx sends of a request with a JSON body, and are answered with one of its responses.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlencode

import httpx

if TYPE_CHECKING:
    from collections.abc import Mapping, MutableMapping

    from fastapi import FastAPI

HOST: Final = "127.0.0.1"


class DirectDoor:
    """An application, and how it is asked in this process without a client."""

    def __init__(self, app: FastAPI) -> None:
        """Ask an application that has been started."""
        self._app = app

    async def request(
        self,
        method: str,
        url: str,
        *,
        json: object = None,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> httpx.Response:
        """Send a request, and return its whole answer."""
        body = b"" if json is None else _spelt(json)
        sent = {"host": HOST, "accept": "*/*", "connection": "keep-alive", "user-agent": "tests"}
        sent |= {} if json is None else {"content-type": "application/json", "content-length": str(len(body))}
        sent |= {name.lower(): value for name, value in (headers or {}).items()}
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "headers": [(name.encode(), value.encode()) for name, value in sent.items()],
            "scheme": "http",
            "path": url,
            "raw_path": quote(url).encode(),
            "query_string": urlencode(params or {}).encode(),
            "server": (HOST, None),
            "client": (HOST, 123),
            "root_path": "",
        }
        exchange = _Exchange(body)
        await self._app(scope, exchange.receive, exchange.send)
        return exchange.answer(method)


def _spelt(body: object) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


class _Exchange:
    """One request with its answer, as ASGI has them."""

    def __init__(self, body: bytes) -> None:
        self._body: bytes | None = body
        self._start: MutableMapping[str, Any] = {}
        self._parts: list[bytes] = []
        self._is_over = asyncio.Event()

    async def receive(self) -> dict[str, Any]:
        """Give the body, once, and after the answer the end."""
        if self._body is None:
            await self._is_over.wait()
            return {"type": "http.disconnect"}
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(self, message: MutableMapping[str, Any]) -> None:
        """Take a part of the answer."""
        if message["type"] == "http.response.start":
            assert not self._start
            self._start = message
        elif message["type"] == "http.response.body":
            assert not self._is_over.is_set()
            self._parts.append(message.get("body", b""))
            if not message.get("more_body", False):
                self._is_over.set()

    def answer(self, method: str) -> httpx.Response:
        """Return the answer, which must be whole."""
        assert self._is_over.is_set()
        body = b"" if method == "HEAD" else b"".join(self._parts)
        answer = httpx.Response(self._start["status"], headers=self._start["headers"], content=body)
        answer.encoding = "utf-8"
        return answer
