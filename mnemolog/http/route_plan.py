"""Route plans: each reads the arguments of a route from a request as FastAPI does, but is built only once.

FastAPI determines the order of dependencies again for each request, and checks four kinds of parameters for each
dependency. A plan does the same with the same fields. It reads everything before it calls anything, and leaves every
invalid request to FastAPI, which then reports the error in its usual words.
"""

from __future__ import annotations

import inspect
import types
import typing
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from fastapi import Response, params

from mnemolog.http.bounds.json_body import read_json
from mnemolog.http.fastapi_parts import Dependant, ModelField, request_params_to_args
from mnemolog.http.forwarding import BODY
from mnemolog.http.problems import forget_frames

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from fastapi import Request
    from fastapi.routing import APIRoute

Asked: TypeAlias = "list[dict[str, Any]]"
"""The arguments that a request gives to each step, by name."""

_JSON: Final = "application/json"
_PLAIN: Final = (str, int, float, datetime, Enum, types.NoneType)
_UNKNOWN: Final = (
    "cookie_params",
    "websocket_param_name",
    "http_connection_param_name",
    "response_param_name",
    "background_tasks_param_name",
    "security_scopes_param_name",
    "own_oauth_scopes",
    "parent_oauth_scopes",
    "concurrency",
)
"""The features that a plan does not support: a route with a dependency that uses one has no plan."""


@dataclass(frozen=True, slots=True)
class _Step:
    """A function to call, a dependency or finally the route, and the places of the results that it takes."""

    call: Callable[..., Awaitable[Any]]
    given: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class _Value:
    """A parameter with a single value under one name, which FastAPI would determine again for each request."""

    field: ModelField
    alias: str
    place: tuple[str, str]
    header: bytes
    """The header name in ASGI's spelling, in lower case."""

    @classmethod
    def of(cls, field: ModelField) -> _Value:
        info = field.field_info
        assert isinstance(info, params.Param)  # noqa: S101 - of a path, a query or a header
        return cls(field, field.alias, (info.in_.value, field.alias), field.alias.lower().encode("latin-1"))

    def of_request(self, request: Request) -> tuple[Any, list[Any]]:
        """Return the value, or the default, which is shared by all requests, and the errors."""
        match self.place[0]:
            case "header":
                value = _header(request, self.header)
            case "query" if not request.scope["query_string"]:
                value = None
            case "query":
                value = request.query_params.get(self.alias)
            case _:
                value = request.path_params.get(self.alias)
        if value is None:
            return self.field.default, []
        read: tuple[Any, list[Any]] = self.field.validate(value, {}, loc=self.place)
        return read


def _is_single(field: ModelField) -> bool:
    """Return whether a parameter is a single value under one name, with None or a plain value as its default."""
    info = field.field_info
    return (
        _is_plain(info.annotation)
        and info.validation_alias in {None, field.alias}
        and not info.is_required()
        and not info.validate_default
        and info.default_factory is None
        and isinstance(info.default, str | int | float | None)
    )


def _is_plain(annotation: Any) -> bool:  # noqa: ANN401 - a type hint
    """Return whether a type is known to be plain, or a union of plain types; FastAPI reads all other types."""
    if typing.get_origin(annotation) is typing.Literal:
        return True
    if several := typing.get_args(annotation):
        is_union = typing.get_origin(annotation) in {types.UnionType, typing.Union}
        is_told = typing.get_origin(annotation) is typing.Annotated
        return _is_plain(several[0]) if is_told else is_union and all(map(_is_plain, several))
    return isinstance(annotation, type) and issubclass(annotation, _PLAIN)


class Plan:
    """The steps of a route; each dependency occurs once, ahead of the functions that take it."""

    def __init__(self) -> None:
        self._steps: list[_Step] = []
        self._places: dict[Callable[..., Any], int] = {}
        self._params: list[tuple[int, Sequence[ModelField], str]] = []
        """The parameters of each step that has some, and the member of a request that holds them."""
        self._values: list[tuple[int, _Value]] = []
        """The parameters that are a single value."""
        self._bodies: list[tuple[int, ModelField]] = []
        self._requests: list[tuple[int, str]] = []

    def add(self, dependant: Dependant) -> int | None:
        """Add the dependencies of a function, and then itself; return its place, or None if that is unsupported."""
        call = dependant.call
        if call is None or not inspect.iscoroutinefunction(call) or not dependant.use_cache:
            return None
        if any(getattr(dependant, name) for name in _UNKNOWN):
            return None
        given = []
        for other in dependant.dependencies:
            place = self._places.get(other.call) if other.call else None
            if place is None and (place := self.add(other)) is None:
                return None
            if other.name is not None:
                given.append((other.name, place))
        self._steps.append(_Step(call, tuple(given)))
        self._places[call] = place = len(self._steps) - 1
        read = {"path_params": dependant.path_params, "query_params": dependant.query_params}
        read |= {"headers": dependant.header_params}
        for member, fields in read.items():
            self._values += [(place, _Value.of(field)) for field in fields if _is_single(field)]
            if others := [field for field in fields if not _is_single(field)]:
                self._params.append((place, others, member))
        self._bodies += [(place, field) for field in dependant.body_params]
        if dependant.request_param_name is not None:
            self._requests.append((place, dependant.request_param_name))
        return place

    @property
    def has_members_as_bodies(self) -> bool:
        """Whether a parameter is a member of the body, as FastAPI requires for several bodies or `embed`."""
        names = {body.name for _, body in self._bodies}
        return len(names) > 1 or any(getattr(body.field_info, "embed", None) for _, body in self._bodies)

    def read(self, request: Request) -> Asked | None:
        """Return the arguments that a request gives to the steps; None leaves the request to FastAPI."""
        asked: Asked = [{} for _ in self._steps]
        try:
            for place, fields, member in self._params:
                found, errors = request_params_to_args(fields, getattr(request, member))
                if errors:
                    forget_frames(errors)
                    return None
                asked[place].update(found)
            for place, value in self._values:
                read, errors = value.of_request(request)
                if errors:
                    forget_frames(errors)
                    return None
                asked[place][value.field.name] = read
            for place, body in self._bodies:
                read, errors = body.validate(_json(request), {}, loc=("body",))
                if errors:
                    forget_frames(errors)
                    return None
                asked[place][body.name] = read
        except Exception:  # noqa: BLE001 - whatever it is, FastAPI meets it again and answers it
            return None
        for place, name in self._requests:
            asked[place][name] = request
        return asked

    async def run(self, asked: Asked) -> Response:
        """Call the steps in order; return the answer of the last one, the route."""
        results: list[Any] = []
        for step, values in zip(self._steps, asked, strict=True):
            for name, place in step.given:
                values[name] = results[place]
            results.append(await step.call(**values))
        answer: Response = results[-1]
        return answer


def plan_of(route: APIRoute) -> Plan | None:
    """Return the plan of a route; None if a plan cannot support it."""
    answers = typing.get_type_hints(route.endpoint).get("return")
    if not (isinstance(answers, type) and issubclass(answers, Response)):
        return None
    field = route.body_field
    if field is not None and isinstance(field.field_info, params.Form):
        return None
    plan = Plan()
    return None if plan.add(route.dependant) is None or plan.has_members_as_bodies else plan


def _json(request: Request) -> Any:  # noqa: ANN401 - any JSON
    """Return the JSON of a body. Raises if it is not JSON, or if its Content-Type is not plainly JSON."""
    if (_header(request, b"content-type") or "").partition(";")[0] != _JSON:
        raise ValueError("said in another way, or not at all")
    return read_json(request.scope[BODY])


def _header(request: Request, name: bytes) -> str | None:
    """Return the first header of a name, which ASGI lower-cases."""
    return next((value.decode("latin-1") for key, value in request.scope["headers"] if key == name), None)
