"""A request goes straight to a route that has a plan for it, and to FastAPI where it is not as it should be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import httpx
import pytest
from fastapi import FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError

from mnemolog.http.bounds.paths import FOUND
from mnemolog.http.forwarding import BODY
from mnemolog.http.permissions import OPEN, needs
from mnemolog.http.problems import problem
from mnemolog.http.routing import MemoryRoute, RouteStack
from mnemolog.log.deadline import RequestDeadlines

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import Receive, Scope, Send


class KnownError(Exception):
    """One that has a handler."""


class OtherError(Exception):
    """One that has none."""


class Worker:
    """What a route asks of a worker."""

    def __init__(self) -> None:
        self.deadlines = RequestDeadlines()
        self.in_session = True

    def is_in_session(self) -> bool:
        """Return what was set."""
        return self.in_session


async def known(request: Request, error: Exception) -> Response:
    return problem(409, f"{error} at {request.url.path}")


async def answered(limit: Annotated[int, Query(ge=1)] = 3) -> Response:
    if limit == 8:
        raise KnownError("eight")
    if limit == 9:
        raise OtherError("nine")
    return Response(f"limit {limit}")


async def without_plan(limit: Annotated[int, Query(ge=1)] = 3) -> dict[str, int]:
    return {"limit": limit}


class Stack:
    """A route behind its stack, as an application."""

    def __init__(self, endpoint: Callable[..., Any]) -> None:
        self.worker = Worker()
        self.app = FastAPI()
        self.app.state.worker = self.worker
        self.route = MemoryRoute("/it", needs(OPEN)(endpoint), methods=["GET"])
        self.stack = RouteStack({KnownError: known})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request to the route."""
        await self.stack({**scope, "app": self.app, FOUND: self.route, BODY: b""}, receive, send)

    async def get(self, query: str = "") -> httpx.Response:
        """Return the answer to a query."""
        async with httpx.AsyncClient(transport=httpx.ASGITransport(self), base_url="http://test") as http:
            return await http.get(f"/it{query}")


async def test_a_route_answers_by_its_plan():
    assert (await Stack(answered).get("?limit=7")).text == "limit 7"


async def test_a_route_without_a_plan_is_answered_by_fastapi():
    assert (await Stack(without_plan).get("?limit=7")).json() == {"limit": 7}


async def test_what_a_route_raises_is_answered_by_its_handler():
    answer = await Stack(answered).get("?limit=8")
    assert (answer.status_code, answer.json()["detail"]) == (409, "eight at /it")


async def test_what_has_no_handler_is_raised_and_leaves_no_deadline():
    stack = Stack(answered)
    with pytest.raises(OtherError, match="nine"):
        await stack.get("?limit=9")
    assert stack.worker.deadlines.running == 0


async def test_what_is_not_as_it_should_be_is_refused_by_fastapi():
    with pytest.raises(RequestValidationError, match="greater than or equal to 1"):
        await Stack(answered).get("?limit=0")


@pytest.mark.parametrize("endpoint", [answered, without_plan])
async def test_what_was_read_is_not_shown_when_the_session_has_ended_meanwhile(endpoint: Callable[..., Any]):
    stack = Stack(endpoint)
    stack.worker.in_session = False
    assert (await stack.get()).status_code == 503
