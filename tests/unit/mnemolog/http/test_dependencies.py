"""The id of a command is derived from the path as its URL has it: a request that is sent again keeps its id."""

from __future__ import annotations

from typing import Any

from fastapi import Request
from support.tables import each

from mnemolog.http.dependencies import AS_IN_URL, url_path


def request_to(path: str) -> Request:
    scope: dict[str, Any] = {
        "type": "http",
        "method": "POST",
        "scheme": "http",
        "server": ("127.0.0.1", 80),
        "path": path,
        "query_string": b"",
        "headers": [(b"host", b"127.0.0.1")],
    }
    return Request(scope)


PATHS = {
    "a collection": "/v1/memories",
    "an id": "/v1/memories/5f0e-11.a_~b/share",
    "a question mark": "/v1/memories/what?/share",
    "a hash": "/v1/memories/a#b",
    "a line": "/v1/memories/a\nb",
    "Chinese": "/v1/users/小明",
    "two slashes": "//v1/memories",
    "a backslash": "/v1/memories/a\\b",
}


@each("path", PATHS.values(), ids=list(PATHS.keys()))
def test_the_path_of_a_commands_id_is_that_of_its_url(path: str):
    assert url_path(request_to(path)) == request_to(path).url.path


def test_the_usual_paths_are_not_made_into_urls():
    assert AS_IN_URL.fullmatch(PATHS["a collection"])
    assert AS_IN_URL.fullmatch(PATHS["an id"])
