"""Isolation: whatever is asked with whichever key, nothing of another tenant, user or agent is in what is answered.

Nor is it in an error, a count, a page's total, a metric or a log line. Every route of the application is asked as every
caller; Hypothesis then draws requests on top. That the test can fail is tested by leaks that are planted.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from contract.direct_door import DirectDoor
from contract.isolation_mem0 import ADDED, RESET
from contract.isolation_walk import Request, heard, leaks, operations, requests_of, walk, without_user
from contract.isolation_world import FOR_EVERYONE, SHARED_KEY, World, intact, logged, new_world
from contract.keyed_door import keyed_door
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mnemolog.access import key_file
from mnemolog.access.principal import Principal
from mnemolog.changes.feed import ChangeFeed, ChangesWanted
from mnemolog.http import dependencies, permissions
from mnemolog.http.authentication import BETWEEN_WORKERS, STREAMS
from mnemolog.http.routes import memories
from mnemolog.wakes.stream import Listener, WakeStreams
from projections.queries.queries import Queries

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    patched = pytest.MonkeyPatch()
    patched.setattr(key_file, "LOOK_SECONDS", 0.0)
    with logged() as lines:
        async with keyed_door(tmp_path_factory.mktemp("isolation"), idle_seconds=3_600) as door:
            door.asking = DirectDoor(door.app)
            yield await new_world(door, lines)
    patched.undo()


async def test_nothing_of_others_is_in_what_any_route_answers_any_caller(world: World):
    added = await world.full["acme"].ask("POST", "/v3/memories/add/", ADDED, {"Idempotency-Key": SHARED_KEY})
    assert added.status_code == 200, added.text
    found = [leak async for leak in walk(world)]
    assert found == []
    assert await intact(world) == []
    told = {one for one, statuses in world.answered.items() if min(statuses) < HTTPStatus.BAD_REQUEST}
    assert set(operations(world)) - told == {
        one for one in operations(world) if one[1].startswith(BETWEEN_WORKERS) or one[1] in (*STREAMS, RESET)
    }


async def test_every_route_is_asked_as_every_caller(world: World):
    for name in world.callers:
        for method, template in operations(world):
            asked = any(requests_of(world, name, method, template))
            assert asked or template in (*STREAMS, RESET), (name, method, template)
    assert len(operations(world)) > 70


async def test_what_is_asked_finds_what_one_may_see(world: World):
    """A walk that is refused everywhere would find no leak."""
    for name in ("all of acme", "reader", "ana", "b?n", "luna", "ana and mia"):
        words = {place.word for place in world.seen_by(name)}
        seen: dict[str, set[str]] = {}
        for method, template in [("POST", "/v1/search"), ("GET", "/v1/memories"), ("POST", "/v1/context")]:
            for request in requests_of(world, name, method, template):
                answer = await world.callers[name].ask(method, request.path, request.body, None, **request.query)
                seen.setdefault(template, set()).update(word for word in words if word in answer.text)
        assert seen == dict.fromkeys(seen, words), name


async def test_nobody_hears_of_the_wakes_and_changes_of_others(world: World):
    assert [leak async for leak in heard(world)] == []


async def test_no_word_no_id_and_no_name_is_in_the_metrics(world: World):
    shown = (await world.callers["metrics"].ask("GET", "/metrics")).text
    assert "mnemolog_" in shown
    names = {caller.key.key_id for caller in world.callers.values()} | FOR_EVERYONE.keys() | {"ana", "luna"}
    for place in world.places:
        names |= {place.word, *place.ids}
    assert not {name for name in names if name in shown}


async def test_no_word_was_logged(world: World):
    words = world.words | {"the garden"}
    assert world.logged.text
    assert not [line for line in world.logged.text if any(word in line for word in words)]
    secrets = [caller.text.split("_", 2)[2] for caller in world.callers.values()]
    assert not [line for line in world.logged.text if any(secret in line for secret in secrets)]


# -- what is drawn on top


@st.composite
def changes(draw: st.DrawFn) -> dict[str, Any]:
    """Draw which of all requests is sent as whom, and what is put in the place of what it names."""
    names = st.sampled_from([None, "ana", "ben", "*", "ANA", "ana ", "nobody"])
    return {
        "caller": draw(st.integers(0, 10_000)),
        "operation": draw(st.integers(0, 10_000)),
        "request": draw(st.integers(0, 10_000)),
        "user_id": draw(names),
        "agent_id": draw(st.sampled_from([None, "luna", "mia", "nova"])),
        "is_of_nobody": draw(st.booleans()),
        "key": draw(st.sampled_from([None, SHARED_KEY])),
        "page": draw(st.sampled_from([None, "1", "2"])),
    }


def changed(request: Request, drawn: dict[str, Any]) -> Request:
    """Return a request with what was drawn instead of what it names, where it names anything."""
    given: dict[str, str | None] = {"user_id": drawn["user_id"], "device_id": drawn["user_id"]}
    given |= {"agent_id": drawn["agent_id"], "page": drawn["page"]}

    def with_given(values: dict[str, Any]) -> dict[str, Any]:
        return values | {name: value for name, value in given.items() if name in values and value is not None}

    body = with_given(request.body) if isinstance(request.body, dict) else request.body
    headers = request.headers | ({} if drawn["key"] is None else {"Idempotency-Key": drawn["key"]})
    made = replace(request, query=with_given(request.query), body=body, headers=headers)
    return without_user(made) if drawn["is_of_nobody"] else made


async def test_nothing_of_others_is_in_what_is_drawn(world: World):
    loop, found, names = asyncio.get_running_loop(), [], sorted(world.callers)
    asked = [one for one in operations(world) if one[1] not in (*STREAMS, RESET) and not one[1].startswith("/v1/admin")]

    async def ask(drawn: dict[str, Any]) -> None:
        name = names[drawn["caller"] % len(names)]
        requests = list(requests_of(world, name, *asked[drawn["operation"] % len(asked)]))
        request = changed(requests[drawn["request"] % len(requests)], drawn)
        found.extend(await leaks(world, name, request))

    world.unknown.clear()

    @settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(changes())
    def drive(drawn: dict[str, Any]) -> None:
        asyncio.run_coroutine_threadsafe(ask(drawn), loop).result(30)
        assert found == []

    await loop.run_in_executor(None, drive)
    assert await intact(world) == []


# -- leaks that are planted


def tenant_is_not_the_callers(_: World, patch: pytest.MonkeyPatch) -> None:
    async def wrong(caller: Any) -> str:  # noqa: ARG001 - the same names
        return "rival"

    patch.setattr(dependencies._tenant, "__code__", wrong.__code__)  # the routes hold the function itself


def agents_are_all_one(_: World, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Principal, "has_agent", lambda *_: True)


def nobody_asks_whose_a_memory_is(_: World, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(permissions, "_check_memory", lambda *_, **__: None)


def a_policy_is_any_agents(_: World, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(permissions, "_check_tenants", lambda *_, **__: None)


def a_total_counts_what_is_not_shown(_: World, patch: pytest.MonkeyPatch) -> None:
    paged = memories.paged
    patch.setattr(memories, "paged", lambda *given: paged(*given) | {"total": 1_000})


def words_are_logged(_: World, patch: pytest.MonkeyPatch) -> None:
    read = Queries.memories

    async def spoken(self: Queries, *given: Any, **more: Any) -> Any:
        found = await read(self, *given, **more)
        key_file.log.debug("found %s", [memory.content for memory in found])
        return found

    patch.setattr(Queries, "memories", spoken)


PLANTED = {
    tenant_is_not_the_callers: ["/v1/users/{user_id}/profile"],
    agents_are_all_one: ["/v1/memories"],
    nobody_asks_whose_a_memory_is: ["/v1/memories/{memory_id}/history"],
    a_policy_is_any_agents: ["/v1/policy"],
    a_total_counts_what_is_not_shown: ["/v1/memories"],
    words_are_logged: ["/v1/users/{user_id}/stats"],
}


@pytest.mark.parametrize(("plant", "templates"), PLANTED.items(), ids=lambda one: getattr(one, "__name__", ""))
async def test_a_planted_leak_is_found(
    world: World, plant: Callable[[World, pytest.MonkeyPatch], None], templates: list[str]
):
    before = len(world.logged.text)
    with pytest.MonkeyPatch.context() as patch:
        plant(world, patch)
        assert [leak async for leak in walk(world, templates)]
    del world.logged.text[before:]
    assert [leak async for leak in walk(world, templates)] == []


async def test_a_feed_that_tells_of_every_user_is_found(world: World, monkeypatch: pytest.MonkeyPatch):
    here = ChangeFeed.changes_here

    def everywhere(self: ChangeFeed, wanted: ChangesWanted, *given: Any) -> Any:
        return here(self, replace(wanted, user_id=None, agent_id=None), *given)

    monkeypatch.setattr(ChangeFeed, "changes_here", everywhere)
    assert [leak async for leak in heard(world) if "/v1/changes/stream" in leak]


async def test_a_stream_that_tells_everybody_is_found(world: World, monkeypatch: pytest.MonkeyPatch):
    here = WakeStreams.wakes_here

    async def everywhere(self: WakeStreams, listener: Listener, since: Any) -> Any:
        return await here(self, replace(listener, user_id=None), since)

    monkeypatch.setattr(WakeStreams, "wakes_here", everywhere)
    assert [leak async for leak in heard(world)]
