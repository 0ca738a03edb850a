"""The OpenAPI document and the answers say the same: what it describes is what comes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from contract.front_door import FrontDoor, front_door, turn

from mnemolog.http import shapes

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.asyncio(loop_scope="module")

ROUTES = {
    "GET /health/live", "GET /health/ready", "GET /metrics",
    "POST /v1/events", "GET /v1/events/{event_id}", "POST /v1/events/status", "POST /v1/conversations",
    "GET /v1/memories", "POST /v1/memories", "GET /v1/memories/{memory_id}", "PATCH /v1/memories/{memory_id}",
    "DELETE /v1/memories/{memory_id}", "POST /v1/memories/{memory_id}/restore",
    "GET /v1/memories/{memory_id}/history", "GET /v1/memories/{memory_id}/importance", "POST /v1/search",
    "GET /v1/users/{user_id}/profile", "GET /v1/users/{user_id}/episodes", "GET /v1/users/{user_id}/stats",
    "GET /v1/sessions/{session_id}/turns",
    "GET /v1/admin/digest", "POST /v1/admin/drain", "POST /v1/admin/ticks", "POST /v1/admin/rebuild",
    "GET /v1/admin/rebuild", "GET /v1/admin/dead-letters", "POST /v1/admin/dead-letters",
}  # fmt: skip


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def door(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[FrontDoor]:
    async with front_door(tmp_path_factory.mktemp("worker")) as opened:
        yield opened


async def test_every_route_is_described_with_what_it_answers(door: FrontDoor):
    paths: dict[str, dict[str, Any]] = (await door.get("/openapi.json")).json()["paths"]
    described = {f"{method.upper()} {path}": what for path, each in paths.items() for method, what in each.items()}
    assert set(described) == ROUTES
    for name, operation in described.items():
        assert operation["description"], name
        assert "application/problem+json" in operation["responses"]["4XX"]["content"], name
        assert "422" not in operation["responses"], name


async def test_the_documentation_is_a_page(door: FrontDoor):
    response = await door.get("/docs")
    assert (response.status_code, response.headers["content-type"]) == (200, "text/html; charset=utf-8")


async def test_answers_have_the_shapes_that_are_published(door: FrontDoor):
    event = turn("o-1", "I live in Berlin.", occurred_at="2026-01-05T08:00:00Z")
    accepted = shapes.Accepted(**(await door.http.post("/v1/events?wait=10", json=event)).json())
    [memory_id] = accepted.accepted[0].memory_ids or []
    for shape, path in [
        (shapes.EventState, "/v1/events/o-1?user_id=u1"),
        (shapes.Memory, f"/v1/memories/{memory_id}"),
        (shapes.Memories, "/v1/memories?user_id=u1"),
        (shapes.History, f"/v1/memories/{memory_id}/history"),
        (shapes.Curve, f"/v1/memories/{memory_id}/importance?points=2"),
        (shapes.Turns, "/v1/sessions/s1/turns?user_id=u1"),
        (shapes.Stats, "/v1/users/u1/stats"),
        (shapes.Memories, "/v1/users/u1/episodes"),
        (shapes.Digest, "/v1/admin/digest"),
        (shapes.DeadLetters, "/v1/admin/dead-letters"),
        (shapes.Health, "/health/live"),
    ]:
        response = await door.http.get(path)
        assert shape(**response.json()).model_dump(exclude_unset=True) == response.json(), path
    message = {"role": "user", "content": "Hello"}
    for shape, path, body in [
        (shapes.ConversationAccepted, "/v1/conversations", {"user_id": "u1", "messages": [message]}),
        (shapes.EventStates, "/v1/events/status", {"user_id": "u1", "event_ids": ["o-1", "o-2"]}),
        (shapes.Results, "/v1/search", {"user_id": "u1", "query": "Berlin"}),
        (shapes.Drained, "/v1/admin/drain", {}),
        (shapes.Tick, "/v1/admin/ticks", {"as_of": "2026-02-05T08:00:00Z"}),
        (shapes.Rebuilt, "/v1/admin/rebuild", {}),
        (shapes.Retried, "/v1/admin/dead-letters", {}),
    ]:
        response = await door.post(path, body)
        assert response.status_code in (200, 202), response.text
        assert shape(**response.json()).model_dump(exclude_unset=True) == response.json(), path
