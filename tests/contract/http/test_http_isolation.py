"""Isolation: whatever is asked with whichever key, nothing of another tenant or another user appears in an answer.

Every route of the document is asked, with paths, queries and bodies made of the ids that there are: one's own and those
of others. What others have carries words that nobody else may ever see.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from contract.front_door import turn
from contract.keyed_door import Caller, KeyedDoor, keyed_door
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mnemolog.access import key_file
from mnemolog.access.principal import Role
from mnemolog.http.authentication import STREAMS

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterator

pytestmark = pytest.mark.asyncio(loop_scope="module")
USERS = ("ana", "ben")
WORDS = {("acme", "ana"): "quokka", ("acme", "ben"): "axolotl", ("rival", "ana"): "pangolin", ("rival", "ben"): "tapir"}
"""What each user has and no other: a word of its memories, turns, reminders and wakes."""
NOT_ASKED = {"/v1/admin/rebuild", "/v1/admin/drain", "/v1/admin/ticks"}
"""What moves the whole installation, and takes seconds: that its role is needed is tested in test_http_keys.py."""


@dataclass
class World:
    """Two tenants with two users each, callers with keys, and the ids that there are."""

    door: KeyedDoor
    callers: dict[str, Caller]
    visible: dict[str, set[str]]
    """The words that each caller may see."""
    ids: dict[tuple[str, str], list[str]]
    loop: asyncio.AbstractEventLoop

    @property
    def memory_ids(self) -> list[str]:
        return [memory_id for ids in self.ids.values() for memory_id in ids]

    @property
    def operations(self) -> list[tuple[str, str]]:
        paths = self.door.app.openapi()["paths"]
        return [
            (method.upper(), path)
            for path, methods in sorted(paths.items())
            for method in sorted(methods)
            if path not in NOT_ASKED | STREAMS
        ]


async def fill(caller: Caller, user: str, word: str) -> list[str]:
    """Give a user memories, turns, a reminder and a wake that all have a word; return the memories' ids."""
    ids = []
    for content in (f"likes the {word}", f"has seen a {word} at night"):
        made = await caller.ask("POST", "/v1/memories", {"user_id": user, "content": content, "agent_id": "luna"})
        assert made.status_code == 201, made.text
        ids.append(made.json()["memory_id"])
    slot = {"user_id": user, "content": f"is called {word}", "attribute": "user_name", "value": word}
    assert (await caller.ask("POST", "/v1/memories", slot)).status_code == 201
    event = turn("shared-event-id", f"I saw a {word}", user_id=user, session_id="shared-session")
    assert (await caller.ask("POST", "/v1/events", event)).status_code == 202
    reminder = {"due_at": "2090-01-01", "content": f"feed the {word}"}
    assert (await caller.ask("POST", f"/v1/users/{user}/reminders", reminder)).status_code == 201
    wake = {"every_seconds": 86_400, "text": f"look after the {word}"}
    assert (await caller.ask("PUT", f"/v1/users/{user}/wake", wake)).status_code == 200
    return ids


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> Any:
    import asyncio  # noqa: PLC0415 - only the running loop is wanted

    patched = pytest.MonkeyPatch()
    patched.setattr(key_file, "LOOK_SECONDS", 0.0)
    async with keyed_door(tmp_path_factory.mktemp("isolation"), idle_seconds=3_600) as door:
        everything = (Role.READ, Role.WRITE, Role.TENANT_ADMIN)
        full = {tenant: door.caller(*everything, tenant=tenant) for tenant in ("acme", "rival")}
        ids = {place: await fill(full[place[0]], place[1], word) for place, word in WORDS.items()}
        callers = {
            "acme": full["acme"],
            "rival": full["rival"],
            "reader": door.caller(Role.READ, tenant="acme"),
            "writer": door.caller(Role.WRITE, tenant="acme"),
            "admin": door.caller(Role.TENANT_ADMIN, tenant="rival"),
            "narrowed": door.caller(*everything, tenant="acme", users=("ana",)),
            "pattern": door.caller(*everything, tenant="rival", users=("b?n",)),
            "agent": door.caller(*everything, tenant="acme", agents=("luna",)),
            "metrics": door.caller(Role.METRICS, tenant="acme"),
            "stranger": door.caller(*everything, tenant="stranger"),
        }
        of_tenant = {tenant: {word for (t, _), word in WORDS.items() if t == tenant} for tenant in ("acme", "rival")}
        visible = {name: of_tenant.get(caller.key.tenant, set()) for name, caller in callers.items()}
        visible |= {"narrowed": {"quokka"}, "pattern": {"tapir"}, "metrics": set()}
        yield World(door, callers, visible, ids, asyncio.get_running_loop())
    patched.undo()


def said(value: Any) -> Iterator[str]:
    """Yield the ids that a request names, which an error may repeat."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from said(each)
    elif isinstance(value, list):
        for each in value:
            yield from said(each)


@st.composite
def requests(draw: st.DrawFn) -> dict[str, Any]:
    """Draw what is filled into a route, by place numbers of what there is: users, memories, and options."""
    return {
        "route": draw(st.integers(0, 10_000)),
        "caller": draw(st.integers(0, 10_000)),
        "user": draw(st.sampled_from([*USERS, "*", "ANA", "ana ", "nobody"])),
        "other_user": draw(st.sampled_from([None, *USERS])),
        "memory": draw(st.integers(0, 10_000)),
        "scope": draw(st.sampled_from([None, "global", "personal", "all"])),
        "agent": draw(st.sampled_from([None, "luna", "mia"])),
        "in_query": draw(st.booleans()),
    }


def filled(world: World, drawn: dict[str, Any]) -> tuple[str, str, dict[str, str], Any]:
    """Return the method, the path, the query and the body that were drawn."""
    method, template = world.operations[drawn["route"] % len(world.operations)]
    memory_id = world.memory_ids[drawn["memory"] % len(world.memory_ids)]
    names = {"user_id": drawn["user"], "memory_id": memory_id, "session_id": "shared-session"}
    names |= {"event_id": "shared-event-id", "reminder_id": "none"}
    path = template
    for name, value in names.items():
        path = path.replace(f"{{{name}}}", value.replace(" ", "%20"))
    document = world.door.app.openapi()["paths"][template][method.lower()]
    known = {each["name"] for each in document.get("parameters", ()) if each["in"] == "query"}
    wanted = {"user_id": drawn["other_user"] or drawn["user"], "device_id": drawn["other_user"]}
    wanted |= {"scope": drawn["scope"], "agent_id": drawn["agent"]}
    query = {name: value for name, value in wanted.items() if name in known and value and drawn["in_query"]}
    body: Any = None
    if "requestBody" in document:
        asks = any(word in template for word in ("search", "context"))  # others keep the words, as the caller's own
        words = {
            "query": " ".join(WORDS.values()) if asks else "tea",
            "content": "likes tea",
            "event_ids": ["shared-event-id"],
        }
        more = {"user_id": drawn["user"], "agent_id": drawn["agent"], "scope": drawn["scope"], "importance": 0.5}
        more |= {"messages": [{"role": "user", "content": "hello"}], "session_id": "shared-session"}
        more |= {"due_at": "2090-01-01", "every_seconds": 86_400, "text": "look", "end_session": False}
        fields = fields_of(world, document["requestBody"])
        body = {name: value for name, value in (words | more).items() if name in fields and value is not None}
        if not fields:
            body = [turn(None, "hello", user_id=user) for user in {drawn["user"], drawn["other_user"] or drawn["user"]}]
            if "import" in template:
                body = [{"user_id": each["user_id"], "content": "likes tea"} for each in body]
    return method, path, query, body


def fields_of(world: World, request_body: dict[str, Any]) -> set[str]:
    """Return the fields of a body, by the document; none for one that is lines."""
    schema = request_body["content"]["application/json"]["schema"]
    options = schema.get("anyOf", [schema])
    found: set[str] = set()
    for option in options:
        if "$ref" in option:
            name = option["$ref"].rpartition("/")[2]
            found |= world.door.app.openapi()["components"]["schemas"][name]["properties"].keys()
    return found


async def test_nothing_of_others_appears_in_any_answer(world: World):
    answered: dict[str, set[int]] = {}

    async def ask(drawn: dict[str, Any]) -> None:
        names = sorted(world.callers)
        name = names[drawn["caller"] % len(names)]
        method, path, query, body = filled(world, drawn)
        if method == "DELETE" and not path.startswith("/v1/memories/none"):
            method = "GET"  # what is forgotten could not be found by those who may find it
        if path.endswith("/share") and world.callers[name].key.users is None:
            return  # who may see both users may give one what the other has
        response = await world.callers[name].ask(method, path, body, **query)
        assert response.status_code < 500, (method, path, response.text)
        asked = " ".join(said([path, query, body]))
        for word in set(WORDS.values()) - world.visible[name]:
            assert word not in response.text or word in asked, (name, method, path, query, body, response.text)
        foreign = {
            memory_id
            for place, ids in world.ids.items()
            if WORDS[place] not in world.visible[name]
            for memory_id in ids
        }
        for memory_id in foreign:
            assert memory_id not in response.text or memory_id in asked, (name, method, path, response.text)
        if any(memory_id in path for memory_id in foreign):
            assert response.status_code in (403, 404, 405, 422), (name, method, path, response.text)
        answered.setdefault(name, set()).add(response.status_code)

    @settings(max_examples=600, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(requests())
    def drive(drawn: dict[str, Any]) -> None:
        import asyncio  # noqa: PLC0415 - in the thread that Hypothesis runs in

        asyncio.run_coroutine_threadsafe(ask(drawn), world.loop).result(30)

    await world.loop.run_in_executor(None, drive)
    assert answered["acme"] >= {200}
    assert answered["narrowed"] >= {200, 403}
    assert {200, 403} & answered["stranger"]


async def test_counts_are_those_of_what_one_may_see(world: World):
    before = {}
    for name in ("narrowed", "stranger"):
        caller = world.callers[name]
        before[name] = (await caller.ask("GET", "/v1/memories", user_id="ana")).json()["total"]
        stats = (await caller.ask("GET", "/v1/users/ana/stats")).json()["total"]
        assert stats == before[name]
    made = await world.callers["rival"].ask("POST", "/v1/memories", {"user_id": "ana", "content": "one more pangolin"})
    assert made.status_code == 201
    for name in ("narrowed", "stranger"):
        assert (await world.callers[name].ask("GET", "/v1/memories", user_id="ana")).json()["total"] == before[name]
    whole = (await world.callers["stranger"].ask("GET", "/api/memories")).json()
    owners = {item["device_id"] for item in whole["items"]}
    assert "pangolin" not in str(whole)
    assert whole["total"] == len(whole["items"])
    assert owners <= {*USERS, "*", "ANA", "ana ", "nobody"}


async def test_no_word_of_a_user_is_in_the_metrics(world: World):
    shown = (await world.callers["metrics"].ask("GET", "/metrics")).text
    assert "mnemolog_" in shown
    for word in [*WORDS.values(), *world.memory_ids, "acme", "rival", *(c.key.key_id for c in world.callers.values())]:
        assert word not in shown
