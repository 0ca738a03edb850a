"""The paths of the routes. Other paths are refused before anything is read."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote_to_bytes

from fastapi.routing import APIRoute

from mnemolog.http.permissions import OPEN, access_of
from mnemolog.http.problems import Problem, no_route, not_offered

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.routing import Route
    from starlette.types import Receive, Scope, Send

FOUND: Final = "mnemolog.route"
"""The member of a request's scope that holds the route which answers it."""

USER_PATH: Final = "/v1/users/{user_id:text}"
"""The path at which a user is erased."""


def is_open(route: Route) -> bool:
    """Return whether a route has no personal data, so that a request needs no key."""
    return access_of(route.endpoint) is OPEN


class Paths:
    """The paths of an application, and the routes of each path by method."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._plain: dict[str, dict[str, Route]] = {}
        self._templates: list[Route] = []
        for route in routes:
            if route.param_convertors:
                self._templates.append(route)
            else:
                self._plain.setdefault(route.path, {}).update(dict.fromkeys(route.methods or (), route))

    def find(self, scope: Scope) -> Route:
        """Return the route that answers, and store it in the scope with its path parameters. Raises Problem."""
        route = self._found(scope)
        if route is None and scope["method"] != "DELETE" and len(scope["path"]) > 1 and scope["path"][-1] == "/":
            # A trailing slash is ignored, except for a DELETE, whose path must be exact.
            shorter = {**scope, "path": scope["path"][:-1], "raw_path": scope.get("raw_path", b"").removesuffix(b"/")}
            if (route := self._found(shorter)) is not None:
                scope.update(shorter)
        if route is None:
            raise self._refusal(scope)
        scope[FOUND] = route
        return route

    def _found(self, scope: Scope) -> Route | None:
        """Return the route that answers, and store its path parameters in the scope."""
        method, path = scope["method"], scope["path"]
        if (route := self._plain.get(path, {}).get(method)) is not None:
            return route
        for route in self._templates:
            if method in (route.methods or ()) and (match := route.path_regex.match(path)) and _is_whole(route, scope):
                scope["path_params"] = match.groupdict()
                return route
        return None

    def _refusal(self, scope: Scope) -> Problem:
        """Return the refusal of a path without a route, or of a method that its routes do not have."""
        method, path = scope["method"], scope["path"]
        offered = set(self._plain.get(path, {}))
        for route in self._templates:
            if route.path_regex.match(path) and _is_whole(route, scope):
                offered |= set(route.methods or ())
        if not offered:
            return Problem(HTTPStatus.NOT_FOUND, no_route(method, path))
        allowed = ", ".join(sorted(offered))
        return Problem(HTTPStatus.METHOD_NOT_ALLOWED, not_offered(method, path, allowed), headers={"Allow": allowed})


async def to_found_route(scope: Scope, receive: Receive, send: Send) -> None:
    """Call the route that was found earlier, in place of a router that searches for it."""
    if scope["type"] != "http":
        await scope["app"].router(scope, receive, send)
        return
    route: Route = scope[FOUND]
    enter_route(scope, route)
    await route.app(scope, receive, send)


def enter_route(scope: Scope, route: Route) -> None:
    """Store the values in the scope that a router sets for the route it has found."""
    if route.param_convertors or not isinstance(route, APIRoute):
        scope.update(route.matches(scope)[1])
    else:  # its path and its method were compared when it was found
        scope.update(endpoint=route.endpoint, path_params={}, route=route)


def _is_whole(route: Route, scope: Scope) -> bool:
    """Return whether a match of a user's own path is not a longer path with a different meaning.

    A slash in a user id must be sent as %2F there, so that a wrong method on `/v1/users/{user_id}/…` erases no user.
    """
    return route.path != USER_PATH or scope.get("raw_path", b"").count(b"/") == USER_PATH.count("/")


def check_encoding(scope: Scope) -> None:
    """Refuse a path or a query that is not UTF-8. Raises Problem.

    Invalid bytes would all be decoded to the same character, so that different ids would become equal.
    """
    for part in (scope.get("raw_path") or b"", scope["query_string"]):
        if part.isascii() and b"%" not in part:
            continue
        try:
            unquote_to_bytes(part).decode()
        except UnicodeDecodeError:
            detail = "the path and the query must be UTF-8, percent-encoded"
            raise Problem(HTTPStatus.BAD_REQUEST, detail) from None
