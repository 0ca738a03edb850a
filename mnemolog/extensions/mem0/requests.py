"""A request of mem0's protocol: its body, and the calls of our own routes on its behalf."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, TypeGuard, TypeVar
from urllib.parse import quote

import orjson

from mnemolog.access.principal import PRINCIPAL, Principal
from mnemolog.http.bounds.json_body import read_json
from mnemolog.http.own_routes import Answered, Requested, ask
from mnemolog.http.problems import Problem
from schemas.inputs.nesting import check_depth
from schemas.instant import END_OF_DAY, instant, read_instant

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable, Mapping

    from fastapi import Request

    Body = dict[str, Any]

AT_ONCE: Final = 16
T = TypeVar("T")


class OwnRoutes:
    """Our own routes, with the key and the idempotency of a request of mem0's protocol."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self.key = request.headers.get("idempotency-key", "")
        self.principal: Principal = request.scope[PRINCIPAL]

    async def ask(self, method: str, path: str, *, key: str | None = None, **more: Any) -> Answered:  # noqa: ANN401 - a query or a body
        """Return the answer of a route, even if it is a refusal."""
        requested = Requested(method=method, path=path, **more)
        return await ask(self._request, requested, self.key if key is None else key)

    async def answer(self, method: str, path: str, *, key: str, **more: Any) -> Answered:  # noqa: ANN401 - as `ask`
        """Return the answer of a route. Raises Problem for a refusal."""
        return checked(await self.ask(method, path, key=key, **more))

    async def body(self, method: str, path: str, **more: Any) -> Body:  # noqa: ANN401 - as `ask`
        """Return the body of a route's answer. Raises Problem for a refusal."""
        body: Body = (await self.answer(method, path, key=self.key, **more)).body
        return body

    async def memory(self, memory_id: str) -> Body | None:
        """Return a memory; None if it does not exist. Raises Problem for a refusal."""
        answered = await self.ask("GET", path_of(memory_id))
        if answered.status == HTTPStatus.NOT_FOUND:
            return None
        memory: Body = checked(answered).body
        return memory


def checked(answered: Answered) -> Answered:
    """Return a successful answer. Raises Problem for any other, with mem0's statuses: an invalid request is 400."""
    if answered.is_success:
        return answered
    status = HTTPStatus(answered.status)
    status = HTTPStatus.BAD_REQUEST if status is HTTPStatus.UNPROCESSABLE_ENTITY else status
    raise Problem(status, str((answered.body or {}).get("detail", status.phrase)))


async def several(works: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Await coroutines, AT_ONCE at a time, and return their results in order."""
    left = list(works)
    results: list[T] = []
    for begin in range(0, len(left), AT_ONCE):
        results += await asyncio.gather(*left[begin : begin + AT_ONCE])
    return results


async def body_of(request: Request) -> Body:
    """Return a request's body as an object; {} without a body. Raises Problem."""
    text = await request.body()
    if not text:
        return {}
    try:
        body = read_json(text)
    except orjson.JSONDecodeError as error:
        raise Problem(HTTPStatus.BAD_REQUEST, f"the body is not JSON: {error}") from None
    if not isinstance(body, dict):
        raise Problem(HTTPStatus.BAD_REQUEST, "the body must be a JSON object")
    try:
        check_depth(body)
    except ValueError as error:
        raise Problem(HTTPStatus.BAD_REQUEST, f"the body {error}") from None
    return body


def object_in(body: Body, name: str) -> Mapping[str, Any]:
    """Return an object of a body, {} if it is missing. Raises Problem."""
    value = body.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise Problem(HTTPStatus.BAD_REQUEST, f"{name} must be an object")
    return value


def texts_in(body: Body, name: str) -> list[str]:
    """Return the texts of a list in a body, or a single text as a list; [] without any."""
    value = body.get(name)
    if isinstance(value, str):
        value = [value]
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def number_in(body: Body, name: str, other: object, default: int, most: int) -> int:
    """Return a number of a body, else `other` or the default; greater ones are reduced to `most`. Raises Problem."""
    value = body.get(name, other)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise Problem(HTTPStatus.BAD_REQUEST, f"{name} must be a number of at least 1")
    return min(value, most)


def is_number(value: object) -> TypeGuard[float]:
    """Return whether a value is a number and not a bool."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def instant_of(value: object) -> str | None:
    """Return an instant, given as a text or in seconds since 1970. Raises Problem."""
    try:
        if is_number(value):
            return instant(datetime.fromtimestamp(value, UTC))
        return instant(read_instant(value))
    except (ValueError, OverflowError, OSError) as error:
        raise Problem(HTTPStatus.BAD_REQUEST, f"{str(value)[:64]!r} {error}") from None


def end_of(value: object) -> str:
    """Return an instant; for a date, the end of that day. Raises Problem."""
    at = instant_of(value)
    assert at is not None  # noqa: S101 - or it would have raised
    is_date = isinstance(value, str) and len(value) == len("2026-01-05")
    return f"{at[:10]}{END_OF_DAY}" if is_date else at


def path_of(memory_id: str) -> str:
    """Return the path of a memory. Raises Problem for an id that would lead to another route, which no memory has."""
    if "/" in memory_id:
        raise Problem(HTTPStatus.NOT_FOUND, f"Memory not found! There is none with the id {memory_id!r}")
    return f"/v1/memories/{quote(memory_id, safe='')}"


def without_none(values: Mapping[str, Any]) -> Body:
    """Return the values that are not None."""
    return {name: value for name, value in values.items() if value is not None}
