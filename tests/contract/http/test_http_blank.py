"""Requests that say nothing where something is to be said: what is blank, and users without a name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import pytest_asyncio
from contract.front_door import FrontDoor, front_door, turn

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def door(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[FrontDoor]:
    async with front_door(tmp_path_factory.mktemp("worker")) as opened:
        yield opened


async def refused(door: FrontDoor, asked: str, body: dict[str, object] | None) -> str:
    """Return the sentence with which a request such as `POST /v1/search` is refused."""
    method, path = asked.split(" ")
    response = await door.http.request(method, path, json=body)
    assert response.status_code == 422, response.text
    detail: str = response.json()["detail"]
    return detail


MEMORY = {"user_id": "u", "content": "likes tea"}
REMINDER = {"due_at": "2100-01-01", "content": "call mum"}


@pytest.mark.parametrize(
    ("asked", "body", "field", "told"),
    [
        ("POST /v1/memories", MEMORY, "content", "say what to remember"),
        ("POST /v1/memories", MEMORY | {"value": "tea"}, "attribute", "name the attribute, such as likes"),
        ("POST /v1/memories", MEMORY | {"attribute": "likes"}, "value", "say the value; "),
        ("PATCH /v1/memories/m", {}, "content", "say what to remember"),
        ("PATCH /v1/memories/m", {}, "value", "say the value; to empty its place in the profile, forget the memory"),
        ("POST /v1/tools/memory_add", {}, "content", "say what to remember"),
        ("POST /v1/users/u/reminders", REMINDER, "content", "say what to remind of"),
        ("PUT /v1/users/u/wake", {"every_seconds": 60}, "text", "say what to tell the agent"),
        ("POST /v1/import", MEMORY, "content", "say what was remembered"),
    ],
)
async def test_what_is_blank_is_refused_and_what_to_say_instead_is_told(
    door: FrontDoor, asked: str, body: dict[str, object], field: str, told: str
):
    for blank in (" ", "\u3000\n", "\u200b"):
        assert f"$.{field}: is blank: {told}" in await refused(door, asked, body | {field: blank})


async def test_a_blank_observation_is_taken_and_nothing_comes_of_it(door: FrontDoor):
    """No contract lets it be refused: an agent sends its whole context, whatever was said in it."""
    blank = [turn("b-1", " ", user_id="b"), turn("b-2", "\u3000", user_id="b", role="assistant")]
    verbatim = turn("b-3", "", user_id="b", infer=False, session_id="s2")
    article = {"type": "ArticleInferred", "event_id": "b-4", "user_id": "b", "content": "\n"}
    end = {"type": "SessionEnded", "event_id": "b-5", "user_id": "b", "session_id": "s1"}
    response = await door.http.post("/v1/events?wait=60", json=[*blank, verbatim, article, end])
    assert (response.status_code, {one["state"] for one in response.json()["accepted"]}) == (200, {"nothing"})
    assert (await door.get("/v1/memories", user_id="b")).json()["items"] == []


@pytest.mark.parametrize(
    ("asked", "body", "told"),
    [
        ("POST /v1/search", {"query": "tea"}, "$.user_id: user_id is empty: give the user's id"),
        ("POST /v1/context", {"query": "tea"}, "$.user_id: user_id is empty: give the user's id"),
        ("POST /v1/memories", {"content": "tea"}, "$.user_id: user_id is empty: give the user's id"),
        ("GET /v1/users//profile", None, "user_id is empty: give the user's id"),
        ("GET /v1/memories/m?user_id=", None, "$.user_id: user_id is empty: give the user's id, or leave it out"),
        ("POST /v1/import?user_id=", {}, "$.user_id: user_id is empty: give the user's id, or leave it out"),
        (
            "GET /api/memories?device_id=",
            None,
            "$.device_id: device_id is empty: give the user's id, or leave it out",
        ),
        *(
            (asked, body, "$.user_id: user_id is empty: give the user's id, or leave it out for `owner`")
            for asked, body in (
                ("POST /v1/events", {"type": "SessionEnded", "session_id": "s"}),
                ("POST /v1/events/status", {"event_ids": ["e"]}),
                ("POST /v1/tools/memory_add", {"content": "tea"}),
                ("GET /v1/sessions/s/turns?user_id=", None),
            )
        ),
    ],
)
async def test_what_to_do_about_an_empty_user_is_what_the_route_lets_one_do(
    door: FrontDoor, asked: str, body: dict[str, object] | None, told: str
):
    given = body | {"user_id": ""} if body is not None and "?" not in asked else body
    assert await refused(door, asked, given) == told
