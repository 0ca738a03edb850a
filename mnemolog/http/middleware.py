"""The middleware that every request passes: it bounds what is read, measures, and turns a bug into a plain 500."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from contextlib import ExitStack
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from mnemolog.access.caller import in_name_of
from mnemolog.access.principal import PRINCIPAL
from mnemolog.http.bounds.bodies import Bodies, Gone
from mnemolog.http.bounds.origin import READING, check_origin
from mnemolog.http.bounds.paths import FOUND, check_encoding, is_open
from mnemolog.http.bounds.streams import Streams
from mnemolog.http.forwarding import BODY
from mnemolog.http.peer_door import FROM_PEER, check_sender
from mnemolog.http.permissions import permit_role
from mnemolog.http.problems import MEDIA_TYPE, Problem, problem
from mnemolog.http.tracing import operation_span, request_span

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from mnemolog.http.authentication import Authentication
    from mnemolog.http.bounds.paths import Paths
    from mnemolog.worker.metrics import Metrics

KEY: Final = b"idempotency-key"
GENERATED_KEY: Final = "generated-"
"""The prefix of a key that the caller did not supply."""
_KEY_BYTES: Final = 16
_ENDLESS: Final = "/stream"
"""The suffix of paths whose answers are endless."""
UNKNOWN_ROUTE: Final = "unknown"
JSON: Final = b"application/json"
AS_PROBLEM: Final = (b"content-type", MEDIA_TYPE.encode())
"""The header of a refusal; some extensions' clients read a refusal only if it is plain JSON."""
ON_EVERY_ANSWER: Final = {
    b"cache-control": b"no-store",
    b"content-security-policy": b"default-src 'none'; frame-ancestors 'none'",
    b"cross-origin-resource-policy": b"same-origin",
    b"x-content-type-options": b"nosniff",
}
"""Headers that every answer gets unless it sets its own: memories are for the caller only, and never run as a
program."""

log = logging.getLogger("mnemolog.http")


class Edge:
    """ASGI middleware around the whole application."""

    def __init__(
        self,
        app: ASGIApp,
        metrics: Metrics,
        paths: Paths,
        authentication: Authentication,
        *,
        hosts: Collection[str] | None = None,
        names_suffice: bool = True,
        scheme: str | None = None,
        plain_errors: Collection[Callable[[str], bool]] = (),
    ) -> None:
        """Take the paths of the routes, and the server's names in Host headers (None: any).

        `names_suffice`: another worker is identified by its name, and uses this port. `scheme` is the one by which
        browsers reach the server (None: that of the connection). Errors are plain JSON at a path for which one of
        `plain_errors` returns true.
        """
        self._paths = paths
        self._scheme = scheme
        self._plain_errors = plain_errors
        self._bodies = Bodies()
        self._streams = Streams()
        self._app = app
        self._names_suffice = names_suffice
        self._metrics = metrics
        self._hosts = hosts
        self._authentication = authentication

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass an HTTP request through; other scopes, such as lifespan, are not changed."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if scope["method"] == "HEAD" and not scope["path"].endswith(_ENDLESS):
            scope, send = {**scope, "method": "GET"}, _without_body(send)
        began = time.perf_counter()
        statuses: list[int] = []

        async def watched(message: Message) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])
                given = message.setdefault("headers", [])
                if message["status"] >= HTTPStatus.BAD_REQUEST and self._has_plain_errors(scope["path"]):
                    given = [(k, JSON if (k, v) == AS_PROBLEM else v) for k, v in given]
                named = {name.lower() for name, _ in given}
                if named.isdisjoint(ON_EVERY_ANSWER):
                    message["headers"] = [*given, *ON_EVERY_ANSWER.items()]
                else:
                    message["headers"] = [*given, *((k, v) for k, v in ON_EVERY_ANSWER.items() if k not in named)]
            await send(message)

        try:
            with request_span(scope, statuses), ExitStack() as until_answered:
                await self._pass(scope, receive, watched, statuses, until_answered)
        finally:
            if statuses:
                self._metrics.answered(_route(scope), statuses[0], time.perf_counter() - began)

    def _has_plain_errors(self, path: str) -> bool:
        return any(has_plain_errors(path) for has_plain_errors in self._plain_errors)

    async def _pass(
        self, scope: Scope, receive: Receive, send: Send, statuses: list[int], until_answered: ExitStack
    ) -> None:
        try:
            try:
                body = await self._check(scope, receive, until_answered)
            except Problem as refusal:
                await refusal.response()(scope, receive, send)
                return
            if body is None:
                scope["route"] = route = scope[FOUND]
                await route.app(scope, receive, send)
                return
            scope[BODY] = body
            _add_key(scope)
            principal = scope[FROM_PEER] if FROM_PEER in scope else scope.get(PRINCIPAL)
            with in_name_of(principal), operation_span(scope, statuses):
                await self._app(scope, _replay(body, receive), send)
        except Gone:
            return
        except asyncio.CancelledError:
            # After its grace period, the server cancels requests in progress; these get an answer too.
            if statuses:
                raise
            detail = "the worker is stopping: ask again in a moment; what was sent may have been accepted"
            await problem(HTTPStatus.SERVICE_UNAVAILABLE, detail)(scope, receive, send)
        except Exception:
            log.exception("a bug: %s %s", scope["method"], _route(scope))
            if statuses:
                raise
            detail = "this is a bug of mnemolog: its log has the details; nothing is known about what was done"
            await problem(HTTPStatus.INTERNAL_SERVER_ERROR, detail)(scope, receive, send)

    async def _check(self, scope: Scope, receive: Receive, until_answered: ExitStack) -> bytes | None:
        """Make every check that comes before a route, in this order; return the body, None for a route without input.

        Each checks as little as it can of what the next ones read. Raises Problem, Gone.
        """
        check_encoding(scope)
        check_origin(scope, self._hosts, self._scheme)
        check_sender(scope, names_suffice=self._names_suffice)
        route = self._paths.find(scope)
        if not is_open(route):
            await self._authentication.identify(scope, until_answered)
        permit_role(scope, route.endpoint)
        if getattr(route, "answers_at_once", False):
            return None
        until_answered.enter_context(self._streams.counted(scope))
        return await self._bodies.read(scope, receive, until_answered)


def _without_body(send: Send) -> Send:
    """Return a `send` that leaves out the body of an answer, as HEAD requires."""

    async def sent(message: Message) -> None:
        await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

    return sent


def _route(scope: Scope) -> str:
    """Return the template of a request's route, because a path contains ids."""
    return getattr(scope.get("route"), "path_format", UNKNOWN_ROUTE)


def _add_key(scope: Scope) -> None:
    """Add an idempotency key to a request that changes something and has none.

    It then stays the same request if it is sent on to another worker, even twice.
    """
    if scope["method"] not in READING and KEY not in dict(scope["headers"]):
        key = f"{GENERATED_KEY}{os.urandom(_KEY_BYTES).hex()}"
        scope["headers"] = [*scope["headers"], (KEY, key.encode())]


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that yields the body already read, and then further messages."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return messages.pop() if messages else await receive()

    return replay
