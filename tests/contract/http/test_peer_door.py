"""The door for other workers: what is proven goes in as theirs, and the door for everybody lets none of it in."""

from __future__ import annotations

import time
from base64 import b64encode
from typing import TYPE_CHECKING

import httpx
import orjson
import pytest
import pytest_asyncio
from contract.front_door import FrontDoor, front_door, turn

from mnemolog.access.principal import Principal, Role
from mnemolog.access.statement import write_statement
from mnemolog.cluster.proof import PROOF, SIGNED_HEADERS, Covered, Proof, signed_headers
from mnemolog.cluster.trust import FORWARDED, STATED
from mnemolog.http.app import make_http
from mnemolog.http.peer_door import PeerDoor
from mnemolog.http.routes.internal import PARTS
from schemas import codec
from schemas.inputs.input_events import parse_event

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

pytestmark = pytest.mark.asyncio(loop_scope="module")
SECRET = "of the workers of these tests alone"  # noqa: S105
HERE, OTHER = "https://worker-1:8421", "https://worker-0:8421"
READER = Principal("default", frozenset({Role.READ, Role.WRITE}), "k1")


class Doors:
    """A worker with both of its doors."""

    def __init__(self, door: FrontDoor) -> None:
        self.door = door
        app = PeerDoor(make_http(door.worker), HERE, Proof([SECRET.encode()]))
        self.http = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1")
        self.proof = Proof([SECRET.encode()])

    def signed(
        self,
        method: str,
        target: str,
        body: bytes = b"",
        principal: Principal | None = READER,
        *,
        to: str = HERE,
        headers: dict[str, str] | None = None,
    ) -> dict[str, str]:
        """Return the headers that another worker sends."""
        stated = "" if principal is None else write_statement(principal, time.time())
        sent = {"content-type": "application/json", "accept": "*/*"} | (headers or {})
        covered = Covered(method, target, to, OTHER, stated, signed_headers(httpx.Headers(sent).raw))
        proven = {FORWARDED: OTHER, PROOF: self.proof.sign(covered, body)}
        return sent | proven | ({STATED: stated} if stated else {})

    async def ask(self, target: str, body: object, principal: Principal | None = READER) -> httpx.Response:
        """Ask as another worker does."""
        content = orjson.dumps(body)
        headers = self.signed("POST", target, content, principal)
        return await self.http.post(target, content=content, headers=headers)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def doors(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Doors]:
    async with front_door(tmp_path_factory.mktemp("worker"), cluster_secret=SECRET) as door:
        await door.remember("I live in Bern")
        both = Doors(door)
        yield both
        await both.http.aclose()


async def test_what_another_worker_sends_on_is_answered_for_its_principal(doors: Doors):
    asked = {"user_id": "u1", "query": "Bern", "recall": False}
    answer = await doors.ask("/v1/search", asked)
    assert [one["memory"] for one in answer.json()["results"]] == ["I live in Bern"]
    theirs = await doors.ask("/v1/search", asked, Principal("other", frozenset(Role)))
    assert (theirs.status_code, theirs.json()["results"]) == (200, [])


async def test_a_worker_asks_of_its_own_accord_what_is_for_workers_only(doors: Doors):
    assert (await doors.ask("/v1/internal/generations", {}, None)).status_code == 200
    refused = await doors.ask("/v1/search", {"user_id": "u1", "query": "x"}, None)
    assert (refused.status_code, "states no principal" in refused.text) == (401, True)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda headers: headers.pop(PROOF), "not signed"),
        (lambda headers: headers.pop(FORWARDED), "names no worker"),
        (lambda headers: headers.pop(STATED), "changed on its way"),
        (lambda headers: headers.update({FORWARDED: HERE}), "changed on its way"),
        (lambda headers: headers.update({STATED: write_statement(READER, 0.0)}), "changed on its way"),
        (lambda headers: headers.update({PROOF: headers[PROOF][:-1]}), "not signed"),
    ],
)
async def test_what_is_not_proven_is_refused(doors: Doors, change: Callable[[dict[str, str]], object], why: str):
    headers = doors.signed("POST", "/v1/search", b"{}")
    change(headers)
    answer = await doors.http.post("/v1/search", content=b"{}", headers=headers)
    assert (answer.status_code, answer.headers["content-type"]) == (401, "application/problem+json")
    assert why in answer.json()["detail"]


async def test_what_was_signed_for_another_request_proves_nothing(doors: Doors):
    for headers in (
        doors.signed("POST", "/v1/search?a=1", b"{}"),
        doors.signed("GET", "/v1/search", b"{}"),
        doors.signed("POST", "/v1/search", b"{}", to="https://worker-2:8421"),
        doors.signed("POST", "/v1/search", b"{ }"),
    ):
        answer = await doors.http.post("/v1/search", content=b"{}", headers=headers)
        assert (answer.status_code, "changed on its way" in answer.text) == (401, True)


@pytest.mark.parametrize("name", SIGNED_HEADERS)
async def test_no_header_that_a_route_reads_can_be_changed_added_or_taken_away(doors: Doors, name: str):
    body = orjson.dumps({"user_id": "u1", "query": "Bern", "recall": False})
    given = {"idempotency-key": "k", "last-event-id": "0:1"}
    for change in (lambda sent: sent.update({name: "another"}), lambda sent: sent.pop(name)):
        headers = doors.signed("POST", "/v1/search", body, headers=given)
        change(headers)
        answer = await doors.http.post("/v1/search", content=body, headers=headers)
        expected = (401, True) if name != "accept" or headers.get(name) else (200, False)  # the client adds its own
        assert (answer.status_code, "changed on its way" in answer.text) == expected
    twice = [*doors.signed("POST", "/v1/search", body, headers=given).items(), (name, "once more")]
    answer = await doors.http.post("/v1/search", content=body, headers=twice)
    assert (answer.status_code, f"it has {name} twice" in answer.text) == (401, True)


async def test_a_body_that_is_not_the_signed_one_is_never_acted_on(doors: Doors):
    body = orjson.dumps({"user_id": "u2", "content": "I live in Rome"})
    headers = doors.signed("POST", "/v1/memories", body)

    async def parts() -> AsyncIterator[bytes]:
        yield body[:10]
        yield body[10:].replace(b"Rome", b"Oslo")

    changed = await doors.http.post("/v1/memories", content=parts(), headers=headers)
    assert (changed.status_code, "its body was changed" in changed.text) == (401, True)
    again = await doors.http.post("/v1/memories", content=body, headers=headers)
    assert (again.status_code, "came before" in again.text) == (401, True)
    assert (await doors.door.get("/v1/memories", user_id="u2")).json()["total"] == 0


async def test_bodies_between_workers_are_of_the_caller_s_tenant(doors: Doors):
    now = doors.door.clock.now()
    event = parse_event(turn("e-1", "I live in Rome"), tenant="other", accepted_at=now, event_id="e-1")
    messages = [b64encode(codec.encode(event)).decode()]
    for tenant in ("other", "default"):
        answer = await doors.ask("/v1/internal/events", {"tenant": tenant, "messages": messages})
        assert (answer.status_code, "another tenant" in answer.text) == (403, True)
    for path, body in {
        "/v1/internal/import": {"tenant": "other", "snapshots": []},
        "/v1/internal/wakes": {"tenant": "other", "user_id": None, "since": {}},
        "/v1/internal/tenant/counts": {"tenant": "other", "now": "2026-01-01T00:00:00Z"},
    }.items():
        answer = await doors.ask(path, body)
        assert (answer.status_code, "another tenant" in answer.text) == (403, True), path


NOW = "2026-01-01T00:00:00Z"
OF_TENANT = {"tenant": "default", "now": NOW}
BUILD = {"what": "shards", "generation": 2, "rebuild_id": "r-1", "switches": 1}
ASKED = {
    "model-usage": {"by": "user"},
    "drain": {"timeout": 20.0},
    "reextract": {"before": NOW},
    "ticks": {"as_of": NOW, "policy": "ladder", "timeout": 20.0},
    "clock-confirm": {"as_of": NOW, "timeout": 20.0},
    "tenant/places": OF_TENANT | {"first": 1},
    "tenant/items": OF_TENANT | {"memory_ids": []},
    "tenant/counts": OF_TENANT,
    "tenant/names": OF_TENANT | {"by": "user", "after": "", "limit": 1},
    "rebuild/build": BUILD,
    "rebuild/switch": BUILD,
    "reembed/forecast": {"encoder": "builtin"},
    "reembed/build": {"encoder": "builtin"},
    "reembed/compare": {
        "encoder": "builtin",
        "questions": [{"tenant": "default", "user_id": "u1", "query": "Bern", "expected": ["m-1"]}],
        "now": NOW,
    },
}
"""What is said in a request for a part, where there is something to say."""


async def test_every_part_is_answered_with_the_partitions_that_it_is_about(doors: Doors):
    held = sorted(doors.door.worker.shards.assignment.leases())
    for part in PARTS:
        answer = await doors.ask(f"/v1/internal/{part.name}", ASKED.get(part.name, {}))
        assert (answer.status_code, answer.json().get("partitions")) == (200, held), (part.name, answer.text)


async def test_a_tick_of_the_future_is_taken_from_a_worker_by_force_only(doors: Doors):
    ahead = {"as_of": "2099-01-01T00:00:00Z", "policy": "retention"}
    refused = await doors.ask("/v1/internal/ticks", ahead, None)
    assert (refused.status_code, "ahead of the clock" in refused.text) == (422, True)


async def test_the_door_for_everybody_lets_in_nothing_that_only_a_worker_may_say(doors: Doors):
    for headers in ({}, {FORWARDED: doors.door.worker.url}, doors.signed("POST", "/v1/internal/generations", b"{}")):
        answer = await doors.door.http.post("/v1/internal/generations", json={}, headers=headers)
        assert (answer.status_code, "other workers" in answer.json()["detail"]) == (404, True)
    theirs = doors.signed("GET", "/v1/memories?user_id=u1", principal=Principal("other", frozenset(Role)))
    answer = await doors.door.http.get("/v1/memories?user_id=u1", headers=theirs)
    assert answer.json()["total"] == 1, "the principal that it states is nobody's"
