"""Bodies: refused by path before they are read, bounded by path and all together, and with a deadline."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from contract.front_door import FrontDoor, front_door, turn

from mnemolog.access.principal import PRINCIPAL, Principal, Role
from mnemolog.http.bounds.bodies import FREE_BYTES, MAX_BODY_BYTES, MAX_SMALL_BODY_BYTES, Bodies
from mnemolog.http.bounds.streams import Streams
from mnemolog.http.problems import Problem

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.types import Message, Receive, Scope

pytestmark = pytest.mark.asyncio(loop_scope="module")
EVENTS: dict[str, Any] = {"path": "/v1/events", "headers": []}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def door(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[FrontDoor]:
    async with front_door(tmp_path_factory.mktemp("worker")) as opened:
        yield opened


class Sent:
    """A body in parts, of which it is known how many were read."""

    def __init__(self) -> None:
        self.read = 0

    async def parts(self) -> AsyncIterator[bytes]:
        for _ in range(3):
            self.read += 1
            yield b"x" * 1024


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", "/v1/nowhere", 404),
        ("POST", "/v1/internal/events", 404),
        ("PUT", "/v1/events", 405),
        ("POST", "/v1/memories/m", 405),
        ("POST", "/v1/users/u/profile", 405),
        ("POST", "/v1/events?user_id=%ff", 400),
        ("POST", "/v1/users/%ff%fe/reminders", 400),
    ],
)
async def test_what_no_route_answers_is_refused_before_its_body_is_read(
    door: FrontDoor, method: str, path: str, status: int
):
    sent = Sent()
    response = await door.http.request(method, path, content=sent.parts())
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    if not path.startswith("/v1/internal"):  # where names suffice, whether it is a worker is said by the route
        assert sent.read == 0


async def test_a_path_that_answers_to_other_methods_says_to_which(door: FrontDoor):
    assert (await door.http.put("/v1/events")).headers["allow"] == "POST"
    assert (await door.http.post("/v1/memories/m")).headers["allow"] == "DELETE, GET, PATCH"


@pytest.mark.parametrize(
    ("path", "most"), [("/v1/memories", MAX_SMALL_BODY_BYTES), ("/mcp", MAX_SMALL_BODY_BYTES), ("/v1/import", None)]
)
async def test_each_path_has_its_limit(door: FrontDoor, path: str, most: int | None):
    for size in (MAX_SMALL_BODY_BYTES, MAX_SMALL_BODY_BYTES + 1):
        response = await door.http.post(path, content=b" " * size, headers={"content-type": "application/json"})
        assert (response.status_code == 413) == (size > (most or MAX_BODY_BYTES)), (path, size)


async def test_the_largest_memory_is_taken_with_every_character_escaped(door: FrontDoor):
    text = "记" * (64 * 1024 // 3)
    escaped = "".join(f"\\u{ord(c):04x}" for c in text)
    body = f'{{"user_id":"u","content":"{escaped}","metadata":{{"note":"{escaped[:-60]}"}}}}'
    response = await door.http.post("/v1/memories", content=body, headers={"content-type": "application/json"})
    assert response.status_code == 201, response.text


def parts(*given: bytes, ends: bool = True) -> Receive:
    """Return what yields the parts of a body, and then nothing more for ever if it does not end."""
    left = list(given)

    async def receive() -> Message:
        if not left:
            await asyncio.Event().wait()
        return {"type": "http.request", "body": left.pop(0), "more_body": bool(left) or not ends}

    return receive


async def test_a_body_that_does_not_end_is_given_up():
    bodies = Bodies(seconds=0.05)
    with ExitStack() as answered, pytest.raises(Problem) as error:
        await bodies.read(EVENTS, parts(b"[", ends=False), answered)
    assert (error.value.status_code, bodies.in_flight) == (408, 0)


async def test_all_bodies_together_are_bounded_until_they_are_answered():
    bodies, large = Bodies(most_in_flight=1_000), b"x" * (FREE_BYTES + 600)
    with ExitStack() as first:
        await bodies.read(EVENTS, parts(large), first)
        with ExitStack() as second, pytest.raises(Problem) as error:
            await bodies.read(EVENTS, parts(large), second)
        assert error.value.status_code == 503
        with ExitStack() as second:
            assert await bodies.read(EVENTS, parts(b"x" * FREE_BYTES), second), "a small one goes on"
    with ExitStack() as third:
        assert await bodies.read(EVENTS, parts(large[:600], large[600:]), third) == large
        assert bodies.in_flight == 600
    assert bodies.in_flight == 0


async def test_a_request_over_the_budget_is_told_when_to_come_back(door: FrontDoor, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Bodies, "_take", refuse_all)
    response = await door.http.post("/v1/events", content=b" " * (FREE_BYTES + 1))
    assert (response.status_code, response.headers["retry-after"]) == (503, "1")


def refuse_all(_bodies: Bodies, _size: int, _tenant: str | None, _until: ExitStack) -> None:
    """As if other requests had filled the budget."""
    raise Problem(503, "full")  # type: ignore[arg-type]


async def test_no_more_streams_are_opened_than_a_worker_has():
    streams = Streams(most=1)
    stream: Scope = {"path": "/v1/wakes/stream"}
    with streams.counted(stream):
        with pytest.raises(Problem), streams.counted(stream):
            raise AssertionError("a second one was opened")
        with streams.counted({"path": "/v1/events"}):
            pass
    with streams.counted(stream):
        pass


async def test_no_tenant_takes_all_bytes_in_flight():
    bodies, size = Bodies(most_in_flight=4 * FREE_BYTES), 2 * FREE_BYTES

    async def body() -> Message:
        return {"type": "http.request", "body": b" " * size}

    with ExitStack() as answered:
        for tenant, is_read in (("a", True), ("a", True), ("a", False), ("b", True), ("b", True), ("b", False)):
            scope: Scope = {"path": "/v1/events", "headers": []}
            scope[PRINCIPAL] = Principal(tenant, frozenset({Role.WRITE}), "k1")
            if is_read:
                assert len(await bodies.read(scope, body, answered)) == size
            else:
                with pytest.raises(Problem):
                    await bodies.read(scope, body, answered)
    assert bodies.in_flight == 0


async def test_no_tenant_takes_all_streams():
    streams = Streams(most=3, most_of_a_tenant=1)
    one, other = (
        {"path": "/v1/wakes/stream", PRINCIPAL: Principal(tenant, frozenset({Role.READ}), "k1")} for tenant in "ab"
    )
    with streams.counted(one), streams.counted(other):
        with pytest.raises(Problem), streams.counted(one):
            raise AssertionError("a second one was opened")
        with streams.counted({"path": "/v1/wakes/stream"}):
            pass
    with streams.counted(one):
        pass


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/health/live", 200),
        ("GET", "/metrics", 200),
        ("GET", "/openapi.json", 200),
        ("GET", "/docs", 200),
        ("GET", "/v1/memories?user_id=u", 200),
        ("GET", "/v1/users/u/export", 200),
        ("POST", "/v1/search", 422),
        ("GET", "/nowhere", 404),
        ("GET", "/health/live?x=%ff", 400),
    ],
)
async def test_every_answer_says_that_it_is_kept_nowhere_and_is_no_program(
    door: FrontDoor, method: str, path: str, status: int
):
    response = await door.http.request(method, path)
    assert response.status_code == status
    assert response.headers.get_list("cache-control") == ["no-store"]
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.headers["cross-origin-resource-policy"] == "same-origin"
    assert response.headers["content-security-policy"].startswith("default-src 'none'")


@pytest.mark.parametrize("path", ["/v1/search", "/mcp"])
async def test_a_query_says_each_thing_once(door: FrontDoor, path: str):
    where = "/v1/memories?user_id=a&user_id=b" if path == "/v1/search" else f"{path}?user_id=a&user_id=b"
    response = await (door.http.get(where) if path == "/v1/search" else door.post(where, {}))
    assert response.status_code == 422
    assert response.json()["detail"] == "$.user_id: is given more than once: say which one is meant"


async def test_a_key_of_a_repeat_has_no_control_characters(door: FrontDoor):
    response = await door.post("/v1/events", turn(None, "x"), **{"idempotency-key": "a\x1fb"})
    assert (response.status_code, "control characters" in response.json()["detail"]) == (422, True)


@pytest.mark.parametrize(
    "host",
    ["[::1]evil.com", "[::1].evil.com:80", "localhost:80@evil.com", "[localhost]", "localhost:", "", "localhost:80:80"],
)
async def test_a_host_that_only_begins_like_ours_is_refused(door: FrontDoor, host: str):
    assert (await door.http.get("/health/live", headers={"host": host})).status_code == 421


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8420", "localhost.", "[::1]:8420", "127.0.0.1:1"])
async def test_our_own_names_are_known(door: FrontDoor, host: str):
    assert (await door.http.get("/health/live", headers={"host": host})).status_code == 200


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://127.0.0.1", 200),
        ("https://127.0.0.1", 403),
        ("x://127.0.0.1", 403),
        ("http://127.0.0.1:81", 403),
        ("null", 403),
    ],
)
async def test_an_origin_is_ours_with_its_scheme_and_port(door: FrontDoor, origin: str, status: int):
    assert (await door.http.get("/health/live", headers={"origin": origin})).status_code == status
