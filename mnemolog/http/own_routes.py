"""Internal requests to our own routes, by which MCP and mem0's protocol do their work.

Such a request passes the same checks as one from outside, in the name of the same caller, and is sent on to the worker
that has its user. All but the first count towards the rate of the caller's key, so that a request costs as many as it
makes. They are never refused for this; the caller's next request waits longer instead.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlencode

import orjson

from mnemolog.http.authentication import OF_CALLER, at_no_cost

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fastapi import Request
    from starlette.types import Message, Scope

FROM_WITHIN: Final = "mnemolog.from_within"
"""The member of a request's scope that marks it as internal, part of another request."""
JSON: Final = (b"content-type", b"application/json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Requested:
    """A request to our own routes. The path is percent-encoded."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    is_free: bool = False
    """Whether it is exempt from the rate of the caller's key, because the caller only waits for an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """The answer of a route: JSON, or nothing."""

    status: int
    body: Any
    headers: Mapping[str, str]

    @property
    def is_success(self) -> bool:
        """Whether the request was carried out, or accepted."""
        return HTTPStatus.OK <= self.status < HTTPStatus.MULTIPLE_CHOICES


async def ask(caller: Request, requested: Requested, key: str) -> Answered:
    """Send a request to our own app in a caller's name. The same idempotency key makes it the same request."""
    body = b"" if requested.body is None else orjson.dumps(requested.body)
    given = [(b"content-length", str(len(body)).encode()), JSON] if requested.body is not None else []
    host = [(name, value) for name, value in caller.scope["headers"] if name == b"host"]
    scope: Scope = {
        "type": "http",
        "asgi": caller.scope.get("asgi", {"version": "3.0"}),
        "http_version": "1.1",
        "method": requested.method,
        "scheme": caller.scope["scheme"],
        "path": unquote(requested.path),
        "raw_path": requested.path.encode(),
        "query_string": urlencode(requested.query).encode(),
        "root_path": "",
        "headers": [*host, *given, (b"idempotency-key", key.encode())],
        "client": caller.scope.get("client"),
        "server": caller.scope.get("server"),
        "state": caller.scope.get("state", {}),
        FROM_WITHIN: True,
        **{name: caller.scope[name] for name in OF_CALLER if name in caller.scope},
    }
    if requested.is_free:
        at_no_cost(scope)
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]
    start: dict[str, Any] = {}
    parts: list[bytes] = []

    async def receive() -> Message:
        return messages.pop() if messages else {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            start.update(message)
        else:
            parts.append(message.get("body", b""))

    await caller.app(scope, receive, send)
    told = b"".join(parts)
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in start.get("headers", ())}
    return Answered(status=start["status"], body=orjson.loads(told) if told else None, headers=headers)
