"""The common behaviour of all routes: JSON by orjson, a deadline for the log, and refusals documented as problems.

A route is a function decorated with `@router.get` or another method, on a router from `routes`. Further decorators mark
exceptions: `@reads` for a route that only reads although its method is not GET, `@takes_long` for one that is itself
slow, and `@needs` for one that needs another role than its module.
"""

from __future__ import annotations

from collections import Counter
from contextlib import nullcontext
from functools import cached_property, partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, TypeVar

import orjson
from fastapi import APIRouter, Depends, Request, Response, params
from fastapi.responses import StreamingResponse
from fastapi.routing import APIRoute
from starlette.middleware.exceptions import ExceptionMiddleware

from mnemolog.http.bounds.json_body import read_json
from mnemolog.http.bounds.paths import FOUND, enter_route, to_found_route
from mnemolog.http.bounds.streams import UNBUFFERED
from mnemolog.http.fastapi_parts import AsyncExitStackMiddleware, Dependant, ModelField, get_flat_params
from mnemolog.http.permissions import OPEN, access_of, declare, is_reading, permit
from mnemolog.http.problems import MEDIA_TYPE, OUT_OF_SESSION, UNKNOWN_HERE, InvalidRequest, Problem
from mnemolog.http.route_plan import Asked, Plan, plan_of
from mnemolog.log.deadline import suspend_deadline
from schemas.inputs.faults import path_of
from schemas.inputs.input_events import Fault

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Coroutine, Iterable, Mapping, Sequence

    from pydantic import BaseModel
    from starlette.types import ASGIApp, ExceptionHandler, Receive, Scope, Send

    from mnemolog.http.permissions import Access
    from mnemolog.worker.worker import Worker

Endpoint = TypeVar("Endpoint", bound="Callable[..., Any]")
T = TypeVar("T")
EVENT_STREAM: Final = "text/event-stream"
EVENTS: Final[dict[int | str, dict[str, Any]]] = {
    200: {"content": {EVENT_STREAM: {"schema": {"type": "string"}}}, "description": "server-sent events"}
}
"""The answer of a route that streams, for the OpenAPI document."""
GIVEN_TWICE: Final = "is given more than once: say which one is meant"
_TAKES_LONG: Final = "mnemolog_takes_long"
_AT_ONCE: Final = "mnemolog_at_once"
_RAISED: Final = "mnemolog.raised"
"""The member of a request's scope that holds the exception that its route raised."""
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


EVERYWHERE: Final = (
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.FORBIDDEN,
    HTTPStatus.MISDIRECTED_REQUEST,
    HTTPStatus.INTERNAL_SERVER_ERROR,
)
WITH_KEYS: Final = (HTTPStatus.UNAUTHORIZED, HTTPStatus.TOO_MANY_REQUESTS)
"""The refusals of a request without a valid key, and of one over a key's limits."""
WITH_BODIES: Final = (
    HTTPStatus.REQUEST_TIMEOUT,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
)
BY_WORKERS: Final = (HTTPStatus.UNPROCESSABLE_ENTITY, HTTPStatus.SERVICE_UNAVAILABLE)
"""The refusals of every route that needs a started worker."""


def refused(*statuses: HTTPStatus) -> dict[int | str, dict[str, Any]]:
    """Return the description of refusals for the OpenAPI document."""
    return {s.value: {"description": f"{s.phrase}; `detail` says what to do", **_PROBLEM} for s in statuses}


def answers(**shapes: type[BaseModel]) -> dict[int | str, dict[str, Any]]:
    """Return the description of other successes, by their status: `answers(s202=Waiting)`."""
    return {int(name[1:]): {"model": shape} for name, shape in shapes.items()}


def takes_long(endpoint: Endpoint) -> Endpoint:
    """Mark a route that is itself slow, so that the deadline for a silent log does not end it."""
    setattr(endpoint, _TAKES_LONG, True)
    return endpoint


def at_once(endpoint: Endpoint) -> Endpoint:
    """Mark an open route without input: the edge answers it without reading a body or passing on the request."""
    setattr(endpoint, _AT_ONCE, True)
    return endpoint


class _Request(Request):
    """A request whose JSON is read strictly: no NaN and no lone surrogates, which later steps could not encode."""

    async def json(self) -> Any:  # noqa: ANN401 - any JSON
        return read_json(await self.body())


class _Router(APIRouter):
    """A router whose access applies to its routes, unless a route has its own."""

    def __init__(self, access: Access | None, **options: Any) -> None:  # noqa: ANN401 - FastAPI's own
        super().__init__(**options)
        self._access = access

    def add_api_route(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:  # noqa: ANN401
        declare(endpoint, self._access)
        super().add_api_route(path, endpoint, **options)


def _answering_at_once(endpoint: Callable[[], Awaitable[Response]]) -> ASGIApp:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        response = await endpoint()
        await response(scope, receive, send)

    return app


class _ProcessRoute(APIRoute):
    """A route about the process: it answers permitted callers regardless of the log and the group."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:  # noqa: ANN401 - FastAPI's own
        has_body = set(options.get("methods") or ("GET",)) != {"GET"}
        with_keys = () if access_of(endpoint) is OPEN else WITH_KEYS
        refusals = refused(*EVERYWHERE, *with_keys, *(WITH_BODIES if has_body else ()))
        options["responses"] = refusals | (options.get("responses") or {})
        super().__init__(path, endpoint, **options)
        self.answers_at_once = hasattr(endpoint, _AT_ONCE)
        if self.answers_at_once:
            assert access_of(endpoint) is OPEN  # noqa: S101 - nobody is asked for a key
            self.app = _answering_at_once(endpoint)

    @cached_property
    def documented_query(self) -> frozenset[str]:
        """The names of the query parameters that the OpenAPI document lists for this route.

        They are read from the document's source, because building the whole document blocks the event loop for half a
        second.
        """
        declared = get_flat_params(Dependant(query_params=_query_params(self.dependant)))
        return frozenset(field.alias for field in declared)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def permitted(request: Request) -> Response:
            permit(request, self.endpoint)
            return await handler(request)

        return permitted


class MemoryRoute(_ProcessRoute):
    """A route about memory.

    It waits for a silent log no longer than its deadline. It returns what it has read only if no other worker can have
    decided anything meanwhile. A plan reads valid requests, FastAPI all others.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:  # noqa: ANN401 - FastAPI's own
        super().__init__(path, endpoint, **options)
        self._plan = plan_of(self)
        self._takes_long = hasattr(endpoint, _TAKES_LONG)

    async def answer(self, scope: Scope, receive: Receive) -> Response | None:
        """Return the answer by the plan; None leaves the request to FastAPI. Raises the route's exceptions."""
        if self._plan is None:
            return None
        request = _Request(scope, receive)
        asked = self._plan.read(request)
        return None if asked is None else await self._bounded(request, partial(self._run, self._plan, asked))

    async def _run(self, plan: Plan, asked: Asked, request: Request) -> Response:
        permit(request, self.endpoint)
        return await plan.run(asked)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler of a request that the plan has left to FastAPI, within the same bounds."""
        handler = super().get_route_handler()

        async def bounded(request: Request) -> Response:
            return await self._bounded(_Request(request.scope, request.receive), handler)

        return bounded

    async def _bounded(self, request: Request, handler: Callable[[Request], Awaitable[Response]]) -> Response:
        worker: Worker = request.scope["app"].state.worker
        async with worker.deadlines.enforced():
            with suspend_deadline() if self._takes_long else nullcontext():
                response = await handler(request)
        is_shown = response.status_code == HTTPStatus.OK and is_reading(request.scope, self.endpoint)
        if is_shown and not worker.is_in_session():
            # The process was frozen between the request and the answer.
            raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, OUT_OF_SESSION)
        return response


class RouteStack:
    """ASGI middleware between the edge and the routes.

    FastAPI's own layers close files and check whether an answer has begun. A route with a plan needs neither and
    bypasses them: it returns its answer, or raises before anything is sent.
    """

    def __init__(self, handlers: Mapping[Any, ExceptionHandler]) -> None:
        """Take the handlers of exceptions that routes raise."""
        self._fastapi: ASGIApp = ExceptionMiddleware(AsyncExitStackMiddleware(to_found_route), handlers)
        self._refusal: ASGIApp = ExceptionMiddleware(_raise, handlers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Call the route that was found; handlers answer its exceptions."""
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
    raise scope.pop(_RAISED)  # no local name holds it: its traceback refers to this frame, which would keep it alive


def routes(
    tag: str,
    prefix: str = "",
    access: Access | None = None,
    always: Iterable[HTTPStatus] = BY_WORKERS,
    *,
    about_process: bool = False,
    checks_query: bool = True,
    dependencies: Sequence[params.Depends] = (),
    **more: Any,  # noqa: ANN401 - FastAPI's own settings
) -> APIRouter:
    """Return a router for one part of the front door; `always` are the refusals of all its routes.

    `access` applies to its routes, except those marked with `@needs`; a route that has neither is refused. If it
    `checks_query`, query parameters that the document does not have are refused.
    """
    route = _ProcessRoute if about_process else MemoryRoute
    checks = [Depends(known_query)] if checks_query else []
    return _Router(
        access,
        prefix=prefix,
        tags=[tag],
        route_class=route,
        responses=refused(*always),
        dependencies=[*checks, *dependencies],
        **more,
    )


def answer(body: Any, status: int = 200) -> Response:  # noqa: ANN401 - any JSON
    """Return a JSON response."""
    return Response(orjson.dumps(body), status, media_type="application/json")


def event_stream(events: AsyncIterator[bytes]) -> Response:
    """Return server-sent events as a response that proxies do not buffer."""
    return StreamingResponse(events, media_type=EVENT_STREAM, headers=UNBUFFERED)


def page_of(found: Sequence[T], view: Callable[[T], Any], page: int, size: int) -> dict[str, Any]:
    """Return a page of results, each in its view, and the total over all pages."""
    items = [view(one) for one in found[(page - 1) * size : page * size]]
    return {"items": items, "total": len(found), "page": page, "page_size": size}


def query_faults(request: Request, documented: Collection[str]) -> list[Fault]:
    """Return the faults in the names of a query: each must be known, and must occur once."""
    names = [name for name, _ in request.query_params.multi_items()]
    if len(set(names)) == len(names) and all(name in documented for name in names):
        return []
    given = Counter(names)
    unknown = [Fault(path_of([name]), UNKNOWN_HERE) for name in given if name not in documented]
    again = [Fault(path_of([name]), GIVEN_TWICE) for name in given if name in documented and given[name] > 1]
    return unknown + again


def _query_params(dependant: Dependant) -> list[ModelField]:
    own = list(dependant.query_params)
    return own + [field for one in dependant.dependencies for field in _query_params(one)]


async def known_query(request: Request) -> None:
    """Refuse query parameters that the OpenAPI document does not list for this route. Raises Problem."""
    if not request.scope["query_string"]:
        return
    faults = query_faults(request, request.scope["route"].documented_query)
    if faults:
        raise InvalidRequest(*faults)
