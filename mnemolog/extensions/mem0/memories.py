"""The requests of mem0's clients about memories, carried out by requests to our own routes."""

from __future__ import annotations

import ast
import asyncio
from functools import partial
from http import HTTPStatus
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import quote

import orjson

from mnemolog.access.principal import Role
from mnemolog.extensions.mem0.conditions import check_size, named, names_somebody, translated
from mnemolog.extensions.mem0.requests import (
    OwnRoutes,
    checked,
    end_of,
    is_number,
    number_in,
    object_in,
    path_of,
    several,
    texts_in,
)
from mnemolog.extensions.mem0.shapes import history_shown, memory_shown
from mnemolog.extensions.mem0.whose import (
    AGENT,
    APP,
    ENTITIES,
    KINDS,
    NOBODY,
    RUN,
    USER,
    made_user,
    shown_run,
    shown_user,
)
from mnemolog.http.problems import Problem
from schemas.identity import derived_id

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from fastapi import Request

    Body = dict[str, Any]

MOST_USERS: Final = 1_000
"""The most users that one request may cover if it names none."""
MOST_NAMED: Final = 100
"""The most users that one request may name: each takes its own search or list."""
MOST_FOUND: Final = 100
MOST_A_PAGE: Final = 200
MOST_LISTED: Final = 1_000
"""The most memories of each user that are collected for a list of several users."""
MOST_IN_BATCH: Final = 1_000
FORGOTTEN_AT_ONCE: Final = 1_000
DEFAULT_FOUND: Final = 10
DEFAULT_PAGE: Final = 100
MOST_FILTER_CHARACTERS: Final = 2 * 1024
"""The most characters of a filter in a query string that is a Python literal."""
NARROWS_DELETING: Final = frozenset(
    {
        *ENTITIES,
        "filters",
        "metadata",
        "categories",
        "keywords",
        "start_date",
        "end_date",
        *("org_id", "project_id", "org_name", "project_name"),  # an organisation and a project are the key's
        *("version", "output_format"),  # how it is asked and answered
    }
)
"""The fields by which a deletion of mem0's protocol may be narrowed."""
NO_LIST_OF_USERS: Final = "the key may not ask who has memories: name a user_id, or take a key with tenant-admin"
T = TypeVar("T")


class Memories:
    """The memories that one request of mem0's protocol is about."""

    def __init__(self, request: Request) -> None:
        self._routes = OwnRoutes(request)

    # -- finding

    async def search(self, body: Body) -> list[Body]:
        """Return the search results, best first."""
        query = body.get("query")
        if not isinstance(query, str) or not query.strip():
            raise Problem(HTTPStatus.BAD_REQUEST, "query is missing or blank: say what to look for")
        filters, limit = self._filters(body), number_in(body, "top_k", body.get("limit"), DEFAULT_FOUND, MOST_FOUND)
        threshold = body.get("threshold")
        if threshold is not None and not (is_number(threshold) and 0 <= threshold <= 1):
            raise Problem(HTTPStatus.BAD_REQUEST, "threshold must be a number from 0 to 1")
        asked = {
            "query": query,
            "limit": limit,
            "include_global": False,
            "include": ["memories"],
            **({} if threshold is None else {"min_score": threshold}),
            **({"as_of": end_of(body["reference_date"])} if body.get("reference_date") is not None else {}),
        }
        found = Foremost(_nearness, limit)

        async def search_one(whose: Body, one: Body) -> None:
            body = await self._routes.body("POST", "/v1/search", body={**asked, **whose, "filters": one})
            found.add(body["results"])

        users = len(await self._for_users(filters, search_one))
        fields = texts_in(body, "fields")
        return [memory_shown(memory, fields) for memory in (found.items if users == 1 else found.in_order())]

    async def page(self, body: Body, page: int, size: int) -> tuple[list[Body], int]:
        """Return one page of memories, and the total number."""
        filters = self._filters(body)
        statuses = ["active", "expired"] if body.get("show_expired") is True else ["active"]
        users = await self._users(filters)
        fields = texts_in(body, "fields")
        one_list = len(users) == 1 and len(statuses) == 1
        if not one_list and page * size > MOST_LISTED:
            detail = f"beyond the newest {MOST_LISTED} only the active memories of one user are listed: name a user_id"
            raise Problem(HTTPStatus.BAD_REQUEST, detail)
        first, most = (page, size) if one_list else (1, page * size)
        found = Foremost(itemgetter("formed_at"), most)

        async def list_one(status: str, whose: Body, one: Body) -> int:
            items, number = await self._list_one(status, first, most, whose, one)
            found.add(items)
            return number

        total = 0
        for status in statuses:
            total += sum(await self._for_users(filters, partial(list_one, status), users))
        items = found.items if one_list else found.in_order()[(page - 1) * size :]
        return [memory_shown(memory, fields) for memory in items], total

    async def _list_one(self, status: str, page: int, most: int, whose: Body, filters: Body) -> tuple[list[Body], int]:
        """Return memories of a user, starting at a page, until there are `most`; and their total."""
        items: list[Body] = []
        size = min(most, MOST_A_PAGE)
        while True:
            asked = {**whose, "filters": filters, "status": status, "page": page, "page_size": size}
            found = await self._routes.body("POST", "/v1/memories/query", body=asked)
            items += found["items"]
            if len(items) >= most or len(found["items"]) < size:
                return items, found["total"]
            page += 1

    async def get(self, memory_id: str) -> Body:
        """Return one memory; a forgotten one counts as unknown. Raises Problem."""
        return memory_shown(await self._known(memory_id))

    async def _known(self, memory_id: str) -> Body:
        memory = await self._routes.memory(memory_id)
        if memory is None or memory["status"] == "forgotten":
            raise Problem(HTTPStatus.NOT_FOUND, f"Memory not found! There is none with the id {memory_id!r}")
        return memory

    async def history(self, memory_id: str) -> list[Body]:
        """Return the history of a memory, oldest first."""
        memory, history = await asyncio.gather(
            self._routes.body("GET", path_of(memory_id)), self._routes.body("GET", f"{path_of(memory_id)}/history")
        )
        return history_shown(history, memory)

    # -- changing

    async def update(self, memory_id: str, body: Body) -> Body:
        """Change the content, metadata or expiry of a memory."""
        changes: Body = {}
        text = body.get("text", body.get("data", body.get("memory")))
        if text is not None:
            changes["content"] = text
        if body.get("metadata") is not None:
            changes["metadata"] = object_in(body, "metadata")
        if "expiration_date" in body:
            given = body["expiration_date"]
            changes["expires_at"] = None if given is None else end_of(given)
        if not changes:
            await self.get(memory_id)  # another user's memory counts as missing, whatever the body
            raise Problem(HTTPStatus.BAD_REQUEST, "nothing is to be changed: give text, metadata or expiration_date")
        key = derived_id("mem0 update", self._routes.key, memory_id)
        answered = await self._routes.ask("PATCH", path_of(memory_id), key=key, body=changes)
        if not answered.is_success:
            await self.get(memory_id)  # mem0 reports a deleted memory as missing
            checked(answered)
        if answered.status == HTTPStatus.ACCEPTED:
            return {"id": memory_id, "message": "Accepted; it will be changed in a moment."}
        return memory_shown(answered.body) | {"message": "Memory updated successfully!"}

    async def delete(self, memory_id: str, *, with_superseded: bool = False) -> int:
        """Forget a memory, and on request those that it superseded; return how many these are. Raises Problem."""
        memory = await self._known(memory_id)
        linked = await self._superseded_by(memory) if with_superseded else []
        for one in (memory_id, *linked):
            await self._routes.answer("DELETE", path_of(one), key=derived_id("mem0 delete", self._routes.key, one))
        return len(linked)

    async def _superseded_by(self, memory: Body) -> list[str]:
        """Return the memories that a memory superseded, directly or indirectly."""
        found: list[str] = []
        left = [memory["memory_id"]]
        while left and len(found) < MOST_IN_BATCH:
            wanted = {"superseded_by": left.pop()}
            whose = {"user_id": memory["user_id"]} | ({} if memory["agent_id"] is None else {AGENT: memory["agent_id"]})
            older, _ = await self._list_one("superseded", 1, MOST_A_PAGE, whose, wanted)
            ids = [one["memory_id"] for one in older if one["memory_id"] not in found]
            found += ids
            left += ids
        return found

    async def delete_all(self, body: Body) -> int:
        """Forget every memory that meets a filter; return their number.

        Unknown restrictions are refused, because ignoring one would forget more than was requested.
        """
        if unknown := body.keys() - NARROWS_DELETING:
            known = ", ".join(sorted(NARROWS_DELETING))
            raise Problem(HTTPStatus.BAD_REQUEST, f"{min(unknown)[:64]!r} does not narrow a deletion: {known} do")
        filters = self._filters(body)
        users = await self._users(filters, is_deleting=True)
        return sum(await self._for_users(filters, self._forget_all, users))

    async def _forget_all(self, whose: Body, filters: Body) -> int:
        gone = 0
        query = {**whose, "filters": orjson.dumps(filters).decode(), "limit": str(FORGOTTEN_AT_ONCE)}
        while True:
            key = derived_id("mem0 delete all", self._routes.key, whose["user_id"], gone)
            forgotten = (await self._routes.answer("DELETE", "/v1/memories", query=query, key=key)).body
            gone += len(forgotten["items"])
            if not forgotten["left"] or not forgotten["items"]:
                return gone

    async def delete_entity(self, kind: str, name: str) -> None:
        """Erase a user for good; for an agent, an application or a run, forget the memories. Raises Problem."""
        entity = KINDS.get(kind)
        if entity is None:
            raise Problem(HTTPStatus.BAD_REQUEST, f"Invalid entity type: it is one of {', '.join(KINDS)}")
        if entity == USER:
            await self._erase(name)
            return
        await self.delete_all({"filters": {entity: name}})

    async def _erase(self, user_id: str) -> None:
        path = f"/v1/users/{quote(user_id, safe='')}"
        answered = await self._routes.ask("DELETE", path, key=derived_id(self._routes.key, user_id))
        if answered.status in {HTTPStatus.CONFLICT, HTTPStatus.FORBIDDEN}:  # a log in clear, or not an admin's key
            await self.delete_all({"user_id": user_id})
            return
        checked(answered)

    async def feedback(self, memory_id: str, feedback: str | None, reason: str | None) -> None:
        """Store feedback in a memory's metadata; None withdraws it."""
        noted = {"feedback": feedback, "feedback_reason": reason}
        await self._routes.answer("PATCH", path_of(memory_id), body={"metadata": noted}, key=self._routes.key)

    # -- entities

    async def entities(self) -> list[Body]:
        """Return the users, agents, applications and runs that memories name."""
        found: list[Body] = []
        for kind, by in (("user", "user"), ("agent", "agent"), ("app", "app"), ("run", "session")):
            for one in await self._names(by):
                if shown_user(one["name"]) is None or shown_run(one["name"]) is None:
                    continue  # one of our derived names, for which mem0 has none
                found.append(
                    {
                        "id": derived_id("mem0 entity", kind, one["name"]),
                        "name": one["name"],
                        "type": kind,
                        "created_at": one["first_at"],
                        "updated_at": one["last_at"],
                        "total_memories": one["memories"],
                        "owner": "",
                        "organization": "",
                        "metadata": None,
                    }
                )
        return found

    async def _names(self, by: str, **narrowed: str) -> list[Body]:
        """Return the names that memories are grouped by, at most MOST_USERS."""
        stats = await self._routes.body("GET", "/v1/stats", query={"by": by, "limit": str(MOST_USERS), **narrowed})
        items: list[Body] = stats["items"]
        return items

    def _filters(self, body: Body) -> Body:
        """Return the filters of a request, combined with the conditions given next to them. Raises Problem."""
        filters = _filters_given(body.get("filters"))
        beside: list[Body] = [{name: body[name]} for name in ENTITIES if body.get(name) not in (None, "")]
        if isinstance(metadata := _as_object(body.get("metadata")), dict):
            beside.append({"metadata": metadata})
        elif metadata:
            raise Problem(HTTPStatus.BAD_REQUEST, 'metadata must be an object, such as {"topic": "food"}')
        if categories := texts_in(body, "categories"):
            beside.append({"categories": {"in": categories}})
        if isinstance(body.get("keywords"), str):
            beside.append({"keywords": {"icontains": body["keywords"]}})
        for name, operator in (("start_date", "gte"), ("end_date", "lte")):
            if body.get(name) is not None:
                beside.append({"created_at": {operator: body[name]}})
        joined: Body = filters if not beside else {"AND": [*([filters] if filters else []), *beside]}
        check_size(joined)
        if not names_somebody(joined):
            raise Problem(HTTPStatus.BAD_REQUEST, NOBODY)
        translated(joined, "")  # invalid filters are refused even if they match no user
        return joined

    async def _users(self, filters: Body, *, is_deleting: bool = False) -> list[str]:
        """Return the users whose memories may match a filter. Raises Problem if they cannot be determined.

        A key that may not list users can read memories without a user (those of an agent, an application or a run
        alone) if the filter names such an entity. It can delete nothing, because the answer would claim that the
        memories of other users were deleted too.
        """
        users = named(filters, USER)
        if users is not None:
            if len(users) > MOST_NAMED:
                raise Problem(HTTPStatus.BAD_REQUEST, f"{len(users)} users are named: ask about at most {MOST_NAMED}")
            return sorted(users)
        names = {entity: named(filters, entity) for entity in (AGENT, APP, RUN)}
        made = [made_user(entity, name) for entity, some in names.items() for name in sorted(some or ())]
        one = {entity: next(iter(some)) for entity, some in names.items() if some is not None and len(some) == 1}
        if (listed := self._routes.principal.listed_users) is not None:
            return [*listed, *filter(self._routes.principal.has_user, made)]
        if Role.TENANT_ADMIN not in self._routes.principal.roles or self._routes.principal.users is not None:
            if is_deleting or not made:
                raise Problem(HTTPStatus.FORBIDDEN, NO_LIST_OF_USERS)
            return list(filter(self._routes.principal.has_user, made))
        ours = {AGENT: "agent_id", APP: "app_id", RUN: "session_id"}
        counted = await self._names("user", **{ours[entity]: name for entity, name in one.items()})
        if len(counted) >= MOST_USERS:
            detail = f"more than {MOST_USERS} users have such memories: name one with user_id"
            raise Problem(HTTPStatus.BAD_REQUEST, detail)
        return list(dict.fromkeys([*made, *(each["name"] for each in counted)]))

    async def _for_users(
        self, filters: Body, work: Callable[[Body, Body], Coroutine[Any, Any, T]], users: list[str] | None = None
    ) -> list[T]:
        """Run `work` for each user whose memories may match a filter, with the filter translated for that user."""
        agents = named(filters, AGENT)
        agent = next(iter(agents)) if agents is not None and len(agents) == 1 else None
        asked = []
        for user_id in await self._users(filters) if users is None else users:
            await asyncio.sleep(0)  # with many users, the worker does other things in between
            one = translated(filters, user_id)
            if one is False:
                continue
            whose = {"user_id": user_id}
            if agent is not None and self._routes.principal.agents is not None:
                whose[AGENT] = agent  # a key for some agents has to name one
            asked.append(work(whose, {} if one is True else one))
        return await several(asked)


class Foremost:
    """The foremost memories of many users; no more are held than needed."""

    def __init__(self, key: Callable[[Body], Any], most: int) -> None:
        self._key, self._most = key, most
        self.items: list[Body] = []

    def add(self, memories: list[Body]) -> None:
        """Add memories; only if there are too many, drop those that rank last."""
        self.items += memories
        if len(self.items) > self._most:
            self.items = self.in_order()[: self._most]

    def in_order(self) -> list[Body]:
        """Return the memories held, the foremost first."""
        return sorted(self.items, key=lambda one: (self._key(one), one["memory_id"]), reverse=True)


def _nearness(found: Body) -> tuple[float, float]:
    """Return the sort key for results of several users, since scores are comparable only within one user."""
    cosine = found["cosine"]
    return (-1.0 if cosine is None else cosine, found["score"])


def _filters_given(given: object) -> Body:
    """Return filters from a body or a query string, where mem0's client sends a Python dict literal. Raises Problem."""
    given = _as_object(given)
    if isinstance(given, list):  # from an older client: all of them must hold
        given = {"AND": given}
    if given is not None and not isinstance(given, dict):
        raise Problem(HTTPStatus.BAD_REQUEST, 'filters must be an object, such as {"user_id": "alice"}')
    return given or {}


def _as_object(given: object) -> object:
    """Return the object in a query: JSON, or a Python dict literal; anything else unchanged."""
    if not isinstance(given, str) or not given:
        return given
    return _read_query(given)


def _read_query(text: str) -> object:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        if len(text) > MOST_FILTER_CHARACTERS:
            return text
        try:
            return orjson.loads(orjson.dumps(ast.literal_eval(text)))  # Python has values that JSON lacks
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            return text
