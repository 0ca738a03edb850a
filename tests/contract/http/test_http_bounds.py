"""Bounds of texts over HTTP: what would take long to compare or to embed is refused with a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from contract.front_door import FrontDoor, front_door

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.asyncio(loop_scope="module")

MARKED = "e" + "\u0301\u0323" * 16
MARKS = "has more than 30 combining marks in a row: take them out"
TURN = {"type": "TurnRecorded", "user_id": "u1", "session_id": "s1", "role": "user"}
ARTICLE = {"type": "ArticleInferred", "user_id": "u1"}
SHOT = {"type": "ScreenshotAnalysed", "user_id": "u1"}
FACT = {"user_id": "u1", "content": "x"}
LONG = "4" * 200


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def door(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[FrontDoor]:
    async with front_door(tmp_path_factory.mktemp("worker")) as opened:
        yield opened


@pytest.mark.parametrize(
    ("path", "body", "place"),
    [
        ("/v1/events", TURN | {"content": MARKED}, "$.content"),
        ("/v1/events", TURN | {"content": "x", "name": MARKED}, "$.name"),
        ("/v1/events", [TURN | {"content": "x"}, ARTICLE | {"content": "x", "title": MARKED}], "$[1].title"),
        ("/v1/events", SHOT | {"text": MARKED}, "$.text"),
        ("/v1/events", SHOT | {"text": "x", "summary": MARKED}, "$.summary"),
        (
            "/v1/conversations",
            {"user_id": "u1", "messages": [{"role": "user", "content": MARKED}]},
            "$.messages[0].content",
        ),
        ("/v1/memories", FACT | {"content": MARKED}, "$.content"),
        ("/v1/memories", FACT | {"attribute": "likes", "value": MARKED}, "$.value"),
        ("/v1/search", {"user_id": "u1", "query": MARKED}, "$.query"),
        ("/v1/context", {"user_id": "u1", "query": MARKED}, "$.query"),
        ("/v1/tools/memory_add", {"user_id": "u1", "content": MARKED}, "$.content"),
    ],
)
async def test_a_row_of_marks_is_refused(door: FrontDoor, path: str, body: Any, place: str):
    response = await door.post(path, body)
    assert (response.status_code, response.json()["errors"]) == (422, [{"path": place, "message": MARKS}])


@pytest.mark.parametrize("name", ["content", "value"])
async def test_a_row_of_marks_is_refused_in_an_import(door: FrontDoor, name: str):
    line = {"type": "Memory", "user_id": "u1", "content": "x", "attribute": "likes"} | {name: MARKED}
    response = await door.post("/v1/import", [line])
    assert (response.status_code, response.json()["errors"]) == (422, [{"path": f"$[0].{name}", "message": MARKS}])


@pytest.mark.parametrize("attribute", ["likes", "birthday", "important_dates", "age"])
async def test_a_value_has_at_most_200_characters(door: FrontDoor, attribute: str):
    fact = {"user_id": "values", "content": f"x {attribute}", "attribute": attribute}
    response = await door.post("/v1/memories", fact | {"value": LONG * 300})
    assert (response.status_code, response.json()["errors"]) == (
        422,
        [{"path": "$.value", "message": "must have at most 200 characters"}],
    )
    memory = await door.remember("likes tea", f"values-{attribute}", attribute="likes", value="t" * 200)
    response = await door.http.patch(f"/v1/memories/{memory['memory_id']}", json={"value": "t" * 201})
    assert response.json()["errors"] == [{"path": "$.value", "message": "must have at most 200 characters"}]


async def test_an_import_takes_values_as_long_as_a_models(door: FrontDoor):
    line = {"type": "Memory", "user_id": "imported", "content": "x", "attribute": "likes"}
    assert (await door.post("/v1/import", [line | {"value": "v" * 500}])).status_code == 200
    [error] = (await door.post("/v1/import", [line | {"value": "v" * 501}])).json()["errors"]
    assert error == {"path": "$[0].value", "message": "has 501 characters: at most 500 are allowed"}


@pytest.mark.parametrize("path", ["/v1/search", "/v1/context", "/v1/tools/memory_search"])
async def test_a_query_has_at_most_4_kib(door: FrontDoor, path: str):
    assert (await door.post(path, {"user_id": "u1", "query": "茶" * 1_365})).status_code == 200
    response = await door.post(path, {"user_id": "u1", "query": "茶" * 1_366})
    [error] = response.json()["errors"]
    assert response.status_code == 422
    assert error == {"path": "$.query", "message": "has 4098 bytes: at most 4096 are allowed, ask with less of it"}
