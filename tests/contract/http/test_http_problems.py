"""Refusals over HTTP: every error is a problem document that says what to do, and no traceback ever leaves."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from contract.front_door import FrontDoor, from_a_worker, front_door, turn
from starlette.routing import Route
from support.garbage import garbage

from mnemolog.access.rates import Rates
from mnemolog.http.authentication import Authentication
from mnemolog.http.bounds.bodies import MAX_BODY_BYTES
from mnemolog.http.bounds.paths import Paths
from mnemolog.http.middleware import Edge
from mnemolog.http.permissions import OPEN, declare
from mnemolog.worker.metrics import Metrics
from schemas.log import LogFull, LogUnavailable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    import httpx
    from starlette.types import Message, Receive, Scope, Send

    from schemas.log import Appended, NewRecord

pytestmark = pytest.mark.asyncio(loop_scope="module")
JSON = {"content-type": "application/json"}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def door(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[FrontDoor]:
    async with front_door(tmp_path_factory.mktemp("worker")) as opened:
        yield opened


def check(response: httpx.Response, status: int) -> str:
    """Return the detail of a well-formed problem."""
    assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"
    body = response.json()
    assert (body["type"], body["status"]) == ("about:blank", status)
    assert body["title"]
    assert "Traceback" not in response.text
    detail: str = body["detail"]
    return detail


async def test_an_unknown_route_is_a_problem(door: FrontDoor):
    assert check(await door.get("/v2/memories"), 404).startswith("there is no route GET /v2/memories")
    assert check(await door.get("/v1/search/"), 404)


async def test_a_method_that_is_not_offered_is_a_problem(door: FrontDoor):
    response = await door.http.put("/v1/search")
    assert check(response, 405) == "PUT /v1/search is not offered: use POST"
    assert response.headers["allow"] == "POST"


@pytest.mark.parametrize("body", [b'{"user_id":', b"hello", b'{"user_id":"u","query":NaN}'])
async def test_a_body_that_is_not_json_is_a_problem(door: FrontDoor, body: bytes):
    response = await door.http.post("/v1/search", content=body, headers=JSON)
    assert check(response, 422).startswith("$: is not JSON")


@pytest.mark.parametrize("body", [b"[]", b"7", b""])
async def test_a_body_that_is_no_object_is_a_problem(door: FrontDoor, body: bytes):
    response = await door.http.post("/v1/search", content=body, headers=JSON)
    assert "must be a JSON object" in check(response, 422)


async def test_every_fault_has_its_path(door: FrontDoor):
    response = await door.post("/v1/search", {"user_id": "u", "limit": 0, "filters": {"kind": 7}})
    check(response, 422)
    assert [e["path"] for e in response.json()["errors"]] == ["$.query", "$.limit", "$.filters.kind"]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/conversations?wat=5"),
        ("GET", "/v1/events/x?wat=5&user_id=st"),
        ("GET", "/v1/users/u/profile?agent_id=luna&wat=5"),
        ("GET", "/v1/users/u/episodes?wat=5"),
        ("GET", "/v1/memories?user_id=u&wat=5"),
        ("GET", "/v1/memories/m/importance?from=2026-01-05T08:00:00Z&wat=5"),
        ("POST", "/v1/search?wat=5"),
        ("GET", "/v1/admin/digest?wat=5"),
    ],
)
async def test_a_query_parameter_that_is_not_known_is_refused_on_every_route(door: FrontDoor, method: str, path: str):
    response = await door.http.request(method, path, json={} if method == "POST" else None)
    assert check(response, 422) == "$.wat: is not known here: remove it or correct its name"
    assert [e["path"] for e in response.json()["errors"]] == ["$.wat"]


@pytest.mark.parametrize("since", [{"abc": 1}, {"0": -1}, {"": 1}, {"1" * 5_000: 1}])
async def test_a_worker_that_asks_for_wakes_of_no_partition_is_refused(door: FrontDoor, since: dict[str, int]):
    asked = {"tenant": "default", "user_id": None, "since": since}
    response = await from_a_worker(door, "/v1/internal/wakes", asked)
    assert (response.status_code, len(response.json()["errors"])) == (422, 1)


async def test_what_is_missing_or_blank_is_said_in_our_words(door: FrontDoor):
    assert check(await door.post("/v1/search", {"user_id": "u"}), 422) == "$.query: is missing"
    blank = await door.post("/v1/search", {"user_id": "u", "query": " "})
    assert check(blank, 422) == "$.query: is blank: say what to look for"


async def test_a_body_that_is_too_large_is_refused_by_what_it_announces(door: FrontDoor):
    response = await door.http.post("/v1/events", content=b"", headers={"content-length": str(MAX_BODY_BYTES + 1)})
    assert "8388608" in check(response, 413)


async def test_a_body_that_is_too_large_is_not_read_to_its_end(door: FrontDoor):
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while True:
            sent += 1
            yield b" " * 1024 * 1024

    check(await door.http.post("/v1/events", content=endless()), 413)
    assert sent == 9


async def test_a_body_of_exactly_the_limit_is_read(door: FrontDoor):
    event = b'{"type":"SessionEnded","session_id":"s"}'
    response = await door.http.post("/v1/events", content=event + b" " * (MAX_BODY_BYTES - len(event)))
    assert response.status_code == 202


@pytest.mark.parametrize("error", [LogUnavailable("the log is busy"), LogFull("the disk is full")])
async def test_a_log_that_cannot_be_written_is_said_with_when_to_come_back(
    door: FrontDoor, monkeypatch: pytest.MonkeyPatch, error: LogUnavailable
):
    async def refuse(_records: Sequence[NewRecord]) -> list[Appended]:
        raise error

    monkeypatch.setattr(door.worker.log, "append", refuse)
    for response in (
        await door.post("/v1/events", turn("t", "x")),
        await door.post("/v1/memories", {"user_id": "u", "content": "x"}),
    ):
        assert check(response, 503) == str(error)
        assert response.headers["retry-after"] == "1"


async def test_a_bug_is_a_problem_and_is_logged(
    door: FrontDoor, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    async def broken() -> None:
        raise ZeroDivisionError("secret detail")

    monkeypatch.setattr(door.worker.shards.users, "digests", broken)
    response = await door.get("/v1/admin/digest")
    assert "secret" not in check(response, 500)
    assert "secret detail" in caplog.text


async def test_a_worker_that_has_failed_is_not_ready_but_alive(tmp_path_factory: pytest.TempPathFactory):
    async with front_door(tmp_path_factory.mktemp("failing")) as door:
        assert (await door.get("/health/ready")).json() == {"status": "ready", "conditions": []}
        failure = door.worker.failure
        assert failure is not None
        failure.set_exception(OSError("the disk is gone"))
        assert failure.exception() is not None
        for path in ("/health/ready", "/v1/memories?user_id=u"):
            response = await door.http.get(path)
            check(response, 503)
            assert response.headers["retry-after"] == "1"
        assert (await door.get("/health/live")).json() == {"status": "live"}
        assert (await door.get("/metrics")).status_code == 200


async def test_readiness_does_not_depend_on_the_embedder(door: FrontDoor):
    door.embedder.is_down = True
    try:
        assert (await door.get("/health/ready")).status_code == 200
    finally:
        door.embedder.is_down = False


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:81", "http://[broken"])
async def test_a_page_of_another_site_is_refused(door: FrontDoor, origin: str):
    event = turn(f"foreign {origin}", "x")
    check(await door.post("/v1/events", event, origin=origin), 403)
    assert (await door.post("/v1/events/status", {"user_id": "u1", "event_ids": [event["event_id"]]})).json()[
        "items"
    ] == []
    assert (await door.post("/v1/events", event, origin="http://127.0.0.1")).status_code == 202


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8420", "127.0.0.1.evil.example", "[::2]:80", "", "0"])
async def test_a_name_that_was_pointed_at_this_machine_is_refused_on_every_route(door: FrontDoor, host: str):
    """DNS rebinding: to the browser such a page is of our origin, so that it could read every answer."""
    for method, path in (("GET", "/v1/memories"), ("POST", "/v1/admin/drain"), ("GET", "/openapi.json")):
        headers = {"host": host, "origin": f"http://{host}", "sec-fetch-site": "same-origin"}
        response = await door.http.request(method, path, headers=headers)
        assert "ask it by 127.0.0.1, ::1, localhost" in check(response, 421)


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8420", "127.0.0.1:1", "[::1]", "[::1]:8420", "localhost."])
async def test_loopback_goes_by_all_its_names(door: FrontDoor, host: str):
    assert (await door.http.get("/v1/memories?user_id=u", headers={"host": host})).status_code == 200


async def test_a_form_of_another_site_is_refused_without_an_origin_too(door: FrontDoor):
    event = turn("form", "x")
    for site in ("cross-site", "same-site"):
        check(await door.post("/v1/events", event, **{"sec-fetch-site": site}), 403)
    asks = {"sec-fetch-site": "cross-site"}
    linked = await door.http.get("/v1/memories?user_id=u", headers=asks | {"sec-fetch-mode": "navigate"})
    assert linked.status_code == 200, "following a link shows the answer to the user alone"
    check(await door.http.get("/v1/memories?user_id=u", headers=asks | {"sec-fetch-mode": "no-cors"}), 403)
    assert (await door.http.get("/health/live", headers=asks)).status_code == 200
    for sent in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        response = await door.http.post(
            "/v1/events", content=b'{"type":"SessionEnded"}', headers={"content-type": sent}
        )
        assert "send JSON, with Content-Type: application/json" in check(response, 415)
    asked = {"user_id": "u1", "event_ids": [event["event_id"]]}
    assert (await door.post("/v1/events/status", asked)).json()["items"] == []


async def test_a_request_that_outlives_the_grace_is_told_so():
    sent: list[Any] = []

    async def app(_scope: Scope, _receive: Receive, _send: Send) -> None:
        await asyncio.sleep(60)

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    declare(app, OPEN)
    scope = {"type": "http", "method": "GET", "path": "/docs", "query_string": b"", "scheme": "http", "headers": []}
    edge = Edge(app, Metrics(), Paths([Route("/docs", endpoint=app)]), Authentication(None, Rates()))
    request = asyncio.create_task(edge(scope, receive, send))
    await asyncio.sleep(0.01)
    request.cancel()
    await request
    assert sent[0]["status"] == 503
    assert b"the worker is stopping" in sent[1]["body"]


async def test_what_a_validator_of_ours_refuses_leaves_nothing_to_the_collector_of_garbage(door: FrontDoor):
    """Else the frames would hold the body, which anybody may make large, once old for as long as the worker lives."""
    with garbage() as found:
        for filters in ({"colour": 1}, {"AND": 1}):
            check(await door.post("/v1/search", {"user_id": "u", "query": "q", "filters": filters}), 422)
        check(await door.get("/v1/memories", user_id="u", known_at="2026-01-01T00:00:00Z"), 422)
        check(await door.get("/v1/memories", user_id="*"), 422)
    assert not [one for one in found if isinstance(one, ValueError)]
