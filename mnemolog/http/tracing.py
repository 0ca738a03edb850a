"""Spans of requests: the server's own, that of the memory operation in it, and the notes of routes on it.

The names are those of OpenTelemetry's conventions for generative AI (`gen_ai.memory.*`, in development) and for HTTP.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, contextmanager, nullcontext
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

import orjson

from mnemolog.access.principal import PRINCIPAL, Principal
from mnemolog.http.bounds.paths import FOUND
from mnemolog.http.own_routes import FROM_WITHIN
from mnemolog.http.peer_door import FROM_PEER
from projections.queries.search import Found
from schemas import telemetry
from schemas.telemetry import TRACEPARENT, TRACESTATE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from starlette.types import Scope

    from projections.queries.search import FoundTurn
    from projections.state.memory import Memory

CREATE: Final = "create_memory"
SEARCH: Final = "search_memory"
UPDATE: Final = "update_memory"
UPSERT: Final = "upsert_memory"
DELETE: Final = "delete_memory"
OPERATIONS: Final = {
    ("POST", "/v1/memories"): CREATE,
    ("POST", "/v1/tools/memory_add"): CREATE,
    ("POST", "/v1/events"): UPSERT,  # their contents become memories, or change some
    ("POST", "/v1/conversations"): UPSERT,
    ("POST", "/v1/import"): UPSERT,
    ("POST", "/v1/search"): SEARCH,
    ("POST", "/v1/tools/memory_search"): SEARCH,
    ("POST", "/v1/context"): SEARCH,
    ("PATCH", "/v1/memories/{memory_id}"): UPDATE,
    ("POST", "/v1/memories/{memory_id}/restore"): UPDATE,
    ("POST", "/v1/memories/{memory_id}/share"): UPDATE,
    ("DELETE", "/v1/memories/{memory_id}"): DELETE,
    ("DELETE", "/v1/memories"): DELETE,
    ("DELETE", "/v1/users/{user_id}"): DELETE,
    ("DELETE", "/api/memories/{memory_id}"): DELETE,
}
"""The memory operation of a route, by its method and template."""
METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
OTHER_METHOD: Final = "_OTHER"
"""The name for a sender's invented method, which must not become the name of a span or a metric series."""
PROBES: Final = frozenset({"/health/live", "/health/ready", "/metrics"})
STORE: Final = "gen_ai.memory.store.id"
RECORD: Final = "gen_ai.memory.record.id"
COUNT: Final = "gen_ai.memory.record.count"
RECORDS: Final = "gen_ai.memory.records"
_NO_SPAN: Final = nullcontext()
QUERY: Final = "gen_ai.memory.query.text"


def request_span(scope: Scope, statuses: Sequence[int]) -> AbstractContextManager[None]:
    """Open a span for a request, in the trace that it names; `statuses` has the answer's status when the block ends.

    The span of an internal request is part of its sender's. The span records the route's template, but neither the path
    nor the query, because both may name a user.
    """
    if not telemetry.is_listened_to() or scope["path"] in PROBES:
        return _NO_SPAN
    return _request_span(scope, statuses)


@contextmanager
def _request_span(scope: Scope, statuses: Sequence[int]) -> Iterator[None]:
    method = scope["method"] if scope["method"] in METHODS else OTHER_METHOD
    asked = {"http.request.method": method, "url.scheme": scope.get("scheme", "http")}
    opened = (
        telemetry.span(method, asked, is_measured=False)
        if FROM_WITHIN in scope
        else telemetry.span(method, asked, kind="server", of=_carrier(scope))
    )
    with opened as span:
        try:
            yield
        finally:
            if (path := _template(scope)) is not None:
                span.rename(f"{method} {path}")
                span.note({"http.route": path})
            if statuses:
                span.note({"http.response.status_code": statuses[0]})
            if not statuses or statuses[0] >= HTTPStatus.INTERNAL_SERVER_ERROR:
                span.fail(str(statuses[0]) if statuses else "unanswered")


def operation_span(scope: Scope, statuses: Sequence[int]) -> AbstractContextManager[None]:
    """Open a span for the memory operation of a route, if it has one; its store is the caller's tenant."""
    if not telemetry.is_listened_to():
        return _NO_SPAN
    operation = OPERATIONS.get((scope["method"], _template(scope) or ""))
    return _NO_SPAN if operation is None else _operation_span(operation, scope, statuses)


@contextmanager
def _operation_span(operation: str, scope: Scope, statuses: Sequence[int]) -> Iterator[None]:
    principal: Principal | None = scope.get(PRINCIPAL)
    named = {"gen_ai.operation.name": operation, STORE: "" if principal is None else principal.tenant}
    with telemetry.span(operation, named, is_measured=FROM_PEER not in scope) as span:
        if memory_id := scope.get("path_params", {}).get("memory_id"):
            span.note({RECORD: memory_id})
        yield
        if statuses and statuses[0] >= HTTPStatus.BAD_REQUEST:
            span.fail(str(statuses[0]))


def note_memory(memory: Memory) -> None:
    """Note the memory that the operation concerned."""
    span = telemetry.current()
    span.note({RECORD: memory.memory_id, COUNT: 1})
    span.reveal(lambda: {RECORDS: _records([(memory, None)])})


def note_found(query: str, results: Iterable[Found | FoundTurn]) -> None:
    """Note the results of the operation, and link it to the traces in which these memories were formed."""
    if not telemetry.is_listened_to():
        return
    memories = [(one.memory, one.ranked.score) for one in results if isinstance(one, Found)]
    span = telemetry.current()
    span.note({COUNT: len(memories)})
    span.reveal(lambda: {QUERY: query, RECORDS: _records(memories)})
    telemetry.found(memory.memory_id for memory, _ in memories)


def _records(memories: Sequence[tuple[Memory, float | None]]) -> str:
    """Return memories in the form of the conventions: JSON of id, content, and the score if there is one."""
    told = [{"id": one.memory_id, "content": one.content, "score": score} for one, score in memories]
    return orjson.dumps([{name: value for name, value in one.items() if value is not None} for one in told]).decode()


def _carrier(scope: Scope) -> dict[str, str]:
    """Return the trace headers of a request, which may be invalid; their reader ignores invalid ones."""
    wanted = (TRACEPARENT, TRACESTATE)
    return {
        name.decode("latin-1"): value.decode("latin-1")
        for name, value in scope["headers"]
        if name.decode("latin-1") in wanted
    }


def _template(scope: Scope) -> str | None:
    """Return the template of a request's route, because a path contains ids."""
    path: str | None = getattr(scope.get(FOUND), "path_format", None)
    return path
