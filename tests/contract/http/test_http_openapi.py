"""The OpenAPI document and the answers say the same: what it describes is what comes."""

from __future__ import annotations

import asyncio
import re
from base64 import b64encode
from collections import defaultdict
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from contract.front_door import FrontDoor, front_door, turn
from contract.wake_calls import ask_for_each_status
from contract.wake_stream_client import open_wake_stream

from mnemolog.extensions.evatar.route import EvatarMemories
from mnemolog.extensions.webhooks import models as webhook_models
from mnemolog.http.app import make_http
from mnemolog.http.bounds.bodies import MAX_BODY_BYTES
from mnemolog.http.changes.models import Changes
from mnemolog.http.models import context_responses, responses, wakes
from mnemolog.http.routes.tools import Tools
from mnemolog.http.routing import _ProcessRoute
from mnemolog.http.stats import NamedCounts
from schemas.identity import Owner

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def door(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[FrontDoor]:
    async with front_door(tmp_path_factory.mktemp("worker")) as opened:
        yield opened


async def test_every_route_is_described_with_what_it_answers(door: FrontDoor):
    """Which routes there are is in test_recorded_outputs, and on the page of HTTP (test_docs)."""
    paths: dict[str, dict[str, Any]] = (await door.get("/openapi.json")).json()["paths"]
    described = {f"{method.upper()} {path}": what for path, each in paths.items() for method, what in each.items()}
    assert described
    for name, operation in described.items():
        assert operation["description"], name
        for status, described_answer in operation["responses"].items():
            media = "application/problem+json" if int(status) >= 400 else "application/json"
            assert status == "200" or media in described_answer["content"], (name, status)


async def test_the_query_that_a_route_takes_is_the_one_in_the_document(door: FrontDoor):
    app = make_http(door.worker)
    paths = app.openapi()["paths"]
    compared = 0
    for route in app.router.routes:
        if not isinstance(route, _ProcessRoute) or not route.include_in_schema:
            continue
        for method in route.methods or ():
            parameters = paths[route.path_format][method.lower()].get("parameters", ())
            assert route.documented_query == {each["name"] for each in parameters if each["in"] == "query"}, route.path
            compared += len(route.documented_query)
    assert compared > 100


async def test_the_documentation_is_a_page_that_names_every_route_and_fetches_nothing(door: FrontDoor):
    response = await door.get("/docs")
    assert (response.status_code, response.headers["content-type"]) == (200, "text/html; charset=utf-8")
    page = response.text
    document = (await door.get("/openapi.json")).json()
    for path in document["paths"]:
        assert f"<code>{path}</code>" in page, path
    for shape in document["components"]["schemas"]:
        assert f'id="{shape}"' in page, shape
    assert re.findall(r"(?:src|href)=[\"'](?!#|openapi\.json)|<script|@import|url\(", page) == []
    [style] = re.findall("<style>(.*?)</style>", page, re.DOTALL)
    digest = b64encode(sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; frame-ancestors 'none'"
    assert response.headers["content-security-policy"] == policy


async def test_answers_have_the_shapes_that_are_published(door: FrontDoor):
    event = turn("o-1", "I live in Berlin.", occurred_at="2026-01-05T08:00:00Z")
    accepted = responses.Accepted(**(await door.http.post("/v1/events?wait=10", json=event)).json())
    [memory_id] = accepted.accepted[0].memory_ids or []
    [berlin] = [item["entity_id"] for item in (await door.get("/v1/users/u1/entities")).json()["items"]]
    for shape, path in [
        (responses.EventState, "/v1/events/o-1?user_id=u1"),
        (responses.DatedMemory, f"/v1/memories/{memory_id}"),
        (responses.Memories, "/v1/memories?user_id=u1"),
        (responses.History, f"/v1/memories/{memory_id}/history"),
        (responses.Curve, f"/v1/memories/{memory_id}/importance?points=2"),
        (responses.Turns, "/v1/sessions/s1/turns?user_id=u1"),
        (responses.Stats, "/v1/users/u1/stats"),
        (responses.Entities, "/v1/users/u1/entities"),
        (responses.EntityPage, f"/v1/users/u1/entities/{berlin}"),
        (responses.Memories, "/v1/users/u1/episodes"),
        (context_responses.Emotions, "/v1/users/u1/emotions"),
        (context_responses.Upcoming, "/v1/users/u1/upcoming"),
        (context_responses.Report, "/v1/users/u1/report"),
        (Tools, "/v1/tools"),
        (EvatarMemories, "/api/memories"),
        (responses.Stats, "/api/memories/stats"),
        (wakes.Reminders, "/v1/users/u1/reminders"),
        (wakes.Wakes, "/v1/users/u1/wakes"),
        (Changes, "/v1/changes"),
        (webhook_models.Webhooks, "/v1/webhooks"),
        (NamedCounts, "/v1/stats?by=user"),
        (responses.Digest, "/v1/admin/digest"),
        (responses.ModelUsage, "/v1/admin/usage"),
        (responses.DeadLetters, "/v1/admin/dead-letters"),
        (responses.Health, "/health/live"),
    ]:
        response = await door.http.get(path)
        assert shape(**response.json()).model_dump(exclude_unset=True) == response.json(), path
    message = {"role": "user", "content": "Hello"}
    for shape, path, body in [
        (responses.ConversationAccepted, "/v1/conversations", {"user_id": "u1", "messages": [message]}),
        (responses.EventStates, "/v1/events/status", {"user_id": "u1", "event_ids": ["o-1", "o-2"]}),
        (responses.Results, "/v1/search", {"user_id": "u1", "query": "Berlin"}),
        (responses.Memories, "/v1/memories/query", {"user_id": "u1", "filters": {"category": {"ne": "people"}}}),
        (responses.RememberedMemory, "/v1/tools/memory_add", {"user_id": "u1", "content": "likes tea"}),
        (responses.Results, "/v1/tools/memory_search", {"user_id": "u1", "query": "tea"}),
        (context_responses.Context, "/v1/context", {"user_id": "u1", "query": "Berlin"}),
        (context_responses.Greeting, "/v1/greeting", {"user_id": "u1"}),
        (responses.Drained, "/v1/admin/drain", {}),
        (responses.Tick, "/v1/admin/ticks", {"as_of": "2026-02-05T08:00:00Z"}),
        (responses.Rebuilt, "/v1/admin/rebuild", {}),
        (responses.Reextracted, "/v1/admin/reextract", {}),
        (responses.Reembedded, "/v1/admin/reembed", {"what": "forecast"}),
        (
            responses.EncoderComparison,
            "/v1/admin/reembed/compare",
            {"encoder": "builtin", "questions": [{"user_id": "u1", "query": "Berlin", "expected": ["o-1"]}]},
        ),
        (responses.Retried, "/v1/admin/dead-letters", {}),
        (wakes.Reminder, "/v1/users/u1/reminders", {"due_at": "2100-01-01", "content": "call mum"}),
    ]:
        response = await door.post(path, body)
        assert response.status_code in (200, 201, 202), response.text
        assert shape(**response.json()).model_dump(exclude_unset=True) == response.json(), path


EDGE: dict[int, dict[str, str]] = {
    403: {"origin": "https://evil.example"},
    413: {"content-length": str(MAX_BODY_BYTES + 1)},
    415: {"content-type": "text/plain"},
    421: {"host": "evil.example"},
}
"""What the edge answers to these headers, whatever the route."""


async def operations(door: FrontDoor) -> dict[tuple[str, str], set[int]]:
    """Return the statuses that the document has for each method and path, ids filled in."""
    paths: dict[str, dict[str, Any]] = (await door.get("/openapi.json")).json()["paths"]
    return {
        (method.upper(), re.sub(r"{\w+}", "none", path)): {int(status) for status in operation["responses"]}
        for path, each in paths.items()
        for method, operation in each.items()
    }


async def wishes(door: FrontDoor) -> list[tuple[str, str]]:
    """Return the method and the end of the path of each command that says which memory, and nothing else."""
    paths: dict[str, dict[str, Any]] = (await door.get("/openapi.json")).json()["paths"]
    found = [
        (method.upper(), path.removeprefix("/v1/memories/{memory_id}"))
        for path, each in paths.items()
        for method, operation in each.items()
        if path.startswith("/v1/memories/{memory_id}") and method != "get" and "requestBody" not in operation
    ]
    assert {("DELETE", ""), ("POST", "/restore")} <= set(found)
    return found


async def ask_webhooks(door: FrontDoor, asks: Callable[..., Awaitable[None]]) -> None:
    """Ask for every status of the routes about webhooks."""
    hook, key = {"url": "https://receiver.invalid/"}, {"idempotency-key": "codes-hook"}
    await asks("POST", "/v1/webhooks", 201, hook, **key)
    await asks("POST", "/v1/webhooks", 409, hook | {"user_id": "codes"}, **key)
    [webhook] = (await door.get("/v1/webhooks")).json()["items"]
    one = f"/v1/webhooks/{webhook['webhook_id']}"
    own = {"secret": "whsec_" + "A" * 44}
    await asks("POST", f"{one}/secret", 200, own, **{"idempotency-key": "codes-own"})
    await asks("POST", f"{one}/secret", 409, {"secret": "whsec_" + "B" * 44}, **{"idempotency-key": "codes-own"})
    for path, found in (("/v1/webhooks/none", 404), (one, 200)):
        await asks("GET", path, found)
        await asks("POST", f"{path}/replay", found, {"after": None})
        await asks("POST", f"{path}/secret", found, {}, **{"idempotency-key": "codes-secret"})
        await asks("DELETE", path, found)
    await asks("GET", "/v1/webhooks", 200)


async def ask_wishes(
    door: FrontDoor, asks: Callable[..., Awaitable[None]], one: str, *, is_decided: bool = True
) -> None:
    """Ask for every status of these commands about the memory at a path."""
    for method, part in await wishes(door):
        if not is_decided:
            await asks(method, one + part, 202)
            continue
        await asks(method, one + part, 200)
        await asks(method, f"/v1/memories/none{part}", 404)
        await asks(method, one + part, 200, **{"idempotency-key": f"codes-more{part}"})


async def test_every_route_answers_the_refusals_that_are_described_and_no_others(door: FrontDoor):
    """A route that takes no body need not say what it would do with a wrong one."""
    for (method, path), described in (await operations(door)).items():
        for status, headers in EDGE.items():
            if status in (413, 415) and method == "GET":
                assert status not in described, (method, path)
                continue
            response = await door.http.request(method, path, headers=headers)
            assert (response.status_code, status in described) == (status, True), (method, path)
        malformed = await door.http.request(method, f"{path}?user_id=%ff")
        assert (malformed.status_code, 400 in described) == (400, True), (method, path)
        odd = await door.http.request(method, path, params={"odd": "1"}, json={} if method != "GET" else None)
        assert (odd.status_code == 422) == (422 in described), (method, path)
        door.worker.started = False
        try:
            away = await door.http.request(method, path, json={"user_id": "u"} if method != "GET" else None)
        finally:
            door.worker.started = True
        assert (away.status_code == 503) == (503 in described), (method, path)


async def test_the_statuses_of_each_route_are_described(  # noqa: PLR0915 - one line for each answer
    door: FrontDoor, monkeypatch: pytest.MonkeyPatch
):
    """Every other answer that a route may give, given once; together they are what the document says."""
    memory = await door.remember("likes tea", "codes")
    other = await door.remember("likes milk", "codes")
    one, event = f"/v1/memories/{memory['memory_id']}", turn("codes-1", "x", user_id="codes")
    conversation = {"user_id": "codes", "messages": [{"role": "user", "content": "x", "event_id": "codes-2"}]}
    as_of = {"as_of": "2026-02-05T08:00:00Z"}
    snapshot = {"user_id": "codes-import", "content": "likes tea"}
    tea, key = {"user_id": "codes", "content": "likes tea"}, {"idempotency-key": "codes"}
    seen: dict[tuple[str, str], set[int]] = defaultdict(set)

    async def asks(method: str, path: str, status: int, body: object = None, **headers: str) -> None:
        response = await door.http.request(method, path, json=body, headers=headers)
        assert response.status_code == status, (method, path, response.text)
        template = path.partition("?")[0].replace(memory["memory_id"], "none").replace("codes-1", "none")
        template = re.sub(r"(?<=/v1/webhooks/)[^/]+", "none", template)
        seen[method, template].add(status)

    await asks("POST", "/v1/events", 202, event)
    await asks("POST", "/v1/events?wait=10", 200, turn("codes-0", "x", user_id="codes", role="system"))
    await asks("POST", "/v1/events", 409, event | {"content": "y"})
    await asks("GET", "/v1/events/codes-1?user_id=codes", 200)
    await asks("GET", "/v1/events/none", 404)
    await asks("POST", "/v1/events/status", 200, {"event_ids": []})
    await asks("POST", "/v1/conversations", 202, conversation)
    await asks("POST", "/v1/conversations?wait=60", 200, conversation)
    conversation["messages"] = [{"role": "user", "content": "y", "event_id": "codes-2"}]
    await asks("POST", "/v1/conversations", 409, conversation)
    await asks("POST", "/v1/memories", 200, tea)
    await asks("POST", "/v1/memories", 201, {"user_id": "codes", "content": "likes coffee"}, **key)
    await asks("POST", "/v1/memories", 409, {"user_id": "codes", "content": "likes water"}, **key)
    await asks("GET", "/v1/memories?user_id=codes", 200)
    await asks("POST", "/v1/memories/query", 200, {"user_id": "codes"})
    for part in ("", "/history", "/importance"):
        await asks("GET", one + part, 200)
        await asks("GET", f"/v1/memories/none{part}", 404)
    await asks("PATCH", one, 409, {"content": other["content"]})
    await asks("PATCH", one, 200, {"importance": 0.9})
    await asks("PATCH", "/v1/memories/none", 404, {"importance": 0.9})
    await ask_wishes(door, asks, one)
    for status in (201, 200):
        await asks("POST", f"{one}/share", status, {"user_id": "codes-2"})
    await asks("POST", "/v1/memories/none/share", 404, {"user_id": "codes-2"})
    await asks("POST", f"{one}/share", 200, {"agent_id": "luna"}, **key)
    await asks("POST", f"{one}/share", 409, {"agent_id": "aria"}, **key)
    for path in ("/v1/search", "/v1/context"):
        await asks("POST", path, 200, {"user_id": "codes", "query": "tea"})
    await asks("GET", "/v1/users/none/entities/none", 404)
    for part in ("profile", "episodes", "entities", "stats", "emotions", "upcoming", "report"):
        await asks("GET", f"/v1/users/none/{part}", 200)
    await asks("GET", "/v1/sessions/none/turns?user_id=u", 200)
    await asks("POST", "/v1/greeting", 200, {"user_id": "codes"})
    await asks("GET", "/v1/users/none/export", 200)
    await asks("POST", "/v1/import", 200, snapshot | {"memory_id": "first"})
    await asks("POST", "/v1/import?wait=0", 202, snapshot | {"memory_id": "second"})
    await asks("GET", "/v1/changes", 200)
    await ask_webhooks(door, asks)
    await asks("GET", "/v1/stats?by=agent", 200)
    await asks("GET", "/v1/tools", 200)
    for status, content in ((201, "likes juice"), (200, "likes juice"), (409, "likes rum")):
        headers = key if status != 200 else {}
        await asks("POST", "/v1/tools/memory_add", status, {"user_id": "codes", "content": content}, **headers)
    await asks("POST", "/v1/tools/memory_search", 200, {"user_id": "codes", "query": "tea"})
    await asks("GET", "/api/memories", 200)
    await asks("GET", "/api/memories/stats", 200)
    evatars = f"/api/memories/{memory['memory_id']}"
    await asks("DELETE", evatars, 200)
    await asks("DELETE", "/api/memories/none", 404)
    assert (await door.post(f"{one}/restore", **{"idempotency-key": "codes-back"})).status_code == 200
    await ask_for_each_status(asks, decided=True)
    async with open_wake_stream(make_http(door.worker)) as stream:
        seen["GET", "/v1/wakes/stream"].add(stream.status)
    async with open_wake_stream(make_http(door.worker), path="/v1/changes/stream") as stream:
        seen["GET", "/v1/changes/stream"].add(stream.status)
    await asks("GET", "/v1/admin/digest", 200)
    await asks("GET", "/v1/admin/usage?by=day", 200)
    await asks("GET", "/v1/admin/lag", 200)
    await asks("DELETE", "/v1/memories?user_id=none&preview=true", 200)
    await asks("POST", "/v1/admin/drain", 200)
    await asks("POST", "/v1/admin/ticks", 202, {"as_of": "2026-02-07", "timeout": 0.000001})
    await asks("POST", "/v1/admin/ticks", 200, as_of)
    first, second = await asyncio.gather(door.post("/v1/admin/rebuild"), door.post("/v1/admin/rebuild"))
    seen["POST", "/v1/admin/rebuild"] = {first.status_code, second.status_code}
    await asks("GET", "/v1/admin/rebuild", 200)
    await asks("POST", "/v1/admin/rebuild", 404, {"activate": 99})
    compared = {"encoder": "builtin", "questions": [{"user_id": "codes", "query": "tea", "expected": ["x"]}]}
    await asks("POST", "/v1/admin/reextract", 200)
    await asks("GET", "/v1/policy", 200)
    await asks("PUT", "/v1/policy", 200, {"never": ["x"]}, **{"idempotency-key": "codes-policy"})
    await asks("PUT", "/v1/policy", 409, {"never": ["y"]}, **{"idempotency-key": "codes-policy"})
    await asks("GET", "/v1/admin/reembed", 200)
    await asks("POST", "/v1/admin/reembed", 200)
    await asks("POST", "/v1/admin/reembed/compare", 200, compared)
    async with door.worker.reembedder.builder._running:
        await asks("POST", "/v1/admin/reembed", 409)
        await asks("POST", "/v1/admin/reembed/compare", 409, compared)
    await asks("GET", "/v1/admin/dead-letters", 200)
    await asks("POST", "/v1/admin/dead-letters", 200)
    await asks("POST", "/v1/admin/dead-letters", 404, {"ids": ["none"]})
    await asks("POST", "/v1/admin/keys/rotate", 200)
    in_clear = door.worker.settings.model_copy(update={"encryption": "off"})
    monkeypatch.setattr(door.worker.key_rotation, "_settings", in_clear)
    await asks("POST", "/v1/admin/keys/rotate", 409)
    await asks("GET", "/v1/admin/clock", 200)
    await asks("POST", "/v1/admin/clock/confirm", 202, {"timeout": 0.000001})
    await asks("POST", "/v1/admin/clock/confirm", 200)
    seen["POST", "/v1/admin/clock/confirm"].add(409)  # of workers whose clocks differ: test_http_clock.py
    await asks("GET", "/v1/erasures", 200)
    await asks("DELETE", "/v1/users/none?force=true", 200)
    async with door.worker.extractions.gate.erasing(Owner("default", "none")):
        await asks("DELETE", "/v1/users/none?force=true", 409)
    hers = await door.remember("likes milk", "codes-forever")
    async with door.worker.extractions.gate.erasing(Owner("default", "codes-forever")):
        await asks("DELETE", "/v1/memories?user_id=codes-forever&forever=true", 409)
    assert (await door.get(f"/v1/memories/{hers['memory_id']}")).status_code == 200
    for path in ("/health/live", "/health/ready", "/metrics", "/v1/admin/checks"):
        await asks("GET", path, 200)

    monkeypatch.setattr(door.worker.immediate, "decide", not_at_once)
    monkeypatch.setattr(door.worker.remember, "decided", never_decided)
    await asks("POST", "/v1/memories", 202, tea)
    await asks("PATCH", one, 202, {"importance": 0.8})
    await asks("POST", f"{one}/share", 202, {"user_id": "codes-3"})
    await ask_wishes(door, asks, one, is_decided=False)
    await asks("DELETE", evatars, 202)
    await asks("POST", "/v1/tools/memory_add", 202, {"user_id": "codes", "content": "likes wine"})
    await ask_for_each_status(asks, decided=False)
    seen["GET", "/v1/users/none/entities/none"].add(200)  # of one that is named: test_http_entities.py
    seen["DELETE", "/v1/users/none"].add(404)  # of one of whom nothing is known: test_http_erasure.py
    seen["DELETE", "/v1/users/none/reminders/none"].add(200)  # of one that waits: test_http_wakes.py
    seen["POST", "/v1/admin/drain"].add(409)  # of workers whose settings differ: test_peers.py
    # 408: test_http_bodies.py; those about keys: test_http_keys.py
    everywhere = {*EDGE, 400, 401, 408, 422, 429, 500, 503}
    for place, described in (await operations(door)).items():
        assert seen[place] - described == set(), place
        missing = described - seen[place] - everywhere
        assert missing <= {409} if place[1].startswith("/v1/memories/none") else missing == set(), place


async def not_at_once(_item: object, _record: object) -> None:
    """As if something of the user came before every command."""


async def never_decided(_owner: object, _item_id: str) -> None:
    """As if the decision took longer than the caller waits."""
    raise TimeoutError
