"""How JSON comes in and goes out, whatever the route: read and written by orjson, refusals documented as problems."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

import orjson
from fastapi import APIRouter, Request, Response
from fastapi.routing import APIRoute

from mnemolog.http.problems import MEDIA_TYPE, OUT_OF_SESSION, Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

_READS: Final = ("/v1/search", "/v1/events/status")
"""Questions that are no GET."""
_PROBLEM: Final = {
    "description": "refused; `detail` says what to do",
    "content": {
        MEDIA_TYPE: {
            "schema": {
                "type": "object",
                "required": ["type", "title", "status", "detail"],
                "properties": {
                    "type": {"type": "string"},
                    "title": {"type": "string"},
                    "status": {"type": "integer"},
                    "detail": {"type": "string"},
                    "errors": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {"path": {"type": "string"}, "message": {"type": "string"}},
                        },
                    },
                },
            }
        }
    },
}


class _Request(Request):
    """A request whose JSON is read strictly: no NaN, no halves of characters, which nothing behind could carry."""

    async def json(self) -> Any:  # noqa: ANN401 - any JSON
        return orjson.loads(await self.body())


class _Route(APIRoute):
    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def strict(request: Request) -> Response:
            response = await handler(_Request(request.scope, request.receive))
            reads = request.method == "GET" or request.url.path in _READS
            if reads and response.status_code == HTTPStatus.OK and not request.app.state.worker.is_in_session():
                # frozen between the question and the answer: somebody else may have decided meanwhile
                raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, OUT_OF_SESSION)
            return response

        return strict


def routes(tag: str, prefix: str = "", **more: Any) -> APIRouter:  # noqa: ANN401 - FastAPI's own settings
    """Return a router for one part of the front door."""
    answers: dict[int | str, dict[str, Any]] = {"4XX": _PROBLEM, "5XX": _PROBLEM}
    return APIRouter(prefix=prefix, tags=[tag], route_class=_Route, responses=answers, **more)


def answer(body: Any, status: int = 200) -> Response:  # noqa: ANN401 - any JSON
    """Return a JSON response."""
    return Response(orjson.dumps(body), status, media_type="application/json")
