"""The middleware that every request passes: it bounds the body, measures the time, and turns a bug into a plain 500."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import ExitStack
from http import HTTPStatus
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from mnemolog.access.caller import CALLER
from mnemolog.access.principal import PRINCIPAL
from mnemolog.http.authentication import admit_everybody
from mnemolog.http.forwarding import BODY
from mnemolog.http.origin import READING, reason_to_refuse
from mnemolog.http.peer_door import BETWEEN_WORKERS, FOR_WORKERS, FROM_PEER, let_in
from mnemolog.http.problems import problem

if TYPE_CHECKING:
    from collections.abc import Collection

    from fastapi import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from mnemolog.http.authentication import Authentication
    from mnemolog.worker.metrics import Metrics

MAX_BODY_BYTES: Final = 8 * 1024 * 1024
KEY: Final = b"idempotency-key"
UNKNOWN_ROUTE: Final = "unknown"

log = logging.getLogger("mnemolog.http")


class _TooLarge(Exception):
    """The body is larger than any request may be."""


class _Gone(Exception):
    """The caller hung up before the body was complete."""


class Edge:
    """ASGI middleware around the whole application."""

    def __init__(
        self,
        app: ASGIApp,
        metrics: Metrics,
        hosts: Collection[str] | None = None,
        authentication: Authentication | None = None,
        *,
        names_suffice: bool = True,
    ) -> None:
        """Take the names that the server goes by in Host headers (None: any), and who verifies keys (None: nobody).

        `names_suffice`: another worker is known by its name, and comes in by this door.
        """
        self._app = app
        self._names_suffice = names_suffice
        self._metrics = metrics
        self._hosts = hosts
        self._authentication = authentication

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass one HTTP request through; other scopes, such as lifespan, go by."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        statuses: list[int] = []

        async def watched(message: Message) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])
            await send(message)

        try:
            with ExitStack() as until_answered:
                await self._pass(scope, receive, watched, statuses, until_answered)
        finally:
            route = getattr(scope.get("route"), "path_format", UNKNOWN_ROUTE)
            if statuses:
                self._metrics.answered(route, statuses[0], time.perf_counter() - began)

    async def _pass(
        self, scope: Scope, receive: Receive, send: Send, statuses: list[int], until_answered: ExitStack
    ) -> None:
        try:
            if (refusal := await self._refusal(scope, until_answered)) is not None:
                await refusal(scope, receive, send)
                return
            body = await _body(scope, receive)
            scope[BODY] = body
            _add_key(scope)
            caller = CALLER.set(scope[FROM_PEER] if FROM_PEER in scope else scope.get(PRINCIPAL))
            try:
                await self._app(scope, _replay(body, receive), send)
            finally:
                CALLER.reset(caller)
        except _Gone:
            return
        except _TooLarge:
            detail = f"a request holds at most {MAX_BODY_BYTES} bytes: send it in parts"
            refusal = problem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, detail, headers={"Connection": "close"})
            await refusal(scope, receive, send)
        except asyncio.CancelledError:
            # The server cancels what is still being answered when its grace is over: that too is worth an answer.
            if statuses:
                raise
            detail = "the worker is stopping: ask again in a moment; what was sent may have been accepted"
            await problem(HTTPStatus.SERVICE_UNAVAILABLE, detail)(scope, receive, send)
        except Exception:
            log.exception("a bug: %s %s", scope["method"], scope["path"])
            if statuses:
                raise
            detail = "this is a bug of mnemolog: its log has the details; nothing is known about what was done"
            await problem(HTTPStatus.INTERNAL_SERVER_ERROR, detail)(scope, receive, send)

    async def _refusal(self, scope: Scope, until_answered: ExitStack) -> Response | None:
        """Find whose request it is, before its body is read; return why it is refused, or None."""
        if (refused := reason_to_refuse(scope, self._hosts)) is not None:
            return problem(*refused)
        if not let_in(scope, names_suffice=self._names_suffice):
            return problem(HTTPStatus.NOT_FOUND, FOR_WORKERS)
        if self._authentication is None:
            admit_everybody(scope)
            return None
        return await self._authentication.refusal(scope, until_answered)


def _add_key(scope: Scope) -> None:
    """Add an idempotency key to a request that changes something and has none.

    Sent on to another worker, perhaps twice, it stays the same request.
    """
    if scope["method"] not in READING and all(name != KEY for name, _ in scope["headers"]):
        scope["headers"] = [*scope["headers"], (KEY, str(uuid4()).encode())]


async def _body(scope: Scope, receive: Receive) -> bytes:
    """Return the whole body. Raises _TooLarge as soon as that is known, and _Gone."""
    most = MAX_BODY_BYTES * (2 if scope["path"].startswith(BETWEEN_WORKERS) else 1)
    announced = dict(scope["headers"]).get(b"content-length", b"")
    if announced.isdigit() and int(announced) > most:
        raise _TooLarge
    parts, size = [], 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _Gone
        part: bytes = message.get("body", b"")
        size += len(part)
        if size > most:
            raise _TooLarge
        parts.append(part)
        if not message.get("more_body", False):
            return b"".join(parts)


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that yields the body that was read, and then further messages."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return messages.pop() if messages else await receive()

    return replay
