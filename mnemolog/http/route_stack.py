"""The stack around the routes: a request that is as its route wants it goes straight there, FastAPI gets all others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from fastapi.middleware.asyncexitstack import AsyncExitStackMiddleware
from starlette.middleware.exceptions import ExceptionMiddleware

from mnemolog.http.bounds.paths import FOUND, enter_route, to_found_route
from mnemolog.http.routing import MemoryRoute

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.types import ASGIApp, ExceptionHandler, Receive, Scope, Send

_RAISED: Final = "mnemolog.raised"
"""The member of a request's scope that holds what its route has raised."""


class RouteStack:
    """ASGI middleware between the edge and the routes.

    FastAPI's own layers, which close files and look whether an answer has begun, are passed by what needs neither: a
    route that has a plan returns its answer, or raises before anything is sent.
    """

    def __init__(self, handlers: Mapping[Any, ExceptionHandler]) -> None:
        """Take what answers the errors of routes."""
        self._fastapi: ASGIApp = ExceptionMiddleware(AsyncExitStackMiddleware(to_found_route), handlers)
        self._refusal: ASGIApp = ExceptionMiddleware(_raise, handlers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Have the route that was found answer; errors that have a handler are answered by it."""
        route = scope.get(FOUND)
        if isinstance(route, MemoryRoute):
            enter_route(scope, route)
            try:
                answer = await route.answer(scope, receive)
            except Exception as error:  # noqa: BLE001 - one without a handler is raised again
                scope[_RAISED] = error
                await self._refusal(scope, receive, send)
                return
            if answer is not None:
                await answer(scope, receive, send)
                return
        await self._fastapi(scope, receive, send)


async def _raise(scope: Scope, _receive: Receive, _send: Send) -> None:
    error: Exception = scope.pop(_RAISED)
    raise error
