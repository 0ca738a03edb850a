"""A plan gives a route what FastAPI would give it, once, and leaves to FastAPI what is not as it should be."""

from __future__ import annotations

from typing import Annotated, Any

import httpx
import orjson
import pytest
from fastapi import Cookie, Depends, FastAPI, Header, Query, Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, Field
from support.tables import each

from mnemolog.hooks import extensions
from mnemolog.http.app import ROUTES
from mnemolog.http.bounds.json_body import MAX_VALUES
from mnemolog.http.forwarding import BODY
from mnemolog.http.route_plan import plan_of
from mnemolog.http.routing import MemoryRoute


class Body(BaseModel, extra="forbid"):
    word: Annotated[str, Field(min_length=1)]
    number: int = 7


called: list[str] = []


async def caller(request: Request) -> str:
    called.append("caller")
    return request.method


async def key(who: Annotated[str, Depends(caller)], name: Annotated[str, Header(alias="X-Key", max_length=5)]) -> str:
    called.append("key")
    return f"{who} {name}"


async def endpoint(
    *,
    body: Body,
    place: str,
    who: Annotated[str, Depends(caller)],
    known: Annotated[str, Depends(key)],
    limit: Annotated[int, Query(ge=1)] = 3,
    tags: Annotated[list[str] | None, Query(alias="tag")] = None,
    note: Annotated[str | None, Header(alias="X-Note", min_length=2)] = None,
) -> Response:
    return Response(orjson.dumps([body.model_dump(), place, who, known, limit, tags, note]))


async def with_cookie(biscuit: Annotated[str, Cookie()] = "") -> Response:
    return Response(biscuit)


async def with_two_bodies(one: Body, other: Body) -> Response:
    return Response(one.word + other.word)


async def without_response(body: Body) -> dict[str, Any]:
    return body.model_dump()


def not_awaited() -> int:
    return 1


async def with_thread(number: Annotated[int, Depends(not_awaited)]) -> Response:
    return Response(str(number))


def route_of(function: Any, path: str = "/at/{place}") -> APIRoute:
    app = FastAPI()
    app.post(path)(function)
    found = app.router.routes[-1]
    assert isinstance(found, APIRoute)
    return found


def scope_of(content: bytes, *, kind: bytes, name: bytes, query: bytes) -> dict[str, Any]:
    headers = [(b"content-type", kind), (b"x-key", name)]
    return {
        "type": "http",
        "method": "POST",
        "path": "/at/home",
        "path_params": {"place": "home"},
        "query_string": query,
        "headers": headers,
        BODY: content,
    }


GOOD = {
    "all by default": (b'{"word": "w"}', b"application/json", b"k", b""),
    "all given": (b'{"word": "w", "number": 2}', b"application/json; charset=utf-8", b"k", b"limit=9&tag=a&tag=b"),
    "a value twice": (b'{"word": "w"}', b"application/json", b"k", b"limit=2&limit=4&tag=a"),
}
BAD = {
    "no body": (b"", b"application/json", b"k", b""),
    "no JSON": (b"{", b"application/json", b"k", b""),
    "too many values": (b"[" + b"0," * MAX_VALUES + b"0]", b"application/json", b"k", b""),
    "another kind": (b'{"word": "w"}', b"text/plain", b"k", b""),
    "an unknown field": (b'{"word": "w", "more": 1}', b"application/json", b"k", b""),
    "a blank word": (b'{"word": ""}', b"application/json", b"k", b""),
    "a long key": (b'{"word": "w"}', b"application/json", b"longer", b""),
    "no number": (b'{"word": "w"}', b"application/json", b"k", b"limit="),
    "a number too small": (b'{"word": "w"}', b"application/json", b"k", b"limit=0"),
}


@pytest.mark.parametrize(("content", "kind", "name", "query"), GOOD.values(), ids=GOOD.keys())
async def test_a_plan_answers_as_fastapi_does(content: bytes, kind: bytes, name: bytes, query: bytes):
    route = route_of(endpoint)
    plan = plan_of(route)
    assert plan is not None
    asked = plan.read(Request(scope_of(content, kind=kind, name=name, query=query)))
    assert asked is not None
    app = FastAPI()
    app.router.routes.append(route)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test") as http:
        url = f"/at/home?{query.decode()}"
        by_fastapi = await http.post(url, content=content, headers={"content-type": kind.decode(), "x-key": "k"})
    assert (await plan.run(asked)).body == by_fastapi.content
    assert by_fastapi.status_code == 200


async def test_a_dependency_that_several_take_is_called_once_and_before_them():
    plan = plan_of(route_of(endpoint))
    assert plan is not None
    asked = plan.read(Request(scope_of(*GOOD["all by default"][:1], kind=b"application/json", name=b"k", query=b"")))
    assert asked is not None
    called.clear()
    await plan.run(asked)
    assert called == ["caller", "key"]


@pytest.mark.parametrize(("content", "kind", "name", "query"), BAD.values(), ids=BAD.keys())
async def test_what_is_not_as_it_should_be_is_left_to_fastapi_before_anything_is_called(
    content: bytes, kind: bytes, name: bytes, query: bytes
):
    plan = plan_of(route_of(endpoint))
    assert plan is not None
    called.clear()
    assert plan.read(Request(scope_of(content, kind=kind, name=name, query=query))) is None
    assert called == []


@each("function", [with_cookie, with_two_bodies, without_response, with_thread])
def test_a_route_that_takes_what_a_plan_does_not_know_has_none(function: Any):
    assert plan_of(route_of(function, "/")) is None


def test_every_route_about_memory_has_a_plan():
    given = [route for module in ROUTES for route in module.router.routes]
    given += [route for extension in extensions() for route in extension.routes()]
    found = [route for route in given if isinstance(route, MemoryRoute)]
    assert [route.path for route in found if plan_of(route) is None] == []
    assert len(found) > 100
