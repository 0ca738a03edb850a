"""A key for one agent: in no route it sees what only another agent of the user knows."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import orjson
import pytest
import pytest_asyncio
from contract.front_door import turn
from contract.keyed_door import KeyedDoor, keyed_door

from mnemolog.access import key_file
from mnemolog.access.principal import Role
from mnemolog.http.authentication import STREAMS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from contract.keyed_door import Caller

pytestmark = pytest.mark.asyncio(loop_scope="module")
BOTH = (Role.READ, Role.WRITE)
THEIRS, OWN = "quokka", "tapir"
"""What the other agent was told, and what the key's own was."""
MAKES_NOTHING = ("GET", "POST")
"""Methods that are walked; what changes something is asked for by name below."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def door(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[KeyedDoor]:
    patched = pytest.MonkeyPatch()
    patched.setattr(key_file, "LOOK_SECONDS", 0.0)
    async with keyed_door(tmp_path_factory.mktemp("apart"), idle_seconds=3_600) as opened:
        yield opened
    patched.undo()


async def fill(caller: Caller, agent: str, word: str) -> list[str]:
    """Have an agent be told things of every kind that have a word; return the ids of memories."""
    more = {"user_id": "ana", "agent_id": agent}
    ids: list[str] = []
    feeling = {"event_type": "confession", "emotion": "joy", "emotion_intensity": 0.9, "memory_type": "episodic"}
    appointment = {"event_type": "appointment", "metadata": {"when": "2090-01-01"}}
    for kind in ({}, feeling, appointment, {"attribute": "user_name", "value": word}):
        made = await caller.ask("POST", "/v1/memories", more | {"content": f"a {word} {len(ids)}"} | kind)
        assert made.status_code in (201, 422), made.text  # one has not every field
        ids += [made.json()["memory_id"]] if made.status_code == 201 else []
    said = turn(f"said-to-{agent}", f"I saw a {word}", session_id="shared", **more)
    told = await caller.ask("POST", "/v1/events", said)
    assert told.status_code == 202
    reminder = {"due_at": "2090-01-01", "content": f"feed the {word}", "agent_id": agent}
    assert (await caller.ask("POST", "/v1/users/ana/reminders", reminder)).status_code == 201
    return ids


async def test_nothing_of_another_agent_appears_in_any_answer(door: KeyedDoor):
    everybody = door.caller(*BOTH, Role.TENANT_ADMIN)
    theirs, own = await fill(everybody, "mia", THEIRS), await fill(everybody, "luna", OWN)
    wake = {"every_seconds": 86_400, "text": f"look after the {THEIRS}", "agent_id": "mia"}
    assert (await everybody.ask("PUT", "/v1/users/ana/wake", wake)).status_code == 200
    luna = door.caller(*BOTH, Role.TENANT_ADMIN, users=("ana",), agents=("luna",))
    seen: set[str] = set()
    paths: dict[str, dict[str, Any]] = door.app.openapi()["paths"]
    for template, memory_id, agent in product(paths, [theirs[0], own[0]], [None, "luna", "mia"]):
        names = {"user_id": "ana", "memory_id": memory_id, "session_id": "shared", "event_id": "said-to-mia"}
        path = template.format(**names, reminder_id="none", entity_id="none", webhook_id="none")
        for method in (name.upper() for name in paths[template] if name.upper() in MAKES_NOTHING):
            if template in STREAMS or template.startswith(("/v1/import", "/v1/admin")):
                continue  # an import reads nothing, and the others are not for keys of some agents
            known = {p["name"] for p in paths[template][method.lower()].get("parameters", ()) if p["in"] == "query"}
            asked = {"user_id": "ana", "device_id": "ana", "agent_id": agent}
            query = {name: value for name, value in asked.items() if name in known and value is not None}
            body = None if method == "GET" else body_for(template, agent)
            answer = await luna.ask(method, path, body, **query)
            assert answer.status_code < 500, (method, path, answer.text)
            assert THEIRS not in answer.text, (method, path, query, body, answer.text)
            assert not any(i in answer.text for i in theirs if i not in path), (method, path, query, answer.text)
            if OWN in answer.text:
                seen.add(template)
    assert seen >= {
        "/v1/memories", "/v1/memories/{memory_id}", "/v1/memories/{memory_id}/history", "/v1/search", "/v1/context",
        "/v1/sessions/{session_id}/turns", "/v1/users/{user_id}/profile", "/v1/tools/memory_search",
    }  # fmt: skip


def body_for(template: str, agent: str | None) -> dict[str, Any]:
    """Return a body that asks for as much as a route gives."""
    named: dict[str, Any] = {"user_id": "ana"} | ({} if agent is None else {"agent_id": agent})
    if template == "/v1/events/status":
        return {"user_id": "ana", "event_ids": ["said-to-mia", "said-to-luna"]}
    if template == "/v1/context":
        return named | {"query": f"{OWN} and the other", "session_id": "shared"}
    if "search" in template:
        return named | {"query": "what was seen"}
    return named


async def test_of_another_agents_event_nothing_is_known(door: KeyedDoor):
    everybody = door.caller(*BOTH, tenant="events")
    for agent in ("mia", "luna"):
        event = turn(f"to-{agent}", "hello", user_id="ana", agent_id=agent)
        assert (await everybody.ask("POST", "/v1/events", event)).status_code == 202
    luna = door.caller(*BOTH, tenant="events", agents=("luna",))
    asked = {"user_id": "ana", "event_ids": ["to-mia", "to-luna"]}
    states = (await luna.ask("POST", "/v1/events/status", asked)).json()
    assert ([each["event_id"] for each in states["items"]], states["unknown"]) == (["to-luna"], ["to-mia"])
    assert (await luna.ask("GET", "/v1/events/to-mia", user_id="ana")).status_code == 404
    assert (await luna.ask("GET", "/v1/events/to-luna", user_id="ana")).status_code == 200
    assert (await everybody.ask("POST", "/v1/events/status", asked)).json()["unknown"] == []


async def test_the_turns_of_a_session_are_those_with_the_agent(door: KeyedDoor):
    everybody = door.caller(*BOTH, tenant="turns")
    for number, agent in enumerate(["luna", "mia", "mia", "luna", "mia"]):
        event = turn(f"t{number}", f"turn {number}", user_id="ana", agent_id=agent)
        assert (await everybody.ask("POST", "/v1/events", event)).status_code == 202
    luna = door.caller(*BOTH, tenant="turns", agents=("luna",))
    path = "/v1/sessions/s1/turns"
    shown = (await luna.ask("GET", path, user_id="ana", agent_id="luna", limit="2")).json()["items"]
    assert [item["content"] for item in shown] == ["turn 0", "turn 3"]
    assert (await luna.ask("GET", path, user_id="ana")).status_code == 403
    assert len((await everybody.ask("GET", path, user_id="ana")).json()["items"]) == 5


async def test_the_wake_of_another_agent_stays_as_it_is(door: KeyedDoor):
    everybody = door.caller(*BOTH, tenant="wakes")
    wake = {"every_seconds": 86_400, "text": "for mia", "agent_id": "mia"}
    assert (await everybody.ask("PUT", "/v1/users/ana/wake", wake)).status_code == 200
    luna = door.caller(*BOTH, tenant="wakes", agents=("luna",))
    other = wake | {"text": "for luna", "agent_id": "luna"}
    assert (await luna.ask("PUT", "/v1/users/ana/wake", other)).status_code == 403
    assert orjson.loads((await everybody.ask("GET", "/v1/users/ana/wake")).content)["text"] == "for mia"
    assert (await luna.ask("PUT", "/v1/users/ben/wake", other)).status_code == 200


async def test_a_key_for_an_agent_lists_and_cancels_that_agents_reminders(door: KeyedDoor):
    everybody = door.caller(*BOTH, tenant="reminders")
    path, ids = "/v1/users/ana/reminders", {}
    for agent in ("mia", "luna", None):
        body = {"due_at": "2090-01-01", "content": f"for {agent}"} | ({} if agent is None else {"agent_id": agent})
        ids[agent] = (await everybody.ask("POST", path, body)).json()["reminder_id"]
    luna = door.caller(*BOTH, tenant="reminders", agents=("luna",))
    assert (await luna.ask("GET", path)).status_code == 403
    assert (await luna.ask("GET", path, agent_id="mia")).status_code == 403
    listed = (await luna.ask("GET", path, agent_id="luna")).json()
    assert (listed["total"], {item["reminder_id"] for item in listed["items"]}) == (2, {ids["luna"], ids[None]})
    theirs = await luna.ask("DELETE", f"{path}/{ids['mia']}", agent_id="luna")
    unknown = await luna.ask("DELETE", f"{path}/none", agent_id="luna")
    assert (theirs.status_code, theirs.json()) == (404, unknown.json())
    assert (await luna.ask("DELETE", f"{path}/{ids['luna']}")).status_code == 403
    assert (await luna.ask("DELETE", f"{path}/{ids['luna']}", agent_id="luna")).status_code == 200
    left = (await everybody.ask("GET", path)).json()
    assert {item["reminder_id"] for item in left["items"]} == {ids["mia"], ids[None]}


async def test_a_key_for_an_agent_reads_and_removes_that_agents_wake(door: KeyedDoor):
    everybody = door.caller(*BOTH, tenant="own-wakes")
    luna = door.caller(*BOTH, tenant="own-wakes", agents=("luna",))
    for user, agent in (("ana", "luna"), ("ben", "mia")):
        wake = {"every_seconds": 86_400, "text": f"for {agent}", "agent_id": agent}
        assert (await everybody.ask("PUT", f"/v1/users/{user}/wake", wake)).status_code == 200
    assert (await luna.ask("GET", "/v1/users/ana/wake", agent_id="luna")).json()["text"] == "for luna"
    assert (await luna.ask("GET", "/v1/users/ana/wake")).status_code == 403
    for method in ("GET", "DELETE"):
        assert (await luna.ask(method, "/v1/users/ben/wake", agent_id="luna")).status_code == 404
    assert (await luna.ask("DELETE", "/v1/users/ana/wake", agent_id="luna")).json()["every_seconds"] is None
    assert (await everybody.ask("GET", "/v1/users/ben/wake")).json()["text"] == "for mia"
