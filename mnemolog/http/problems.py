"""Problems: every refusal is application/problem+json, with a sentence that tells the caller what to do."""

from __future__ import annotations

import math
from http import HTTPStatus
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import orjson
from fastapi import Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from mnemolog.access.verifier import TooMany
from mnemolog.changes.feed import UnknownCursor
from mnemolog.cluster.peers import PeerUnavailable, WorkersDiffer
from mnemolog.commands.commands import AnotherCommand
from mnemolog.operations.drain import DrainTimeout
from mnemolog.operations.encoding_builder import ReembedRefused
from mnemolog.operations.rebuild import RebuildDiffers, RebuildInterrupted, RebuildRunning, UnknownGeneration
from mnemolog.operations.reextraction import DecisionsStalled
from mnemolog.wakes.stream import UnknownPosition
from projections.embedding.choice import EmbedderUnusable
from projections.embedding.embedder import EmbedderRefused, EmbedderUnavailable
from projections.index.protocol import IndexUnavailable
from projections.partitions.assignment import HistoryDamaged
from projections.shard.errors import ShardDamaged, ShardUnavailable
from schemas.identity import InvalidOwner
from schemas.inputs.faults import path_of, plain
from schemas.inputs.input_events import Fault
from schemas.log import LogUnavailable, RecordTooLarge

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fastapi import FastAPI, Request

MEDIA_TYPE: Final = "application/problem+json"
MAX_ERRORS: Final = 100
"""The most errors in one answer, enough to correct a request."""
RETRY_SECONDS: Final = 1
MAX_PATH_CHARACTERS: Final = 300
"""The most characters of a path that a refusal repeats."""
_STATUSES: Final[dict[type[Exception], HTTPStatus]] = {
    LogUnavailable: HTTPStatus.SERVICE_UNAVAILABLE,
    RecordTooLarge: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    ShardUnavailable: HTTPStatus.SERVICE_UNAVAILABLE,
    ShardDamaged: HTTPStatus.SERVICE_UNAVAILABLE,
    HistoryDamaged: HTTPStatus.SERVICE_UNAVAILABLE,
    IndexUnavailable: HTTPStatus.SERVICE_UNAVAILABLE,
    EmbedderUnavailable: HTTPStatus.SERVICE_UNAVAILABLE,
    PeerUnavailable: HTTPStatus.SERVICE_UNAVAILABLE,
    DrainTimeout: HTTPStatus.SERVICE_UNAVAILABLE,
    DecisionsStalled: HTTPStatus.SERVICE_UNAVAILABLE,
    RebuildRunning: HTTPStatus.CONFLICT,
    WorkersDiffer: HTTPStatus.CONFLICT,
    RebuildInterrupted: HTTPStatus.SERVICE_UNAVAILABLE,
    UnknownGeneration: HTTPStatus.NOT_FOUND,
    RebuildDiffers: HTTPStatus.INTERNAL_SERVER_ERROR,
    AnotherCommand: HTTPStatus.CONFLICT,
    EmbedderRefused: HTTPStatus.UNPROCESSABLE_ENTITY,
    EmbedderUnusable: HTTPStatus.UNPROCESSABLE_ENTITY,
    ReembedRefused: HTTPStatus.CONFLICT,
    InvalidOwner: HTTPStatus.UNPROCESSABLE_ENTITY,
    UnknownPosition: HTTPStatus.UNPROCESSABLE_ENTITY,
    UnknownCursor: HTTPStatus.UNPROCESSABLE_ENTITY,
}
"""The status of each of our own errors; subclasses share it."""
OUT_OF_SESSION: Final = "the log's group has not heard of this worker for too long: ask again, or another worker"
MOVING: Final = "partitions are moving between workers: ask again in a moment"
UNKNOWN_HERE: Final = "is not known here: remove it or correct its name"
_BODY_HINT: Final = "the body must be a JSON object, sent with Content-Type: application/json"


class Problem(HTTPException):
    """A refused request; `errors` are the faults of its body, each with its JSON path."""

    def __init__(
        self, status: HTTPStatus, detail: str, errors: Sequence[Fault] = (), headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(status, detail, headers)
        self.errors = errors

    def response(self) -> Response:
        """Return the answer."""
        return problem(self.status_code, self.detail, self.errors, self.headers)


def problem(
    status: int, detail: str, errors: Sequence[Fault] = (), headers: Mapping[str, str] | None = None
) -> Response:
    """Return a refusal as a response; a 503 states when to retry."""
    http_status = HTTPStatus(status)
    body: dict[str, Any] = {
        "type": "about:blank",
        "title": http_status.phrase,
        "status": http_status.value,
        "detail": detail,
    }
    if errors:
        body["errors"] = [{"path": e.path, "message": e.message} for e in errors[:MAX_ERRORS]]
    extra = dict(headers or {})
    if http_status is HTTPStatus.SERVICE_UNAVAILABLE:
        extra.setdefault("Retry-After", str(RETRY_SECONDS))
    # A path in the detail may contain text that is not UTF-8.
    content = orjson.dumps(_clean(body))
    return Response(content, http_status.value, headers=extra, media_type=MEDIA_TYPE)


def too_many(error: TooMany) -> Problem:
    """Return the refusal of a key that has exceeded a limit; it states when to retry."""
    seconds = max(1, math.ceil(error.seconds))
    return Problem(HTTPStatus.TOO_MANY_REQUESTS, str(error), headers={"Retry-After": str(seconds)})


def _clean(value: Any) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, dict):
        return {k: _clean(v) for k, v in value.items()}
    return [_clean(v) for v in value] if isinstance(value, list) else value


def summary(errors: Sequence[Fault]) -> str:
    """Return the first fault as a sentence, with the number of further ones, which are counted up to MAX_ERRORS."""
    more = f", and {len(errors) - 1} more" if len(errors) > 1 else ""
    if len(errors) > MAX_ERRORS:
        more = f", and at least {MAX_ERRORS} more"
    return f"{errors[0].path}: {errors[0].message}{more}"


class InvalidRequest(Problem):
    """A request that is refused with 422 for its faults; the detail states the first."""

    def __init__(self, *faults: Fault) -> None:
        super().__init__(HTTPStatus.UNPROCESSABLE_ENTITY, summary(faults), faults)


def no_route(method: str, path: str) -> str:
    """Return the detail of a refusal for a path without a route."""
    return f"there is no route {method} {path[:MAX_PATH_CHARACTERS]}: /docs lists those there are"


def not_offered(method: str, path: str, allowed: str) -> str:
    """Return the detail of a refusal for a method that a path does not have; `allowed` are those that it has."""
    return f"{method} {path[:MAX_PATH_CHARACTERS]} is not offered: use {allowed}"


def install(app: FastAPI) -> None:
    """Make the app answer each of our errors with a problem."""
    app.add_exception_handler(HTTPException, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    for kind in _STATUSES:
        app.add_exception_handler(kind, _of_ours)
    app.add_exception_handler(TooMany, _too_many)


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for it
    if isinstance(error, Problem):
        return error.response()
    detail = error.detail
    if error.status_code == HTTPStatus.NOT_FOUND:
        detail = no_route(request.method, request.url.path)
    elif error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        detail = not_offered(request.method, request.url.path, (error.headers or {}).get("Allow", "another method"))
    return problem(error.status_code, detail, headers=error.headers)


async def _invalid(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - registered for it
    forget_frames(error.errors())
    faults = [_fault(e) for e in islice(error.errors(), MAX_ERRORS + 1)]
    return problem(HTTPStatus.UNPROCESSABLE_ENTITY, summary(faults), faults)


def forget_frames(errors: Iterable[Any]) -> None:
    """Remove the tracebacks of validators' errors: their frames would keep the error and the body in memory."""
    for error in errors:
        if isinstance(known := error.get("ctx", {}).get("error"), Exception):
            known.__traceback__ = None


async def _too_many(_request: Request, error: Exception) -> Response:
    assert isinstance(error, TooMany)  # noqa: S101 - registered for it
    return too_many(error).response()


async def _of_ours(_request: Request, error: Exception) -> Response:
    status = next(s for kind, s in _STATUSES.items() if isinstance(error, kind))
    return problem(status, str(error) or (type(error).__doc__ or ""))


def _fault(error: Any) -> Fault:  # noqa: ANN401 - pydantic's ErrorDetails
    where, *places = error["loc"]
    if error["type"] == "json_invalid":
        return Fault("$", f"is not JSON: {error['ctx']['error']} at character {places[0] if places else 0}")
    if where == "body" and not places and error["type"] != "value_error":  # our own value_error concerns the body
        return Fault("$", _BODY_HINT)
    path = path_of(places)
    if error["type"] == "extra_forbidden":
        return Fault(path, UNKNOWN_HERE)
    return Fault(path, plain(error))
