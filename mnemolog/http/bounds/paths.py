"""The paths of the routes. Other paths, and requests that a key's roles do not allow, are refused before reading."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote_to_bytes

from fastapi.routing import APIRoute

from mnemolog.http.permissions import OPEN, access_of, permit_role
from mnemolog.http.problems import Problem, no_route, not_offered, problem

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fastapi import Response
    from starlette.routing import Route
    from starlette.types import Receive, Scope, Send

FOUND: Final = "mnemolog.route"
"""The member of a request's scope that holds the route which answers it."""

USER_PATH: Final = "/v1/users/{user_id:text}"
"""The path at which a user is erased."""


def is_open(scope: Scope) -> bool:
    """Return whether the route that was found has no personal data, so that a request needs no key."""
    return FOUND in scope and access_of(scope[FOUND].endpoint) is OPEN


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

    def refusal(self, scope: Scope) -> Response | None:
        """Store the route that answers in the scope and return None, or return the refusal if there is none."""
        scope[FOUND], refusal = self._found(scope)
        if refusal is None or scope["method"] == "DELETE" or len(scope["path"]) == 1 or scope["path"][-1] != "/":
            return refusal
        # A trailing slash is ignored, except for a DELETE, whose path must be exact.
        shorter = {**scope, "path": scope["path"][:-1], "raw_path": scope.get("raw_path", b"").removesuffix(b"/")}
        route, refused = self._found(shorter)
        if refused is None:
            scope.update(shorter)
            scope[FOUND] = route
            return None
        return refusal

    def denial(self, scope: Scope) -> Response | None:
        """Return the refusal if the roles of the request's key do not allow the route that was found, or None."""
        route: Route = scope[FOUND]
        try:
            permit_role(scope, route.endpoint)
        except Problem as denied:
            return problem(denied.status_code, denied.detail)
        return None

    def _found(self, scope: Scope) -> tuple[Route | None, Response | None]:
        """Return the route that answers and store its path parameters in the scope, or return the refusal."""
        method, path = scope["method"], scope["path"]
        plain = self._plain.get(path, {})
        if method in plain:
            return plain[method], None
        offered = set(plain)
        for route in self._templates:
            if (match := route.path_regex.match(path)) is not None and _is_whole(route, scope):
                if method in (methods := set(route.methods or ())):
                    scope["path_params"] = match.groupdict()
                    return route, None
                offered |= methods
        if not offered:
            return None, problem(HTTPStatus.NOT_FOUND, no_route(method, path))
        allowed = ", ".join(sorted(offered))
        detail = not_offered(method, path, allowed)
        return None, problem(HTTPStatus.METHOD_NOT_ALLOWED, detail, headers={"Allow": allowed})


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


def malformed(scope: Scope) -> Response | None:
    """Return the refusal of a path or a query that is not UTF-8, or None.

    Invalid bytes would all be decoded to the same character, so that different ids would become equal.
    """
    for part in (scope.get("raw_path") or b"", scope["query_string"]):
        if part.isascii() and b"%" not in part:
            continue
        try:
            unquote_to_bytes(part).decode()
        except UnicodeDecodeError:
            return problem(HTTPStatus.BAD_REQUEST, "the path and the query must be UTF-8, percent-encoded")
    return None
