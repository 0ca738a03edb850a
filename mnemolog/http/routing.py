"""How JSON comes in and goes out, whatever the route: read and written by orjson, refusals documented as problems."""

from __future__ import annotations

from contextlib import nullcontext
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

import orjson
from fastapi import APIRouter, Request, Response
from fastapi.routing import APIRoute

from mnemolog.http.problems import MEDIA_TYPE, OUT_OF_SESSION, UNKNOWN_HERE, Problem, summary
from mnemolog.log.health import at_leisure
from schemas.inputs.input_events import Fault

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable

    from pydantic import BaseModel

_READS: Final = (
    "/v1/search",
    "/v1/context",
    "/v1/greeting",
    "/v1/events/status",
    "/v1/tools/memory_search",
    "/v1/internal/digest",
    "/v1/internal/wakes",
    "/v1/internal/tenant/places",
    "/v1/internal/tenant/items",
    "/v1/internal/tenant/counts",
)
"""Questions that are no GET."""
_AT_LEISURE: Final = frozenset({
    "/v1/search",
    "/v1/import",
    "/v1/tools/memory_search",
    "/v1/wakes/stream",
    "/v1/admin/drain",
    "/v1/admin/ticks",
    "/v1/admin/rebuild",
    "/v1/internal/import",
    "/v1/internal/drain",
    "/v1/internal/ticks",
    "/v1/internal/rebuild/build",
    "/v1/internal/rebuild/switch",
    "/v1/internal/shard/file",
})  # fmt: skip
"""What takes long by itself, and is not ended because a partition is silent."""
_PROBLEM: Final = {
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


EVERYWHERE: Final = (HTTPStatus.FORBIDDEN, HTTPStatus.MISDIRECTED_REQUEST, HTTPStatus.INTERNAL_SERVER_ERROR)
WITH_BODIES: Final = (HTTPStatus.REQUEST_ENTITY_TOO_LARGE, HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
BY_WORKERS: Final = (HTTPStatus.UNPROCESSABLE_ENTITY, HTTPStatus.SERVICE_UNAVAILABLE)
"""What every route answers that a started worker is needed for."""


def refused(*statuses: HTTPStatus) -> dict[int | str, dict[str, Any]]:
    """Return the description of refusals for the OpenAPI document."""
    return {s.value: {"description": f"{s.phrase}; `detail` says what to do", **_PROBLEM} for s in statuses}


def answers(**shapes: type[BaseModel]) -> dict[int | str, dict[str, Any]]:
    """Return the description of other successes, by their status: `answers(s202=Waiting)`."""
    return {int(name[1:]): {"model": shape} for name, shape in shapes.items()}


class _Request(Request):
    """A request whose JSON is read strictly: no NaN, no halves of characters, which nothing behind could carry."""

    async def json(self) -> Any:  # noqa: ANN401 - any JSON
        return orjson.loads(await self.body())


class _AboutItself(APIRoute):
    """A route of the process: it answers whatever the log and the group do."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **given: Any) -> None:  # noqa: ANN401 - FastAPI's own
        reads = set(given.get("methods") or ("GET",)) == {"GET"}
        given["responses"] = refused(*EVERYWHERE, *(() if reads else WITH_BODIES)) | (given.get("responses") or {})
        super().__init__(path, endpoint, **given)


class _Route(_AboutItself):
    """A route of memory: its answer waits for the log no longer than that answers, and is the group's."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def strict(request: Request) -> Response:
            leisurely = at_leisure() if request.url.path in _AT_LEISURE else nullcontext()
            async with request.app.state.worker.log_watch.waited_for():
                with leisurely:
                    response = await handler(_Request(request.scope, request.receive))
            reads = request.method == "GET" or request.url.path in _READS
            if reads and response.status_code == HTTPStatus.OK and not request.app.state.worker.is_in_session():
                # frozen between the question and the answer: somebody else may have decided meanwhile
                raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, OUT_OF_SESSION)
            return response

        return strict


def routes(
    tag: str,
    prefix: str = "",
    always: Iterable[HTTPStatus] = BY_WORKERS,
    *,
    about_itself: bool = False,
    **more: Any,  # noqa: ANN401 - FastAPI's own settings
) -> APIRouter:
    """Return a router for one part of the front door; `always` are the refusals of all its routes."""
    route = _AboutItself if about_itself else _Route
    return APIRouter(prefix=prefix, tags=[tag], route_class=route, responses=refused(*always), **more)


def answer(body: Any, status: int = 200) -> Response:  # noqa: ANN401 - any JSON
    """Return a JSON response."""
    return Response(orjson.dumps(body), status, media_type="application/json")


async def known_query(request: Request) -> None:
    """Refuse query parameters that the OpenAPI document does not have at this route. Raises Problem."""
    if not request.query_params:
        return
    methods = request.app.openapi()["paths"][request.scope["route"].path_format]
    declared = methods[request.method.lower()].get("parameters", ())
    known = {parameter["name"] for parameter in declared if parameter["in"] == "query"}
    faults = [Fault(f"$.{name}", UNKNOWN_HERE) for name in request.query_params if name not in known]
    if faults:
        raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, summary(faults), faults)
