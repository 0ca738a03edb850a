"""What mem0's clients ask of memories, carried out by requests to our own routes."""

from __future__ import annotations

import ast
import asyncio
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, TypeGuard, TypeVar
from urllib.parse import quote

import orjson

from mnemolog.access.principal import PRINCIPAL, Principal, Role
from mnemolog.http.bounds.bodies import MAX_BODY_BYTES
from mnemolog.http.bounds.json_body import read_json
from mnemolog.http.mem0.conditions import check_size, named, names_somebody, translated
from mnemolog.http.mem0.projects import instructions_of
from mnemolog.http.mem0.shapes import (
    FAILED,
    MOST_MESSAGES,
    PENDING,
    STATUSES,
    SUCCEEDED,
    Adding,
    adding_of,
    history_shown,
    memory_shown,
    result_shown,
)
from mnemolog.http.mem0.whose import (
    AGENT,
    APP,
    ENTITIES,
    KINDS,
    NOBODY,
    RUN,
    USER,
    made_user,
    session_of,
    shown_run,
    shown_user,
    whose_of,
)
from mnemolog.http.own_routes import Answered, Requested, ask
from mnemolog.http.problems import Problem
from schemas.identity import derived_id
from schemas.inputs.foreign_messages import message_of
from schemas.inputs.nesting import check_depth
from schemas.inputs.zone import UNKNOWN
from schemas.instant import END_OF_DAY, instant, read_instant
from schemas.messages.observations import EXPIRES_AT

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Mapping

    from fastapi import Request

    Body = dict[str, Any]

MOST_USERS: Final = 1_000
"""Users that one request may cover if it names none."""
MOST_NAMED: Final = 100
"""Users that one request may name: each takes a search or a list of its own."""
MOST_FOUND: Final = 100
MOST_A_PAGE: Final = 200
MOST_LISTED: Final = 1_000
"""Memories of each user that are collected for a list of several users."""
AT_ONCE: Final = 16
MOST_IN_BATCH: Final = 1_000
FORGOTTEN_AT_ONCE: Final = 1_000
DEFAULT_FOUND: Final = 10
DEFAULT_PAGE: Final = 100
MOST_FILTER_CHARACTERS: Final = 2 * 1024
"""Of a filter in a query string that is a Python literal."""
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
        self._request = request
        self._key = request.headers.get("idempotency-key", "")
        self._principal: Principal = request.scope[PRINCIPAL]

    # -- adding

    async def add(self, body: Body) -> tuple[Adding, list[Body] | None]:
        """Accept messages; return the handle of their event, and their results if these are already known.

        With `infer` false, each message is stored verbatim at once.
        """
        whose, messages = whose_of(body), _messages(body)
        metadata = dict(_object(body, "metadata"))
        if APP in whose.named:
            metadata[APP] = whose.named[APP]
        owner = {"user_id": whose.user_id, "agent_id": whose.named.get(AGENT), "session_id": whose.named.get(RUN)}
        adding = Adding(whose.user_id, self._key, len(messages))
        expires_at = _end_of(body["expiration_date"]) if body.get("expiration_date") is not None else None
        said_at = _said_at(body)
        instructions = instructions_of(body, is_of_agent=USER not in whose.named)
        if body.get("infer") is False:
            times = _without_none({"expires_at": expires_at, "occurred_at": said_at})
            return adding, await self._keep(adding, messages, owner, metadata, times)
        if expires_at is not None:
            metadata[EXPIRES_AT] = expires_at
        if len(orjson.dumps(metadata)) * len(messages) > MAX_BODY_BYTES:  # each message has them, before any is counted
            detail = "the metadata are too large for so many messages: send fewer at once"
            raise Problem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, detail)
        turns = [
            {
                "role": message["role"],
                "content": message["content"],
                "event_id": event_id,
                "name": message.get("name"),
                "occurred_at": said_at,
                "metadata": metadata or None,
            }
            for message, event_id in zip(messages, adding.event_ids, strict=True)
        ]
        said = {
            **_without_none(owner),
            "session_id": session_of(whose),
            "messages": turns,
            "instructions": instructions,
        }
        await self._told("POST", "/v1/conversations", body=said)
        return adding, None

    async def _keep(self, adding: Adding, messages: list[Body], owner: Body, metadata: Body, times: Body) -> list[Body]:
        """Store each message verbatim."""
        fact = {**_without_none(owner), **({"metadata": metadata} if metadata else {}), **times, "read": False}
        kept = []
        for message, event_id in zip(messages, adding.event_ids, strict=True):  # in their order, one after another
            answered = await self._answered(
                "POST", "/v1/memories", body=fact | {"content": message["content"]}, key=event_id
            )
            if answered.status == HTTPStatus.ACCEPTED:
                kept.append({"id": answered.body["command_id"], "event": PENDING})
                continue
            kept.append(result_shown(answered.body, is_new=answered.status == HTTPStatus.CREATED))
        return kept

    async def wait(self, adding: Adding, seconds: float) -> list[Body]:
        """Return the results of messages, waiting for them for at most so many seconds."""
        deadline = asyncio.get_running_loop().time() + seconds
        while asyncio.get_running_loop().time() < deadline:
            if _status_of(await self._states(adding, is_free=True)) != PENDING:
                break
            await asyncio.sleep(0.05)
        results: list[Body] = (await self.event(adding.name))["results"]
        return results

    async def event(self, name: str) -> Body:
        """Return the state of accepted messages, and the memories that resulted from them."""
        adding = adding_of(name)
        states = await self._states(adding)
        ids = dict.fromkeys(i for state in states for i in (*state["memory_ids"], *state["known_ids"]))
        new = {i for state in states for i in state["memory_ids"] if i not in state["known_ids"]}
        found = await _several(self._one(memory_id) for memory_id in ids)
        failed = next((state["reason"] for state in states if STATUSES.get(state["state"]) == FAILED), None)
        return {
            "id": name,
            "event_type": "ADD",
            "status": _status_of(states),
            "results": [
                result_shown(one, is_new=one["memory_id"] in new)
                for one in found
                if one is not None and (one["memory_id"] in new or one["status"] == "active")
            ],
            "metadata": None,
            **({"error": failed} if failed else {}),
        }

    async def _states(self, adding: Adding, *, is_free: bool = False) -> list[Body]:
        """Return the states of accepted messages. Raises Problem if there are none."""
        asked = {"user_id": adding.user_id, "event_ids": adding.event_ids}
        states: list[Body] = (await self._told("POST", "/v1/events/status", body=asked, is_free=is_free))["items"]
        if not states:
            raise Problem(HTTPStatus.NOT_FOUND, "there is no such event, or it is older than RETENTION_DAYS")
        return states

    # -- finding

    async def search(self, body: Body) -> list[Body]:
        """Return the search results, best first."""
        query = body.get("query")
        if not isinstance(query, str) or not query.strip():
            raise Problem(HTTPStatus.BAD_REQUEST, "query is missing or blank: say what to look for")
        filters, limit = self._filters(body), _number(body, "top_k", body.get("limit"), DEFAULT_FOUND, MOST_FOUND)
        threshold = body.get("threshold")
        if threshold is not None and not (is_number(threshold) and 0 <= threshold <= 1):
            raise Problem(HTTPStatus.BAD_REQUEST, "threshold must be a number from 0 to 1")
        asked = {
            "query": query,
            "limit": limit,
            "include_global": False,
            "include": ["memories"],
            **({} if threshold is None else {"min_score": threshold}),
            **({"as_of": _end_of(body["reference_date"])} if body.get("reference_date") is not None else {}),
        }
        found = Foremost(_nearness, limit)

        async def search_one(whose: Body, one: Body) -> None:
            found.add(await self._search_one(asked, whose, one))

        users = len(await self._for_users(filters, search_one))
        fields = _texts(body, "fields")
        return [memory_shown(memory, fields) for memory in (found.items if users == 1 else found.in_order())]

    async def _search_one(self, asked: Body, whose: Body, filters: Body) -> list[Body]:
        results: list[Body] = (await self._told("POST", "/v1/search", body={**asked, **whose, "filters": filters}))[
            "results"
        ]
        return results

    async def page(self, body: Body, page: int, size: int) -> tuple[list[Body], int]:
        """Return one page of memories, and how many there are."""
        filters = self._filters(body)
        statuses = ["active", "expired"] if body.get("show_expired") is True else ["active"]
        users = await self._users(filters)
        fields = _texts(body, "fields")
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
            told = await self._told("POST", "/v1/memories/query", body=asked)
            items += told["items"]
            if len(items) >= most or len(told["items"]) < size:
                return items, told["total"]
            page += 1

    async def get(self, memory_id: str) -> Body:
        """Return one memory; a forgotten one counts as unknown. Raises Problem."""
        memory = await self._one(memory_id)
        if memory is None or memory["status"] == "forgotten":
            raise Problem(HTTPStatus.NOT_FOUND, f"Memory not found! There is none with the id {memory_id!r}")
        return memory_shown(memory)

    async def history(self, memory_id: str) -> list[Body]:
        """Return what happened to a memory, the oldest first."""
        memory, history = await asyncio.gather(
            self._told("GET", _path(memory_id)), self._told("GET", f"{_path(memory_id)}/history")
        )
        return history_shown(history, memory)

    async def _one(self, memory_id: str) -> Body | None:
        answered = await ask(self._request, Requested(method="GET", path=_path(memory_id)), self._key)
        if answered.status == HTTPStatus.NOT_FOUND:
            return None
        memory: Body = _checked(answered).body
        return memory

    # -- changing

    async def update(self, memory_id: str, body: Body) -> Body:
        """Change the content, metadata or expiry of a memory."""
        changes: Body = {}
        text = body.get("text", body.get("data", body.get("memory")))
        if text is not None:
            changes["content"] = text
        if body.get("metadata") is not None:
            changes["metadata"] = _object(body, "metadata")
        if "expiration_date" in body:
            given = body["expiration_date"]
            changes["expires_at"] = None if given is None else _end_of(given)
        if not changes:
            await self.get(memory_id)  # another's is as one that is not there, whatever the body says
            raise Problem(HTTPStatus.BAD_REQUEST, "nothing is to be changed: give text, metadata or expiration_date")
        key = derived_id("mem0 update", self._key, memory_id)
        requested = Requested(method="PATCH", path=_path(memory_id), body=changes)
        answered = await ask(self._request, requested, key)
        if not answered.is_success:
            await self.get(memory_id)  # of one that is gone mem0 says that it is not there
            _checked(answered)
        if answered.status == HTTPStatus.ACCEPTED:
            return {"id": memory_id, "message": "Accepted; it will be changed in a moment."}
        return memory_shown(answered.body) | {"message": "Memory updated successfully!"}

    async def delete(self, memory_id: str, *, with_superseded: bool = False) -> int:
        """Forget a memory, and on request those that it superseded; return how many these are. Raises Problem."""
        memory = await self._one(memory_id)
        if memory is None or memory["status"] == "forgotten":
            raise Problem(HTTPStatus.NOT_FOUND, f"Memory not found! There is none with the id {memory_id!r}")
        linked = await self._superseded_by(memory) if with_superseded else []
        for one in (memory_id, *linked):
            await self._answered("DELETE", _path(one), key=derived_id("mem0 delete", self._key, one))
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
        """Forget every memory that meets a filter; return how many.

        What narrows in a way that is not understood is refused: passed over, it would forget more than was asked for.
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
            key = derived_id("mem0 delete all", self._key, whose["user_id"], gone)
            told = (await self._answered("DELETE", "/v1/memories", query=query, key=key)).body
            gone += len(told["items"])
            if not told["left"] or not told["items"]:
                return gone

    async def delete_entity(self, kind: str, name: str) -> None:
        """Erase a user for good; of an agent, an application or a run forget the memories. Raises Problem."""
        entity = KINDS.get(kind)
        if entity is None:
            raise Problem(HTTPStatus.BAD_REQUEST, f"Invalid entity type: it is one of {', '.join(KINDS)}")
        if entity == USER:
            await self._erase(name)
            return
        await self.delete_all({"filters": {entity: name}})

    async def _erase(self, user_id: str) -> None:
        path = f"/v1/users/{quote(user_id, safe='')}"
        answered = await ask(self._request, Requested(method="DELETE", path=path), derived_id(self._key, user_id))
        if answered.status in (
            HTTPStatus.CONFLICT,
            HTTPStatus.FORBIDDEN,
        ):  # the log is in clear, or the key is no admin's
            await self.delete_all({"user_id": user_id})
            return
        _checked(answered)

    async def feedback(self, memory_id: str, feedback: str | None, reason: str | None) -> None:
        """Store feedback in a memory's metadata; None withdraws it."""
        noted = {"feedback": feedback, "feedback_reason": reason}
        await self._answered("PATCH", _path(memory_id), body={"metadata": noted}, key=self._key)

    # -- whom

    async def entities(self) -> list[Body]:
        """Return the users, agents, applications and runs that memories name."""
        found: list[Body] = []
        for kind, by in (("user", "user"), ("agent", "agent"), ("app", "app"), ("run", "session")):
            for one in await self._names(by):
                if shown_user(one["name"]) is None or shown_run(one["name"]) is None:
                    continue  # a name of ours, where mem0 has none
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
        told = await self._told("GET", "/v1/stats", query={"by": by, "limit": str(MOST_USERS), **narrowed})
        items: list[Body] = told["items"]
        return items

    def _filters(self, body: Body) -> Body:
        """Return the filters of a request, combined with the conditions given beside them. Raises Problem."""
        filters = _filters_given(body.get("filters"))
        beside: list[Body] = [{name: body[name]} for name in ENTITIES if body.get(name) not in (None, "")]
        if isinstance(metadata := _as_object(body.get("metadata")), dict):
            beside.append({"metadata": metadata})
        elif metadata:
            raise Problem(HTTPStatus.BAD_REQUEST, 'metadata must be an object, such as {"topic": "food"}')
        if categories := _texts(body, "categories"):
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
        translated(joined, "")  # what is wrong is refused also where it is about nobody
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
        if (listed := self._principal.listed_users) is not None:
            return [*listed, *filter(self._principal.has_user, made)]
        if Role.TENANT_ADMIN not in self._principal.roles or self._principal.users is not None:
            if is_deleting or not made:
                raise Problem(HTTPStatus.FORBIDDEN, NO_LIST_OF_USERS)
            return list(filter(self._principal.has_user, made))
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
            await asyncio.sleep(0)  # with many users the worker does other things in between
            one = translated(filters, user_id)
            if one is False:
                continue
            whose = {"user_id": user_id}
            if agent is not None and self._principal.agents is not None:
                whose[AGENT] = agent  # a key for some agents has to name one
            asked.append(work(whose, {} if one is True else one))
        return await _several(asked)

    # -- our own routes

    async def _told(self, method: str, path: str, **more: Any) -> Body:  # noqa: ANN401 - a query or a body
        told: Body = (await self._answered(method, path, key=self._key, **more)).body
        return told

    async def _answered(self, method: str, path: str, *, key: str, **more: Any) -> Answered:  # noqa: ANN401
        return _checked(await ask(self._request, Requested(method=method, path=path, **more), key))


class Foremost:
    """The foremost memories of those of many users: no more are held than are wanted."""

    def __init__(self, key: Callable[[Body], Any], most: int) -> None:
        self._key, self._most = key, most
        self.items: list[Body] = []

    def add(self, memories: list[Body]) -> None:
        """Take more of them; as they came, where all are wanted."""
        self.items += memories
        if len(self.items) > self._most:
            self.items = self.in_order()[: self._most]

    def in_order(self) -> list[Body]:
        """Return those that are held, the foremost first."""
        return sorted(self.items, key=lambda one: (self._key(one), one["memory_id"]), reverse=True)


def _nearness(found: Body) -> tuple[float, float]:
    """Return what orders the results of several users: scores compare those of one user alone."""
    cosine = found["cosine"]
    return (-1.0 if cosine is None else cosine, found["score"])


def _status_of(states: Iterable[Body]) -> str:
    """Return mem0's status of messages in these states."""
    told = [STATUSES.get(state["state"], PENDING) for state in states]
    return next((one for one in (PENDING, FAILED) if one in told), SUCCEEDED)


def _checked(answered: Answered) -> Answered:
    """Return a successful answer. Raises Problem for any other, with mem0's statuses: an invalid request is 400."""
    if answered.is_success:
        return answered
    status = HTTPStatus(answered.status)
    status = HTTPStatus.BAD_REQUEST if status is HTTPStatus.UNPROCESSABLE_ENTITY else status
    raise Problem(status, str((answered.body or {}).get("detail", status.phrase)))


async def _several(works: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Await coroutines, AT_ONCE at a time, and return their results in order."""
    left = list(works)
    results: list[T] = []
    for begin in range(0, len(left), AT_ONCE):
        results += await asyncio.gather(*left[begin : begin + AT_ONCE])
    return results


async def body_of(request: Request) -> Body:
    """Return a request's body as an object; {} without a body. Raises Problem."""
    text = await request.body()
    if not text:
        return {}
    try:
        body = read_json(text)
    except orjson.JSONDecodeError as error:
        raise Problem(HTTPStatus.BAD_REQUEST, f"the body is not JSON: {error}") from None
    if not isinstance(body, dict):
        raise Problem(HTTPStatus.BAD_REQUEST, "the body must be a JSON object")
    try:
        check_depth(body)
    except ValueError as error:
        raise Problem(HTTPStatus.BAD_REQUEST, f"the body {error}") from None
    return body


def _filters_given(given: object) -> Body:
    """Return filters from a body or a query string, where mem0's client sends a Python dict literal. Raises Problem."""
    given = _as_object(given)
    if isinstance(given, list):  # an older client's: all of them hold
        given = {"AND": given}
    if given is not None and not isinstance(given, dict):
        raise Problem(HTTPStatus.BAD_REQUEST, 'filters must be an object, such as {"user_id": "alice"}')
    return given or {}


def _as_object(given: object) -> object:
    """Return what stands in a query as an object: JSON, or a dict as Python writes it; anything else as it is."""
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
            return orjson.loads(orjson.dumps(ast.literal_eval(text)))  # Python has values that JSON has not
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            return text


def _messages(body: Body) -> list[Body]:
    """Return the messages that contain text, without system messages. Raises Problem."""
    given = body.get("messages")
    given = [{"role": "user", "content": given}] if isinstance(given, str) else given
    given = [given] if isinstance(given, dict) else given
    if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
        raise Problem(HTTPStatus.BAD_REQUEST, 'messages must be a list, such as [{"role": "user", "content": "…"}]')
    if len(given) > MOST_MESSAGES:
        raise Problem(HTTPStatus.BAD_REQUEST, f"there are {len(given)} messages: send at most {MOST_MESSAGES} at once")
    messages = []
    for one in given:
        read = message_of({"role": "user", **one})
        if read is None:
            continue
        words, role = read.get("content"), read.get("role")
        if not isinstance(role, str):
            raise Problem(HTTPStatus.BAD_REQUEST, "the role of a message must be a text, such as 'user'")
        if role != "system" and isinstance(words, str) and words.strip():
            messages.append({"role": role, "content": words, "name": one.get("name")})
    if not messages:
        raise Problem(HTTPStatus.BAD_REQUEST, "there is no message with words of a user or an assistant")
    return messages


def _object(body: Body, name: str) -> Mapping[str, Any]:
    value = body.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise Problem(HTTPStatus.BAD_REQUEST, f"{name} must be an object")
    return value


def _texts(body: Body, name: str) -> list[str]:
    value = body.get(name)
    if isinstance(value, str):
        value = [value]
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _number(body: Body, name: str, other: object, default: int, most: int) -> int:
    value = body.get(name, other)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise Problem(HTTPStatus.BAD_REQUEST, f"{name} must be a number of at least 1")
    return min(value, most)


def is_number(value: object) -> TypeGuard[float]:
    """Return whether a value is a number and not a bool."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _said_at(body: Body) -> str | None:
    """Return the time of the messages, given as seconds since 1970, which tell no offset, a time or a date."""
    for name in ("timestamp", "observation_datetime", "observation_date"):
        if (given := body.get(name)) is not None:
            said_at = _reference(given)
            return given if isinstance(given, str) else said_at and said_at.replace("Z", UNKNOWN)
    return None


def _reference(value: object) -> str | None:
    try:
        if is_number(value):
            return instant(datetime.fromtimestamp(value, UTC))
        return instant(read_instant(value))
    except (ValueError, OverflowError, OSError) as error:
        raise Problem(HTTPStatus.BAD_REQUEST, f"{str(value)[:64]!r} {error}") from None


def _end_of(value: object) -> str:
    """Return an instant; for a date, the end of that day. Raises Problem."""
    at = _reference(value)
    assert at is not None  # noqa: S101 - or it would have raised
    is_date = isinstance(value, str) and len(value) == len("2026-01-05")
    return f"{at[:10]}{END_OF_DAY}" if is_date else at


def _path(memory_id: str) -> str:
    """Return the path of a memory. Raises Problem for an id that would lead to another route: no memory has it."""
    if "/" in memory_id:
        raise Problem(HTTPStatus.NOT_FOUND, f"Memory not found! There is none with the id {memory_id!r}")
    return f"/v1/memories/{quote(memory_id, safe='')}"


def _without_none(values: Mapping[str, Any]) -> Body:
    return {name: value for name, value in values.items() if value is not None}
