"""The walk of the isolation test: every route of the application, asked as every caller about everything there is.

Each request is checked for itself: no word and no id of what the caller may not see is in the answer, in its headers or
in what was logged, what is another's is answered as what is not there, and a page's total counts what the caller sees.
"""

from __future__ import annotations

import time
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from itertools import cycle, product
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from contract.front_door import turn
from contract.isolation_mem0 import mem0_requests
from contract.isolation_world import (
    AGENTS,
    SHARED_KEY,
    SHARED_SESSION,
    USERS,
    Place,
    World,
    hook,
    remind,
    steer,
    wake,
)
from contract.wake_stream_client import WakeStream, open_wake_stream

from mnemolog.extensions.mem0.paths import speaks_mem0
from mnemolog.http.authentication import STREAMS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator
    from contextlib import AbstractAsyncContextManager

    import httpx

UNKNOWN_ID: Final = "00000000-0000-0000-0000-000000000000"
POLICY: Final = "/v1/policy"
ERASING: Final = ("DELETE", "/v1/users/{user_id}")
FORGETTING: Final = ("DELETE", "/v1/memories")
"""By a filter: of the walk only its preview, which answers with the same memories and leaves them to later requests."""
SUBJECTS: Final[dict[str, Callable[[Place], str]]] = {
    "{reminder_id}": attrgetter("reminder"),
    "{entity_id}": attrgetter("entity"),
    "{webhook_id}": attrgetter("webhook"),
}
"""What of a place the ids in paths name."""
MCP: Final = "/mcp"
MCP_HEADERS: Final = {"Accept": "application/json, text/event-stream"}
CHANGES: Final = frozenset({"PUT", "PATCH", "DELETE"})
REFUSALS: Final = frozenset({401, 403, 404, 405, 409, 422})


@dataclass(frozen=True)
class Request:
    """A request, and the place that its path names something of."""

    method: str
    template: str
    path: str
    query: dict[str, str] = field(default_factory=dict)
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    place: Place | None = None

    def said(self) -> str:
        """Return everything that it names, which an answer may repeat."""
        return " ".join([self.path, *self.query.values(), *_texts(self.body), *self.headers.values()])


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)


def operations(world: World) -> list[tuple[str, str]]:
    """Return the method and the path of every route, also of those that the document leaves out."""
    found = {
        (method, getattr(route, "path_format", route.path))
        for route in routes_of(world.door.app.routes)
        for method in route.methods
    }
    return sorted(found)


def routes_of(routes: Any) -> Iterator[Any]:
    """Yield the routes of all routers that an application includes, however deep."""
    for route in routes:
        if hasattr(route, "effective_candidates"):
            yield from routes_of(route.effective_candidates())
        else:
            yield route


# -- what is asked


def requests_of(world: World, name: str, method: str, template: str) -> Iterator[Request]:
    """Yield what a caller asks of a route: about each place, user and agent, in every scope, with every header."""
    if speaks_mem0(template) and "{memory_id}" not in template:
        keyed = {"Idempotency-Key": SHARED_KEY}
        for path, query, body in mem0_requests(world, name, method, template):
            yield Request(method, template, path, query, body, keyed)
    else:
        yield from _of_ours(world, name, method, template)


def _of_ours(world: World, name: str, method: str, template: str) -> Iterator[Request]:
    asked = Request(method, template, template)
    named = _named(world, asked)
    if template in STREAMS:
        return  # they are listened to, all at once: `heard`
    if template == MCP:
        yield from _of_mcp(world)
    elif "{memory_id}" in template:
        yield from _of_memories(world, name, asked, named)
    elif (subject_of := next((get for part, get in SUBJECTS.items() if part in template), None)) is not None:
        for place, agent in zip(world.places, cycle(_agents(named)), strict=False):
            yield _filled(world, replace(asked, place=place), About(place.user, agent, subject_of(place)))
    elif "{event_id}" in template:
        for place in world.places:
            yield from (_filled(world, asked, About(place.user, subject=event)) for event in place.events)
    elif (method, template) == ERASING:
        yield from _of_erasing(world, name, asked)
    elif named & {"user_id", "device_id"} or "{user_id}" in template:
        yield from _of_users(world, asked, named)
    else:
        yield from (_filled(world, asked, About("ana", agent)) for agent in _agents(named))


def _agents(named: set[str]) -> list[str | None]:
    return [None, *AGENTS] if "agent_id" in named else [None]


def _of_memories(world: World, name: str, asked: Request, named: set[str]) -> Iterator[Request]:
    for place, agent in zip(world.places, cycle(_agents(named)), strict=False):
        for memory_id in _memories(world, name, place, asked):
            request = _filled(world, replace(asked, place=place), About(place.user, agent, memory_id))
            yield replace(request, body={"expiration_date": None}) if asked.method == "PUT" else request
    yield _filled(world, asked, About("ana", subject=UNKNOWN_ID))


def _of_users(world: World, asked: Request, named: set[str]) -> Iterator[Request]:
    for request in _of_each_user(world, asked, named):
        preview = {"preview": "true"} if (asked.method, asked.template) == FORGETTING else {}
        yield replace(request, query=request.query | preview)


def _of_each_user(world: World, asked: Request, named: set[str]) -> Iterator[Request]:
    agents = _agents(named)
    for user, agent in product(USERS, agents):
        yield _filled(world, asked, About(user, agent))
    for scope in ("global", "personal", "all") if "scope" in named else ():
        yield _filled(world, asked, About("ana", agents[-1], scope=scope))
    if "{user_id}" not in asked.template:
        yield without_user(_filled(world, asked, About("ana")))
        yield _filled(world, asked, About("*"))
    if "Idempotency-Key" in named:
        repeat = _filled(world, asked, About("ana", agents[-1]))
        yield replace(repeat, headers={"Idempotency-Key": SHARED_KEY})


def _of_erasing(world: World, name: str, asked: Request) -> Iterator[Request]:
    """Yield the erasure of each user, and only its preview where the caller may erase whom others are asked about."""
    for user in USERS:
        request = _filled(world, asked, About(user))
        query = {"preview": "true"} if world.may_erase(name, user) else {}
        yield replace(request, query=request.query | query)


def without_user(request: Request) -> Request:
    """Return a request that names no user."""
    names = {"user_id", "device_id"}
    body = request.body
    if isinstance(body, dict):
        body = {name: value for name, value in body.items() if name not in names}
    return replace(request, body=body, query={n: v for n, v in request.query.items() if n not in names})


def _memories(world: World, name: str, place: Place, asked: Request) -> list[str]:
    """Return of which memories of a place a route is asked: what the caller may change keeps its words."""
    is_changed = asked.method in CHANGES or asked.template.endswith(("/share", "/restore"))
    return [place.common] if is_changed and place in world.seen_by(name) else [place.memories[0], place.memories[-1]]


def _of_mcp(world: World) -> Iterator[Request]:
    """Yield the messages of an MCP client: tools that only read or add, with every user and agent in the URL, and none.

    Those that name a memory name one of each place, by one tool or the other in turn.
    """
    calls: list[tuple[str, dict[str, Any]]] = [
        ("memory_search", {"query": "garden"}),
        ("memory_add", {"content": "likes tea"}),
        ("memory_list", {}),
        ("memory_context", {"query": "garden"}),
        ("memory_profile", {}),
        ("reminder_list", {}),
    ]
    reading = cycle(("memory_get", "memory_history"))
    for user in (None, *USERS):
        for agent in (None, *AGENTS):
            query: dict[str, str] = {} if user is None else {"user_id": user}
            query |= {} if agent is None else {"agent_id": agent}
            tools = (next(reading),) if query else ("memory_get", "memory_history")
            of_memories = [(tool, {"memory_id": place.memories[0]}) for place in world.places for tool in tools]
            messages: list[tuple[str, dict[str, Any]]] = [("tools/list", {})]
            messages += [("tools/call", {"name": tool, "arguments": given}) for tool, given in [*calls, *of_memories]]
            for called, params in messages:
                body = {"jsonrpc": "2.0", "id": 1, "method": called, "params": params}
                yield Request("POST", MCP, MCP, query, body, MCP_HEADERS | {"Idempotency-Key": SHARED_KEY})


def _document(world: World, asked: Request) -> dict[str, Any]:
    found: dict[str, Any] = world.document["paths"].get(asked.template, {}).get(asked.method.lower(), {})
    return found


def _named(world: World, asked: Request) -> set[str]:
    """Return the names that a route reads: of its query, its body and its headers."""
    document = _document(world, asked)
    return {each["name"] for each in document.get("parameters", ())} | _fields(world, document)


def _fields(world: World, document: dict[str, Any]) -> set[str]:
    """Return the fields of a body; none for one that is lines."""
    content = document.get("requestBody", {}).get("content", {}).get("application/json", {})
    schema = content.get("schema", {})
    found: set[str] = set()
    for option in schema.get("anyOf", [schema]):
        if "$ref" in option:
            name = option["$ref"].rpartition("/")[2]
            found |= world.document["components"]["schemas"][name]["properties"].keys()
    return found


@dataclass(frozen=True)
class About:
    """What a request names: a user, an agent, and what else the path has the id of."""

    user: str
    agent: str | None = None
    subject: str = ""
    scope: str | None = None


def _filled(world: World, asked: Request, about: About) -> Request:
    """Return a request for a route about a user and an agent, with a body that asks for as much as it gives."""
    document = _document(world, asked)
    path = asked.template
    ids = dict.fromkeys(("memory_id", "reminder_id", "entity_id", "event_id", "webhook_id"), about.subject)
    for name, value in (ids | {"user_id": about.user, "session_id": SHARED_SESSION}).items():
        path = path.replace(f"{{{name}}}", value)
    known = {each["name"] for each in document.get("parameters", ()) if each["in"] == "query"}
    wanted = {"user_id": about.user, "device_id": about.user, "agent_id": about.agent, "scope": about.scope}
    wanted |= {"page_size": "200", "wait": "0", "by": "user"} | ({} if about.scope else {"include_global": "true"})
    query = {name: value for name, value in wanted.items() if name in known and value is not None}
    return replace(asked, path=path, query=query, body=_body(world, asked, document, about))


def _body(world: World, asked: Request, document: dict[str, Any], about: About) -> Any:
    if "requestBody" not in document:
        return None
    fields, user, agent = _fields(world, document), about.user, about.agent
    if not fields:
        if "import" in asked.template:
            return [{"user_id": user, "content": "likes tea"}]
        return [turn(None, "hello", user_id=user, session_id=SHARED_SESSION, agent_id=agent)]
    if asked.template.endswith("/share"):  # with the other agent, or with the other user
        return {"agent_id": agent} if agent else {"user_id": "ben" if user == "ana" else "ana"}
    events = sorted({event for place in world.places for event in place.events})
    memories = [memory_id for place in world.places for memory_id in place.memories]
    body: dict[str, Any] = {"user_id": user, "agent_id": agent, "scope": about.scope, "session_id": SHARED_SESSION}
    body |= {"query": "the garden", "content": "likes tea", "event_ids": events, "importance": 0.5}
    body |= {"include": ["memories", "turns"], "messages": [{"role": "user", "content": "hello"}]}
    body |= {"min_relevance": 0}  # or a context had nothing that could be another's
    body |= {"due_at": "2090-01-01", "every_seconds": 86_400, "end_session": False, "text": "look"}
    body |= {"encoder": world.door.worker.reembedder.active}
    body |= {"questions": [{"user_id": user, "query": "the garden", "expected": memories}]}
    body |= {"limit": 100} if "search" in asked.template else {}
    body |= {"url": "https://receiver.invalid/", "after": "now"} if "webhooks" in asked.template else {}
    body |= {"what": "forecast"} if "reembed" in asked.template else {}
    body |= {"as_of": "2026-01-01T00:00:00Z"} if "ticks" in asked.template else {}
    return {name: value for name, value in body.items() if name in fields and value is not None}


# -- what is wrong with an answer


async def leaks(world: World, name: str, request: Request) -> list[str]:
    """Send a request as a caller, put back what it changed, and return everything that the answer should not have."""
    caller, logged = world.callers[name], len(world.logged.text)
    answer = await caller.ask(request.method, request.path, request.body, request.headers, **request.query)
    world.answered.setdefault((request.method, request.template), set()).add(answer.status_code)
    what = f"{name}: {request.method} {request.path} {request.query} {request.body} -> {answer.status_code}"
    found = [f"{what}: {fault}" for fault in faults(world, name, request, answer)]
    if answer.is_success:
        found += [f"{what}: {fault}" for fault in await _totals(world, name, request, answer)]
        await _put_back(world, request)
    elif request.place is not None and request.place not in world.seen_by(name):
        found += [f"{what}: {fault}" for fault in await _as_unknown(world, name, request, answer)]
    return found + [f"{what}: logged {line}" for line in world.logged.text[logged:] if _has_words(world, line)]


def faults(world: World, name: str, request: Request, answer: httpx.Response) -> Iterator[str]:
    """Yield what an answer has that its caller may not see."""
    said, shown = request.said(), f"{answer.text} {dict(answer.headers)}"
    if answer.status_code >= 500:
        yield f"an error of the worker: {answer.text[:300]}"
    if request.place in world.hidden_from(name) and answer.status_code not in REFUSALS:
        yield "an answer about what is another's"
    shown_ids = (known for known in world.hidden_ids(name) if known in shown and known not in said)
    for what in {*(word for word in world.hidden_words(name) if word in shown), *shown_ids}:
        yield f"it has {what}: {_around(shown, what)}"


def _around(text: str, word: str) -> str:
    at = text.index(word)
    return text[max(0, at - 100) : at + 100]


def _has_words(world: World, line: str) -> bool:
    return any(word in line for word in (*world.words, "in the garden"))


async def _as_unknown(world: World, name: str, request: Request, answer: httpx.Response) -> list[str]:
    """Return how the answer about something of another differs from that about what is not there."""
    place = request.place
    subject = next((i for i in place.ids if f"/{i}" in request.path), None) if place else None
    if subject is None:
        return []
    path = request.path.replace(subject, UNKNOWN_ID)
    asked = f"{name} {request.method} {path} {request.query} {request.body} {request.headers}"
    if asked not in world.unknown:
        caller = world.callers[name]
        other = await caller.ask(request.method, path, request.body, request.headers, **request.query)
        world.unknown[asked] = (other.status_code, other.text)
    told = (answer.status_code, answer.text.replace(subject, UNKNOWN_ID))
    return [] if told == world.unknown[asked] else [f"not as what is not there: {told} and {world.unknown[asked]}"]


async def _totals(world: World, name: str, request: Request, answer: httpx.Response) -> list[str]:
    """Return how the total of an answer differs from what the caller can find one by one."""
    if answer.headers.get("content-type") != "application/json" or request.method == "HEAD":
        return []
    body = answer.json()
    total = body.get("total") if isinstance(body, dict) else None
    if total is None:
        return []
    caller = world.callers[name]
    if "items" in body:
        seen, page = len(body["items"]), 1
        while "page" in body and len(body["items"]) == body["page_size"]:
            page += 1
            again = await caller.ask(request.method, request.path, None, None, **(request.query | {"page": str(page)}))
            body = again.json()
            seen += len(body["items"])
        return [] if seen == total else [f"a total of {total}, of which it can see {seen}"]
    if not request.path.endswith("/stats"):
        return []
    by_kind = [sum(body[by].values()) for by in ("by_type", "by_category")]
    listed = await _listed(world, name, request)
    expected = [total, total] if listed is None else [listed, listed]
    return [] if by_kind == expected and total == expected[0] else [f"counts {body}, but can list {listed}"]


async def _listed(world: World, name: str, request: Request) -> int | None:
    """Return how many memories the list has that belongs to counts, None where the caller may not list them."""
    evatars = request.path.startswith("/api")
    query = request.query if evatars else request.query | {"user_id": request.path.split("/")[3]}
    path = "/api/memories" if evatars else "/v1/memories"
    answer = await world.callers[name].ask("GET", path, None, None, **(query | {"page_size": "1"}))
    total: int | None = answer.json().get("total")
    return total


async def _put_back(world: World, request: Request) -> None:
    """Undo what a caller changed: others go on from the same state."""
    place = request.place
    if request.template == POLICY and request.method in CHANGES:
        await steer(world.full)
    elif request.template.endswith("/wake") and request.method in CHANGES:
        for each in world.places:
            if each.agent == "mia" and f"/{each.user}/" in request.path:
                await wake(world.full[each.tenant], each)
    elif request.method == "DELETE" and place is not None and place.common in request.path:
        restored = await world.full[place.tenant].ask("POST", f"/v1/memories/{place.common}/restore")
        assert restored.status_code == 200, restored.text
    elif request.method == "DELETE" and place is not None and place.reminder in request.path:
        await remind(world.full[place.tenant], place)
    elif request.method == "DELETE" and place is not None and place.webhook in request.path:
        await hook(world.full[place.tenant], place)


# -- the whole


async def walk(world: World, templates: Iterable[str] | None = None) -> AsyncIterator[str]:
    """Ask every route (or those of some paths) as every caller, and yield what leaks."""
    wanted = None if templates is None else set(templates)
    world.unknown.clear()
    for method, template in operations(world):
        if wanted is not None and template not in wanted:
            continue
        for name in world.callers:
            for request in requests_of(world, name, method, template):
                for leak in await leaks(world, name, request):
                    yield leak


async def heard(world: World) -> AsyncIterator[str]:
    """Open every stream as every caller, have every agent be told and reminded, and yield who heard of others.

    Also from the place at which another tenant's stream began: its id says nothing about whose it is.
    """
    logged = len(world.logged.text)
    for path in sorted(STREAMS):
        now = time.time_ns()
        async with AsyncExitStack() as stack:
            opened = [
                Heard(name, asked, await stack.enter_async_context(_listen(world, path, name, asked, last)))
                for name, asked, last in product(world.callers, LISTENED, (None, "0:0,1:0"))
            ]
            for place, kind in product(world.places, ("call", "marker")):
                whose = {"user_id": place.user, "agent_id": place.agent}
                told = whose | {"content": f"{kind} the {place.word} in the garden at {now}"}
                due = {"due_at": "2020-01-01", "content": f"{kind} the {place.word}", "agent_id": place.agent}
                for to, body in (("/v1/memories", told), (f"/v1/users/{place.user}/reminders", due)):
                    assert (await world.full[place.tenant].ask("POST", to, body)).status_code in MADE
            heard_of = [await each.tells(world) for each in opened if each.stream.status == HTTPStatus.OK]
            assert sum(heard_of), f"nobody heard anything of {path}"
            for each in opened:
                for word in sorted(world.hidden_words(each.name)):
                    if word in each.stream.text:
                        yield f"{each.name} heard of the {word} in a stream of {path} for {each.asked}"
    for line in world.logged.text[logged:]:
        if _has_words(world, line):
            yield f"logged {line}"


LISTENED: Final[list[dict[str, str]]] = [
    {},
    {"user_id": "ana"},
    {"agent_id": "mia"},
    *({"user_id": user, "agent_id": agent} for user, agent in product(USERS, AGENTS)),
]
"""Whose wakes and changes streams are opened for."""
MADE: Final = (HTTPStatus.CREATED, HTTPStatus.OK)
"""The statuses of what is remembered; it may be known already from another stream's turn."""


@dataclass(frozen=True)
class Heard:
    """A stream that was opened as a caller."""

    name: str
    asked: dict[str, str]
    stream: WakeStream

    async def tells(self, world: World) -> int:
        """Wait until it has told of everything that it was asked for; return how much that is."""
        count = 0
        for place in world.seen_by(self.name):
            names = {"user_id": place.user, "agent_id": place.agent}
            if self.asked.items() <= names.items():
                await self.stream.wait_for(f"marker the {place.word}")
                count += 1
        return count


def _listen(
    world: World, path: str, name: str, asked: dict[str, str], last: str | None
) -> AbstractAsyncContextManager[WakeStream]:
    query = "&".join(f"{name}={value}" for name, value in asked.items())
    return open_wake_stream(world.door.app, query, last, world.callers[name].text, path)
