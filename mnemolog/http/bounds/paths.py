"""Paths that routes answer: any other is refused before anything is read."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import unquote_to_bytes

from mnemolog.http.problems import no_route, not_offered, problem

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable

    from fastapi import Response
    from starlette.routing import Route
    from starlette.types import Scope


class Paths:
    """The paths of an application, and the methods of each."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._plain: dict[str, set[str]] = {}
        self._templates: list[tuple[re.Pattern[str], set[str]]] = []
        for route in routes:
            methods = set(route.methods or ())
            if route.param_convertors:
                self._templates.append((route.path_regex, methods))
            else:
                self._plain.setdefault(route.path, set()).update(methods)

    def refusal(self, scope: Scope) -> Response | None:
        """Return why no route answers, or None."""
        method, path = scope["method"], scope["path"]
        offered = self._plain.get(path, set())
        if method in offered:
            return None
        for pattern, methods in self._templates:
            if pattern.match(path):
                if method in methods:
                    return None
                offered = offered | methods
        if not offered:
            return problem(HTTPStatus.NOT_FOUND, no_route(method, path))
        allow = {"Allow": ", ".join(sorted(offered))}
        return problem(HTTPStatus.METHOD_NOT_ALLOWED, not_offered(method, path), headers=allow)


def malformed(scope: Scope) -> Response | None:
    """Return why a path or a query is refused whose bytes are no text, or None.

    Each byte that is none would be read as the same character: different ids would be one.
    """
    for part in (scope.get("raw_path") or b"", scope["query_string"]):
        try:
            unquote_to_bytes(part).decode()
        except UnicodeDecodeError:
            return problem(HTTPStatus.BAD_REQUEST, "the path and the query must be UTF-8, percent-encoded")
    return None
