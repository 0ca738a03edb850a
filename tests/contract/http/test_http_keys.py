"""Keys over HTTP: 401 without a valid one, the tenant of the key, roles, and keys for some users and agents."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import pytest_asyncio
from contract.front_door import turn
from contract.isolation_walk import routes_of
from contract.keyed_door import Caller, KeyedDoor, keyed_door
from contract.wake_stream_client import open_wake_stream

from mnemolog import AsyncClient, Refused
from mnemolog.access import key_file
from mnemolog.access.key import Limits
from mnemolog.access.key_file import edited_keys
from mnemolog.access.principal import Role
from mnemolog.http.permissions import BETWEEN_WORKERS, OPEN, access_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.asyncio(loop_scope="module")
BOTH = (Role.READ, Role.WRITE)
WITHOUT_KEY = ("/health/live", "/health/ready", "/docs", "/openapi.json", "/console", "/console/console.js")
"""Paths without personal data."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def door(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[KeyedDoor]:
    patched = pytest.MonkeyPatch()
    patched.setattr(key_file, "LOOK_SECONDS", 0.0)  # what was written counts at once
    async with keyed_door(tmp_path_factory.mktemp("keys")) as opened:
        yield opened
    patched.undo()


async def remembered(caller: Caller, content: str, user_id: str = "u1", **more: object) -> str:
    response = await caller.ask("POST", "/v1/memories", {"user_id": user_id, "content": content} | more)
    assert response.status_code == 201, response.text
    memory_id: str = response.json()["memory_id"]
    return memory_id


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer mnl_nonsense"},
        {"Authorization": "Basic dXNlcjpwYXNz"},
        {"X-API-Key": ""},
        {"X-API-Key": "mnl_000000000000_" + "A" * 43},
    ],
)
async def test_without_a_valid_key_nothing_is_answered(door: KeyedDoor, headers: dict[str, str]):
    response = await door.http.get("/v1/memories", params={"user_id": "u1"}, headers=headers)
    assert response.status_code == 401
    assert response.headers["www-authenticate"].startswith("Bearer")
    assert response.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    ("name", "scheme"), [("Authorization", "Bearer "), ("Authorization", "token "), ("X-API-Key", "")]
)
async def test_a_key_is_taken_by_each_of_its_headers(door: KeyedDoor, name: str, scheme: str):
    caller = door.caller(Role.READ)
    response = await door.http.get("/v1/memories", params={"user_id": "u1"}, headers={name: scheme + caller.text})
    assert response.status_code == 200


@pytest.mark.parametrize(
    ("method", "path"), [("HEAD", "/v1/memories?user_id=u1"), ("GET", "/v1/users/u1/profile/"), ("HEAD", "/metrics/")]
)
async def test_a_slash_more_and_head_open_no_door(door: KeyedDoor, method: str, path: str):
    assert (await door.http.request(method, path)).status_code == 401


@pytest.mark.parametrize("packed", [True, False])
async def test_whom_a_body_names_is_read_as_the_route_reads_it(door: KeyedDoor, *, packed: bool):
    ana = door.caller(*BOTH, users=("ana",))
    body = b'\xef\xbb\xbf{"user_id": "bob", "content": "likes tea"}'
    headers = {"Authorization": f"Bearer {ana.text}", "Content-Type": "application/json"}
    headers |= {"Content-Encoding": "gzip"} if packed else {}
    content = gzip.compress(body) if packed else body
    refused = await door.http.post("/v1/memories", content=content, headers=headers)
    assert refused.status_code == 403, refused.text
    twice = b'{"user_id": "bob", "content": "likes tea", "user_id": "ana"}'
    refused = await door.http.post("/v1/memories", content=twice, headers=headers | {"Content-Encoding": "identity"})
    assert refused.status_code == 422, refused.text


async def test_two_different_keys_are_none(door: KeyedDoor):
    headers = {"Authorization": f"Bearer {door.caller(*BOTH).text}", "X-API-Key": door.caller(*BOTH).text}
    assert (await door.http.get("/v1/memories", params={"user_id": "u1"}, headers=headers)).status_code == 401


async def test_a_request_without_a_key_is_refused_before_its_body_is_read(door: KeyedDoor):
    read: list[bytes] = []

    async def endless() -> AsyncIterator[bytes]:
        while True:
            read.append(b"x" * 65_536)
            yield read[-1]

    response = await door.http.post("/v1/events", content=endless(), headers={"Content-Type": "application/json"})
    assert response.status_code == 401
    assert read == []


@pytest.mark.parametrize(
    ("method", "path", "role"),
    [
        ("POST", "/v1/events", Role.READ),
        ("POST", "/v1/import", Role.WRITE),
        ("PATCH", "/v1/memories/none", Role.READ),
        ("POST", "/v1/search", Role.WRITE),
        ("POST", "/v1/admin/ticks", Role.TENANT_ADMIN),
    ],
)
async def test_a_key_without_the_role_is_refused_before_the_body_is_read(
    door: KeyedDoor, method: str, path: str, role: Role
):
    read: list[bytes] = []

    async def body() -> AsyncIterator[bytes]:
        read.append(b"{")
        yield b"{"

    headers = {"Authorization": f"Bearer {door.caller(role).text}"}
    response = await door.http.request(method, path, content=body(), headers=headers)
    assert (response.status_code, read) == (403, [])
    assert "this takes the role" in response.json()["detail"]


async def test_what_holds_nobodys_data_needs_no_key(door: KeyedDoor):
    for path in WITHOUT_KEY:
        assert (await door.http.get(path)).status_code == 200, path


async def test_a_key_that_is_revoked_or_has_expired_is_refused(door: KeyedDoor):
    caller = door.caller(Role.READ)
    assert (await caller.ask("GET", "/v1/memories", user_id="u1")).status_code == 200
    with edited_keys(door.path) as keys:
        keys[caller.key.key_id] = replace(caller.key, expires=datetime.now(UTC) - timedelta(seconds=1))
    expired = await caller.ask("GET", "/v1/memories", user_id="u1")
    assert (expired.status_code, "expired" in expired.json()["detail"]) == (401, True)
    with edited_keys(door.path) as keys:
        del keys[caller.key.key_id]
    assert (await caller.ask("GET", "/v1/memories", user_id="u1")).status_code == 401


async def test_a_tenant_has_only_its_own(door: KeyedDoor):
    ours, theirs = door.caller(*BOTH, tenant="ours"), door.caller(*BOTH, tenant="theirs")
    memory_id = await remembered(ours, "likes tea")
    assert (await theirs.ask("GET", "/v1/memories", user_id="u1")).json()["total"] == 0
    found = await theirs.ask("POST", "/v1/search", {"user_id": "u1", "query": "tea"})
    assert found.json()["results"] == []
    for method, path in [("GET", ""), ("DELETE", ""), ("GET", "/history"), ("POST", "/restore")]:
        response = await theirs.ask(method, f"/v1/memories/{memory_id}{path}")
        assert (response.status_code, response.json()["detail"]) == (404, f"there is no memory {memory_id!r}")
    assert (await ours.ask("GET", f"/v1/memories/{memory_id}")).json()["status"] == "active"


async def test_the_same_idempotency_key_of_two_tenants_is_two_commands(door: KeyedDoor):
    made = []
    for tenant in ("first", "second"):
        caller = door.caller(*BOTH, tenant=tenant)
        headers = {"X-API-Key": caller.text, "Idempotency-Key": "same"}
        body = {"user_id": "u1", "content": "likes tea"}
        made.append(await door.http.post("/v1/memories", json=body, headers=headers))
    assert [response.status_code for response in made] == [201, 201]
    assert made[0].json()["memory_id"] != made[1].json()["memory_id"]


@pytest.mark.parametrize(
    ("role", "method", "path"),
    [
        (Role.READ, "GET", "/v1/memories?user_id=u1"),
        (Role.READ, "GET", "/v1/users/u1/profile"),
        (Role.WRITE, "DELETE", "/v1/memories/none"),
        (Role.TENANT_ADMIN, "GET", "/v1/users/u1/export"),
        (Role.TENANT_ADMIN, "GET", "/api/memories"),
        (Role.OPERATOR, "GET", "/v1/admin/digest"),
        (Role.OPERATOR, "GET", "/v1/admin/checks"),
        (Role.OPERATOR, "GET", "/v1/admin/dead-letters"),
        (Role.METRICS, "GET", "/metrics"),
    ],
)
async def test_each_role_is_needed_and_suffices(door: KeyedDoor, role: Role, method: str, path: str):
    with_it = await door.caller(role).ask(method, path)
    assert with_it.status_code in (200, 404)
    without = await door.caller(*(other for other in Role if other is not role)).ask(method, path)
    assert without.status_code == 403
    assert f"the role {role}" in without.json()["detail"]


async def test_every_route_declares_a_role_and_whose_data_it_reaches(door: KeyedDoor):
    routes = list(routes_of(door.app.routes))
    assert len(routes) > 60
    for route in routes:
        access = access_of(route.endpoint)
        assert access is not None, route.path
        if access is OPEN:
            assert route.path.startswith(WITHOUT_KEY), route.path
        elif access is BETWEEN_WORKERS:
            assert route.path.startswith("/v1/internal/")
        else:
            assert access.reading if route.methods == {"GET"} else access.reading | access.changing, route.path


async def test_a_key_opens_no_route_between_workers(door: KeyedDoor):
    caller = door.caller(*Role)
    assert (await caller.ask("POST", "/v1/internal/digest", {})).status_code == 404


# -- keys for some users or agents


async def test_a_key_for_some_users_is_for_no_others(door: KeyedDoor):
    everybody = door.caller(*BOTH, Role.TENANT_ADMIN, tenant="narrow")
    theirs = await remembered(everybody, "likes milk", "other")
    own = await remembered(everybody, "likes tea", "team-7")
    narrowed = door.caller(*BOTH, Role.TENANT_ADMIN, tenant="narrow", users=("team-?", "me"))
    asked: list[tuple[str, str, Any]] = [
        ("GET", "/v1/memories?user_id=other", None),
        ("GET", "/v1/memories?user_id=me&user_id=other", None),
        ("POST", "/v1/search", {"user_id": "other", "query": "milk"}),
        ("POST", "/v1/context", {"user_id": "other", "query": "milk"}),
        ("POST", "/v1/greeting", {"user_id": "other"}),
        ("POST", "/v1/memories", {"user_id": "other", "content": "likes wine"}),
        ("POST", "/v1/memories", {"user_id": "me", "content": "likes wine", "scope": "global"}),
        ("POST", f"/v1/memories/{own}/share", {"user_id": "other"}),
        ("POST", f"/v1/memories/{own}/share", {"scope": "global"}),
        ("GET", "/v1/users/other/profile", None),
        ("GET", "/v1/users/other/wakes", None),
        ("GET", "/v1/users/other/export", None),
        ("GET", "/v1/sessions/s1/turns", None),
        ("GET", "/v1/sessions/s1/turns?user_id=other", None),
        ("POST", "/v1/events", [turn("e1", "hello", user_id="me"), turn("e2", "hello", user_id="other")]),
        ("POST", "/v1/conversations", {"user_id": "other", "messages": []}),
        ("POST", "/v1/events/status", {"user_id": "other", "event_ids": ["e1"]}),
        ("POST", "/v1/events/status", {"event_ids": ["e1"]}),
        ("GET", "/v1/events/e1?user_id=other", None),
        ("POST", "/v1/import", {"user_id": "other", "content": "likes wine"}),
        ("POST", "/v1/import?user_id=other", {"user_id": "me", "content": "likes wine"}),
        ("GET", "/api/memories", None),
        ("GET", "/api/memories/stats", None),
        ("GET", "/api/memories?device_id=other", None),
        ("GET", "/v1/wakes/stream", None),
        ("GET", "/v1/wakes/stream?user_id=other", None),
        ("POST", "/v1/tools/memory_search", {"user_id": "other", "query": "milk"}),
    ]
    for method, path, body in asked:
        response = await narrowed.ask(method, path, body)
        assert response.status_code == 403, (path, response.text)
    for method, path in [("GET", ""), ("PATCH", ""), ("DELETE", ""), ("GET", "/history"), ("GET", "/importance")]:
        body = {"importance": 0.1} if method == "PATCH" else None
        response = await narrowed.ask(method, f"/v1/memories/{theirs}{path}", body)
        assert (response.status_code, response.json()["detail"]) == (404, f"there is no memory {theirs!r}")
        assert (await narrowed.ask(method, f"/v1/memories/{own}{path}", body)).status_code == 200
    assert (await narrowed.ask("DELETE", f"/api/memories/{theirs}")).status_code == 404
    assert (await narrowed.ask("GET", "/v1/memories", user_id="team-7")).status_code == 200
    assert (await everybody.ask("GET", f"/v1/memories/{theirs}")).json()["status"] == "active"
    states = await everybody.ask("POST", "/v1/events/status", {"user_id": "me", "event_ids": ["e1"]})
    assert states.json()["unknown"] == ["e1"]


async def test_a_key_for_some_users_reads_what_is_for_everyone(door: KeyedDoor):
    everybody = door.caller(*BOTH, tenant="everyone")
    made = await everybody.ask("POST", "/v1/memories", {"user_id": "ana", "content": "open at nine", "scope": "global"})
    assert made.status_code == 201
    narrowed = door.caller(*BOTH, tenant="everyone", users=("ana",))
    for answer in (
        await narrowed.ask("GET", "/v1/memories", scope="global"),
        await narrowed.ask("POST", "/v1/memories/query", {"scope": "global"}),
    ):
        assert [item["content"] for item in answer.json()["items"]] == ["open at nine"], answer.text
    assert (await narrowed.ask("POST", "/v1/memories/query", {"scope": "personal"})).status_code == 403
    assert (await narrowed.ask("POST", "/v1/memories/query", {"scope": "global", "user_id": "ben"})).status_code == 403


async def test_a_bracket_in_a_pattern_is_a_bracket(door: KeyedDoor):
    narrowed = door.caller(Role.READ, users=("a[1]",))
    assert (await narrowed.ask("GET", "/v1/memories", user_id="a[1]")).status_code == 200
    assert (await narrowed.ask("GET", "/v1/memories", user_id="a1")).status_code == 403


async def test_a_key_for_some_agents_names_one_of_them(door: KeyedDoor):
    everybody = door.caller(*BOTH, tenant="agents")
    mias = await remembered(everybody, "likes milk", agent_id="mia")
    lunas = await remembered(everybody, "likes tea", agent_id="luna")
    narrowed = door.caller(*BOTH, tenant="agents", agents=("luna",))
    for path in ("/v1/memories?user_id=u1", "/v1/memories?user_id=u1&agent_id=mia", "/v1/sessions/s1/turns?user_id=u1"):
        assert (await narrowed.ask("GET", path)).status_code == 403, path
    listed = (await narrowed.ask("GET", "/v1/memories", user_id="u1", agent_id="luna")).json()
    assert [item["memory_id"] for item in listed["items"]] == [lunas]
    assert (await narrowed.ask("GET", f"/v1/memories/{mias}")).status_code == 404
    assert (await narrowed.ask("GET", f"/v1/memories/{lunas}")).status_code == 200
    event = turn("a1", "hello", agent_id="mia")
    assert (await narrowed.ask("POST", "/v1/events", event)).status_code == 403
    assert (await narrowed.ask("POST", "/v1/events", event | {"agent_id": "luna"})).status_code == 202


async def test_the_tools_of_a_model_take_a_key_that_names_its_user(door: KeyedDoor):
    body = {"query": "tea"}
    assert (await door.caller(*BOTH).ask("POST", "/v1/tools/memory_search", body)).status_code == 403
    narrowed = door.caller(*BOTH, tenant="tools", users=("ana",))
    added = await narrowed.ask("POST", "/v1/tools/memory_add", {"content": "likes tea"})
    assert (added.status_code, added.json()["user_id"]) == (201, "ana")
    found = await narrowed.ask("POST", "/v1/tools/memory_search", body)
    assert [each["content"] for each in found.json()["results"]] == ["likes tea"]
    everyone = {"content": "the office is closed", "scope": "global"}
    assert (await narrowed.ask("POST", "/v1/tools/memory_add", everyone)).status_code == 403
    initialize = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    assert (await door.caller(*BOTH).ask("POST", "/mcp", initialize)).status_code == 403
    assert (await narrowed.ask("POST", "/mcp?user_id=ben", initialize)).status_code == 403
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "memory_search", "arguments": body},
    }
    headers = {"X-API-Key": narrowed.text, "Accept": "application/json, text/event-stream"}
    called = await door.http.post("/mcp", json=call, headers=headers)
    assert "likes tea" in called.text


async def test_a_key_for_some_users_may_not_instruct_the_extraction(door: KeyedDoor):
    talk = {"user_id": "ana", "messages": [{"role": "user", "content": "I like tea."}], "instructions": "Forget tea."}
    added = {"user_id": "ana", "messages": "I like tea.", "custom_instructions": "Forget tea."}
    for caller in (door.caller(*BOTH, users=("ana",)), door.caller(*BOTH, users=("a*",))):
        for path, body in (("/v1/conversations", talk), ("/v3/memories/add/", added)):
            refused = await caller.ask("POST", path, body)
            assert (refused.status_code, "instructions" in refused.json()["detail"]) == (403, True)
    assert (await door.caller(*BOTH).ask("POST", "/v1/conversations", talk)).status_code == 202
    assert (await door.caller(*BOTH).ask("POST", "/v3/memories/add/", added)).status_code == 200


# -- how much a key may do


async def test_a_key_that_guesses_is_slowed_down_and_one_that_is_known_is_not(door: KeyedDoor):
    transport = httpx.ASGITransport(door.app, client=("203.0.113.9", 1))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
        caller = replace(door.caller(Role.READ), http=http)
        assert (await caller.ask("GET", "/v1/memories", user_id="u1")).status_code == 200
        wrong = replace(caller, text=caller.text[:-1] + ("A" if caller.text[-1] != "A" else "B"))
        answers = [await wrong.ask("GET", "/v1/memories", user_id="u1") for _ in range(15)]
        assert {answer.status_code for answer in answers} == {401, 429}
        assert int(answers[-1].headers["retry-after"]) > 0
        assert (await caller.ask("GET", "/v1/memories", user_id="u1")).status_code == 200
    assert (await door.caller(Role.READ).ask("GET", "/v1/memories", user_id="u1")).status_code == 200


async def test_more_requests_a_second_than_a_key_may_send_are_429(door: KeyedDoor):
    caller = door.caller(Role.READ, limits=Limits(requests_per_second=1))
    answers = [await caller.ask("GET", "/v1/memories", user_id="u1") for _ in range(5)]
    assert answers[0].status_code == 200
    refused = [answer for answer in answers if answer.status_code == 429]
    assert [answer.headers["retry-after"] for answer in refused] == ["1"] * len(refused)
    assert refused
    assert (await door.caller(Role.READ).ask("GET", "/v1/memories", user_id="u1")).status_code == 200


async def test_a_request_of_another_protocol_costs_as_many_as_it_makes(door: KeyedDoor):
    caller = door.caller(*BOTH, limits=Limits(requests_per_second=1))
    searched = {"query": "tea", "filters": {"user_id": {"in": [f"u{number}" for number in range(90)]}}}
    assert (await caller.ask("POST", "/v3/memories/search/", searched)).status_code == 200
    refused = await caller.ask("GET", "/v1/ping/")
    assert refused.status_code == 429
    assert 45 < int(refused.headers["retry-after"]) <= 90

    added = door.caller(*BOTH, limits=Limits(requests_per_second=1))
    said = {"user_id": "u1", "messages": [{"role": "user", "content": "I like tea."}]}
    assert (await added.ask("POST", "/memories", said)).status_code == 200
    after = await added.ask("GET", "/v1/ping/")  # it was waited for, which costs nothing
    assert int(after.headers.get("retry-after", "0")) <= 3


async def test_each_message_of_mcp_costs_a_request(door: KeyedDoor):
    caller = door.caller(*BOTH, users=frozenset({"ana"}), limits=Limits(requests_per_second=1))
    listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    headers = {"accept": "application/json, text/event-stream"}
    many = await caller.ask("POST", "/mcp", [listing | {"id": number} for number in range(50)], headers)
    assert many.status_code == 400
    answers = [await caller.ask("POST", "/mcp", listing, headers) for _ in range(4)]
    assert 429 in {answer.status_code for answer in answers}


async def test_more_events_a_day_than_a_key_may_publish_are_429(door: KeyedDoor):
    caller = door.caller(Role.WRITE, tenant="quota", limits=Limits(events_per_day=3))
    two = [turn("q1", "hello"), turn("q2", "hello again")]
    assert (await caller.ask("POST", "/v1/events", two)).status_code == 202
    refused = await caller.ask("POST", "/v1/events", [turn("q3", "and again"), turn("q4", "and again")])
    assert (refused.status_code, int(refused.headers["retry-after"]) > 0) == (429, True)
    assert (await caller.ask("POST", "/v1/events", turn("q3", "and again"))).status_code == 202
    talk = {"user_id": "u1", "messages": [{"role": "user", "content": "hello"}]}
    assert (await caller.ask("POST", "/v1/conversations", talk)).status_code == 429


async def test_commands_and_imports_count_among_the_events_of_a_day(door: KeyedDoor):
    caller = door.caller(*BOTH, Role.TENANT_ADMIN, tenant="commands", limits=Limits(events_per_day=3))
    first = await caller.ask("POST", "/v1/memories", {"user_id": "u1", "content": "likes tea"})
    assert first.status_code == 201
    line = json.loads((await caller.ask("GET", "/v1/users/u1/export")).text.splitlines()[0])
    too_many = await caller.ask("POST", "/v1/import", [line] * 3, user_id="u2")
    assert too_many.status_code == 429
    assert (await caller.ask("POST", "/v1/import", [line], user_id="u2")).status_code == 200
    added = await caller.ask("POST", "/v1/memories", {"user_id": "u1", "content": "likes juice"})
    assert added.status_code == 201
    one = f"/v1/memories/{first.json()['memory_id']}"
    assert (await caller.ask("DELETE", one)).status_code == 429
    assert (await caller.ask("GET", one)).status_code == 200


async def test_a_client_sends_its_key(door: KeyedDoor):
    text = door.caller(*BOTH, tenant="client").text
    async with AsyncClient("http://127.0.0.1", text, transport=httpx.ASGITransport(door.app)) as client:
        await client.remember("likes tea", user_id="u1")
        found = await client.memories(user_id="u1")
        assert [memory["content"] for memory in found["items"]] == ["likes tea"]
        with pytest.raises(Refused, match="the role operator") as refused:
            await client.digest()
        assert refused.value.status == 403
    async with AsyncClient("http://127.0.0.1", transport=httpx.ASGITransport(door.app)) as client:
        with pytest.raises(Refused, match="needs an API key"):
            await client.memories(user_id="u1")


async def test_no_key_is_in_a_log_an_error_or_a_repr(door: KeyedDoor, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG)
    caller = door.caller(*BOTH, tenant="canary")
    secret = caller.text[len("mnl_") + len(caller.key.key_id) + 1 :]
    answers = [
        await caller.ask("GET", "/v1/memories", user_id="u1"),
        await caller.ask("GET", "/v1/admin/digest"),
        await caller.ask("GET", "/v1/nothing"),
        await door.http.get("/v1/memories", headers={"X-API-Key": caller.text + "x"}),
        await door.http.get("/v1/memories", headers={"Authorization": f"Bearer {caller.text[:-1]}"}),
        await door.http.get("/v1/memories", headers={"Authorization": caller.text}),
    ]
    said = [response.text + str(response.headers) for response in answers]
    assert [response.status_code for response in answers][:2] == [200, 403]
    for text in (*said, caplog.text, repr(caller.key), str(caller.key.as_json()), repr(door.worker.settings)):
        assert secret[:-1] not in text


@pytest.mark.parametrize(
    ("method", "path", "named"),
    [
        ("GET", "/v1/sessions/s/turns", {"user_id": "ana"}),
        ("GET", "/v1/events/e", {"user_id": "ana"}),
        ("GET", "/v1/sessions/s/turns?user_id=ana", {"agent_id": "luna"}),
        ("GET", "/v1/memories?user_id=ana", {"agent_id": "luna"}),
        ("GET", "/v1/users/ana/stats", {"agent_id": "luna"}),
        ("DELETE", "/v1/users/ana/wake", {"agent_id": "luna"}),
        ("POST", "/mcp", {"user_id": "ana", "agent_id": "luna"}),
    ],
)
async def test_a_name_in_a_body_that_no_route_reads_opens_nothing(
    door: KeyedDoor, method: str, path: str, named: dict[str, str]
):
    caller = door.caller(*BOTH, tenant="bodies", users=("ana", "ben"), agents=("luna",))
    for body in (None, named):
        answer = await caller.ask(method, path, body)
        assert answer.status_code == 403, answer.text


async def test_a_stream_ends_with_its_key_and_tells_nothing_more(door: KeyedDoor):
    listens, speaks = (door.caller(*BOTH, tenant="streams") for _ in range(2))
    async with open_wake_stream(door.app, "user_id=u1", key=listens.text) as stream:
        reminder = {"due_at": "2020-01-01", "content": "while the key is valid"}
        assert (await speaks.ask("POST", "/v1/users/u1/reminders", reminder)).status_code == 201
        await stream.events(1)
        with edited_keys(door.path) as keys:
            del keys[listens.key.key_id]
        reminder = {"due_at": "2020-01-01", "content": "when it is revoked"}
        assert (await speaks.ask("POST", "/v1/users/u1/reminders", reminder)).status_code == 201
        async with asyncio.timeout(120):
            await stream.has_ended.wait()
        assert [heard.wake["content"] for heard in stream.so_far()] == ["while the key is valid"]
