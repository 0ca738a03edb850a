"""The routes about memories as calls: each function builds a request and its reader; the clients only send it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from mnemolog.client.call import Call, Instant, Json, command, filter_of, get, given, path_of, question, spelt
from mnemolog.client.carrier import method
from mnemolog.client.errors import Refused
from schemas.inputs.foreign_messages import message_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

FORGETTING_SECONDS: Final = 120.0
SPEAKERS: Final = ("user", "assistant")
MESSAGE_FIELDS: Final = ("role", "content", "event_id", "occurred_at")
"""The fields of a message that are sent, along with the speaker's name; other fields of agents are not."""


def add(  # noqa: PLR0913 - one for each field of the request
    conversation: Iterable[Mapping[str, Any]],
    user_id: str,
    agent_id: str | None = None,
    session_id: str | None = None,
    *,
    end_session: bool = True,
    infer: bool = True,
    wait_seconds: float = 0.0,
    app_id: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    instructions: str | None = None,
    key: str | None = None,
) -> Call[Json]:
    """Publish a conversation `[{role, content}]`; sending a whole context again adds only what is new.

    Words that are said again in a later call are a new turn. A call with the `key` of a former one is that call, sent
    again. A request has at most 1,000 messages. Of a content in parts the text counts; `human`, `ai` and the like mean
    user and assistant. Messages of other roles, and those without text, are left out; with none left nothing is sent,
    and `session_id` is the one given here. `metadata` are those of each message, and of what is remembered of it; an
    `expires_at` in them is when that expires. `instructions` are words for the model about these messages, behind the
    policy; they want a key of all users and agents. Returns `{accepted, session_id}`, `known` in each that was
    accepted before; `wait_seconds` (at most 60)
    waits for the final states. Raises Refused for what is no list of messages.
    """
    read = [found for message in _messages(conversation) if (found := message_of(message)) is not None]
    messages = [
        given(**{name: message.get(name) for name in MESSAGE_FIELDS}, name=_speaker(message), metadata=metadata or None)
        for message in read
        if message.get("role") in SPEAKERS and isinstance(message.get("content"), str)
    ]
    if not messages:
        return Call(method="", read=lambda _: {"accepted": [], "session_id": session_id})
    body = given(user_id=user_id, agent_id=agent_id, session_id=session_id, app_id=app_id)
    body |= given(instructions=instructions or None)
    body |= {"messages": messages, "end_session": end_session, "infer": infer}
    return command("POST", "/v1/conversations", body, key, wait_seconds=wait_seconds, wait=wait_seconds or None)


def _speaker(message: Mapping[str, Any]) -> str | None:
    """Return the name of a message's speaker, if it has one."""
    name = message.get("name")
    return name if isinstance(name, str) and name.strip() else None


def _messages(conversation: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    # A text and a single message are also iterable, and would pass as a list of messages.
    messages = [] if isinstance(conversation, str | bytes | Mapping) else list(conversation)
    if isinstance(conversation, str | bytes | Mapping) or not all(isinstance(m, Mapping) for m in messages):
        raise Refused('a conversation is a list of messages: [{"role": "user", "content": "..."}]')
    return messages


def search(  # noqa: PLR0913 - one for each field of the request
    user_id: str,
    agent_id: str | None = None,
    query: str = "",
    *,
    session_id: str | None = None,
    about: str | None = None,
    speaker: str | None = None,
    attribute: str | None = None,
    limit: int = 5,
    scope: str = "all",
    include_global: bool = True,
    filters: Mapping[str, Any] | None = None,
    min_score: float = 0.0,
    as_of: Instant | None = None,
    recall: bool = True,
    exclude_sources: Sequence[str] | None = None,
    include: Sequence[str] | None = None,
    understand_time: bool | None = None,
    hops: int | None = None,
    app_id: str | None = None,
    min_relevance: float | None = None,
    explain: bool | None = None,
) -> Call[Json]:
    """Find memories and turns; returns `{"results": [{"memory": text, "relevance": …, …}], "evidence": …}`, best first.

    `session_id` leaves out what is of other sessions, `app_id` memories of other applications, and every turn; `about`,
    `speaker` (each in any spelling; "user" is the user) and `attribute` leave out other memories, and every turn.
    `exclude_sources` leaves out what is from there: chat, photo, inferred, manual, import. `include` has `memories`,
    `turns` (what was said) or, as by default, both. What is less relevant than `min_relevance` is left out. `hops=2`
    follows what the best memories name; `understand_time=False` reads "last week" as words. `explain=True` adds the
    parts of each result's order as `why`, and to the answer what was left out as `cut`. A blank query is refused; it
    has a default only because its place is after the agent's, as in PowerMem.
    """
    body = given(
        user_id=user_id,
        query=query,
        agent_id=agent_id,
        session_id=session_id,
        about=about,
        speaker=speaker,
        attribute=attribute,
        limit=limit,
        scope=scope,
        include_global=include_global,
        filters=spelt(filters) if filters else None,
        min_score=min_score,
        as_of=as_of,
        recall=recall,
        exclude_sources=None if exclude_sources is None else list(exclude_sources),
        include=None if include is None else list(include),
        understand_time=understand_time,
        hops=hops,
        app_id=app_id,
        min_relevance=min_relevance,
        explain=explain,
    )
    # Recalls are counted once for each user and minute, so that a repeat is safe.
    return question("/v1/search", body)


def get_user_profile(user_id: str, agent_id: str | None = None) -> Call[str]:
    """Return what is known about the user as text, a line for each value; empty when nothing is known."""
    call = profile(user_id, agent_id)
    return Call(method="GET", path=call.path, query=call.query, is_repeatable=True, read=lambda body: str(body["text"]))


def profile(user_id: str, agent_id: str | None = None, *, as_of: Instant | None = None) -> Call[Json]:
    """Return the profile: one entry for each attribute, `text`, and under `sources` each value's memory."""
    return get(path_of("v1", "users", user_id, "profile"), agent_id=agent_id, as_of=as_of)


def publish(
    events: Sequence[Mapping[str, Any]],
    *,
    idempotency_key: str | None = None,
    derived_ids: bool = False,
    wait_seconds: float = 0.0,
) -> Call[Json]:
    """Publish input events; returns `{"accepted": [{event_id, position}]}` in their order when the log has them.

    All or none: one bad event refuses the request. Events without an `event_id` get one from the key.
    `derived_ids`: each has one that was derived from its words; where encryption is strict, it gets a keyed one for it.
    """
    query = {"derived_ids": derived_ids or None, "wait": wait_seconds or None}
    return command("POST", "/v1/events", list(events), idempotency_key, wait_seconds=wait_seconds, **query)


def event(event_id: str, user_id: str = "owner") -> Call[Json]:
    """Return how far an event has come: `{state, reason, memory_ids, decisions}`. Raises NotFound."""
    return get(path_of("v1", "events", event_id), user_id=user_id)


def events_status(event_ids: Sequence[str], user_id: str = "owner") -> Call[Json]:
    """Return the same for at most 1,000 events: `{items, unknown}`."""
    return question("/v1/events/status", {"user_id": user_id, "event_ids": list(event_ids)})


def remember(
    content: str,
    user_id: str = "owner",
    agent_id: str | None = None,
    *,
    key: str | None = None,
    **fields: Any,  # noqa: ANN401
) -> Call[Json]:
    """Remember a fact as it is; `fields` are those of `POST /v1/memories`. Returns the memory, new or known."""
    body = given(user_id=user_id, content=content, agent_id=agent_id, **fields)
    return command("POST", "/v1/memories", body, key)


def tools() -> Call[Json]:
    """Return the two tools as OpenAI function schemas: `{"tools": [...]}`, as a chat completion takes them."""
    return get("/v1/tools")


def call_tool(
    name: str,
    arguments: Mapping[str, Any] | str,
    user_id: str = "owner",
    agent_id: str | None = None,
    *,
    app_id: str | None = None,
    key: str | None = None,
) -> Call[Json]:
    """Call a tool for a model, whose arguments may still be the JSON that it wrote. Answers as the tool's route."""
    read = _arguments(arguments)
    # The owner comes last, so that the model's arguments cannot override it.
    body = given(**read) | given(user_id=user_id, agent_id=agent_id, app_id=app_id)
    return command("POST", path_of("v1", "tools", name), body, key)


def _arguments(arguments: Mapping[str, Any] | str) -> Mapping[str, Any]:
    try:
        read = json.loads(arguments) if isinstance(arguments, str) else arguments
    except ValueError as error:
        raise Refused(f"the arguments of the tool are not JSON: {error}") from None
    if not isinstance(read, Mapping):
        raise Refused("the arguments of a tool are a JSON object")
    return {name: value for name, value in read.items() if name not in ("user_id", "agent_id", "app_id")}


def memories(user_id: str, *, filters: Mapping[str, Any] | None = None, **fields: Any) -> Call[Json]:  # noqa: ANN401
    """List memories, the most important first: `{items, total, page, page_size}`; `fields` as `GET /v1/memories`.

    `filters` are in the filter language, such as `{"metadata.shelf": "top", "NOT": {"category": "fact"}}`.
    """
    return get("/v1/memories", user_id=user_id, filters=filter_of(filters), **fields)


def memory(memory_id: str, *, user_id: str | None = None, as_of: Instant | None = None) -> Call[Json]:
    """Return a memory, whatever its status. Raises NotFound."""
    return get(path_of("v1", "memories", memory_id), user_id=user_id, as_of=as_of)


def revise(memory_id: str, *, user_id: str | None = None, key: str | None = None, **changes: Any) -> Call[Json]:  # noqa: ANN401
    """Change fields of a memory: those that `PATCH /v1/memories/{memory_id}` takes.

    Of `metadata` members are set, and those that are None taken away; with `expires_at=None` it does not expire, and
    with `about=None` it is about the user. Raises Conflict if `expected_version` is past.
    """
    body = given(**changes)
    if "expires_at" in changes:
        body["expires_at"] = spelt(changes)["expires_at"]
    if "about" in changes:
        body["about"] = changes["about"]
    if changes.get("metadata") is not None:
        body["metadata"] = changes["metadata"]
    return command("PATCH", path_of("v1", "memories", memory_id), body, key, user_id=user_id)


def forget(memory_id: str, *, user_id: str | None = None, key: str | None = None) -> Call[Json]:
    """Forget a memory; returns it as it is then. Raises NotFound."""
    return command("DELETE", path_of("v1", "memories", memory_id), key=key, user_id=user_id)


def query_memories(
    user_id: str | None = None,
    filters: Mapping[str, Any] | None = None,
    **fields: Any,  # noqa: ANN401
) -> Call[Json]:
    """List the memories that meet a filter: as `memories`; `fields` are those of `POST /v1/memories/query`."""
    body = given(user_id=user_id, filters=None if filters is None else spelt(filters), **fields)
    return question("/v1/memories/query", body)


def forget_memories(
    user_id: str,
    *,
    filters: Mapping[str, Any] | None = None,
    preview: bool = False,
    forever: bool = False,
    limit: int | None = None,
    key: str | None = None,
    **fields: Any,  # noqa: ANN401
) -> Call[Json]:
    """Forget the memories that meet the filters and the fields, which are those of the list; `forever` erases them.

    Returns `{items, waiting, left, receipts}`; `preview` says which would go.
    """
    fields |= {"user_id": user_id, "filters": filter_of(filters), "limit": limit}
    fields |= {"preview": preview or None, "forever": forever or None}
    return command("DELETE", "/v1/memories", key=key, wait_seconds=FORGETTING_SECONDS, **fields)


def restore(memory_id: str, *, user_id: str | None = None, key: str | None = None) -> Call[Json]:
    """Bring a forgotten or expired memory back."""
    return command("POST", path_of("v1", "memories", memory_id, "restore"), key=key, user_id=user_id)


def share(
    memory_id: str,
    *,
    agent_id: str | None = None,
    with_user: str | None = None,
    scope: str | None = None,
    user_id: str | None = None,
    key: str | None = None,
) -> Call[Json]:
    """Share a memory: with another agent of its user, `with_user`, or all users (`scope="global"`).

    Returns the memory as the other has it. `user_id` is whose it is.
    """
    body = given(agent_id=agent_id, user_id=with_user, scope=scope)
    return command("POST", path_of("v1", "memories", memory_id, "share"), body, key, user_id=user_id)


def history(memory_id: str, *, user_id: str | None = None) -> Call[Json]:
    """Return every event about a memory, oldest first, and its `lineage`."""
    return get(path_of("v1", "memories", memory_id, "history"), user_id=user_id)


def changes(
    after: str | None = None,
    user_id: str | None = None,
    agent_id: str | None = None,
    *,
    types: Sequence[str] = (),
    limit: int = 100,
) -> Call[Json]:
    """Return what happened to memories after a cursor: `{items, next, more}`; `next` is the cursor to go on with."""
    wanted = ",".join(types) or None
    return get(path_of("v1", "changes"), after=after, user_id=user_id, agent_id=agent_id, types=wanted, limit=limit)


def turns(session_id: str, user_id: str = "owner", *, limit: int = 20) -> Call[Json]:
    """Return a session's most recent turns as published, oldest first: `{items}`."""
    return get(path_of("v1", "sessions", session_id, "turns"), user_id=user_id, limit=limit)


def importance(
    memory_id: str, *, points: int = 31, begin: Instant | None = None, end: Instant | None = None
) -> Call[Json]:
    """Return importance and strength at evenly spaced instants: `{memory_id, points}`."""
    query = {"points": points, "from": begin, "to": end}
    return get(path_of("v1", "memories", memory_id, "importance"), **query)


def episodes(
    user_id: str, agent_id: str | None = None, *, page: int = 1, page_size: int = 50, as_of: Instant | None = None
) -> Call[Json]:
    """List what happened, the newest first: `{items, total, page, page_size}`."""
    path = path_of("v1", "users", user_id, "episodes")
    return get(path, agent_id=agent_id, page=page, page_size=page_size, as_of=as_of)


def entities(
    user_id: str,
    agent_id: str | None = None,
    *,
    kind: str | None = None,
    page: int = 1,
    page_size: int = 50,
    as_of: Instant | None = None,
) -> Call[Json]:
    """List the people, places, organisations and things that memories name: `{items, total, page, page_size}`."""
    path = path_of("v1", "users", user_id, "entities")
    return get(path, agent_id=agent_id, kind=kind, page=page, page_size=page_size, as_of=as_of)


def entity(user_id: str, entity_id: str, agent_id: str | None = None, *, as_of: Instant | None = None) -> Call[Json]:
    """Return an entity with its `facts`, oldest first, and what is `related`. Raises NotFound."""
    return get(path_of("v1", "users", user_id, "entities", entity_id), agent_id=agent_id, as_of=as_of)


def stats(user_id: str, agent_id: str | None = None) -> Call[Json]:
    """Count a user's active memories, or those that an agent knows: `{total, by_type, by_category}`."""
    return get(path_of("v1", "users", user_id, "stats"), agent_id=agent_id)


class MemoryMethods:
    """The methods of these calls, of both clients."""

    add = method(add)
    search = method(search)
    get_user_profile = method(get_user_profile)
    publish = method(publish)
    event = method(event)
    events_status = method(events_status)
    remember = method(remember)
    memories = method(memories)
    memory = method(memory)
    revise = method(revise)
    forget = method(forget)
    forget_memories = method(forget_memories)
    query_memories = method(query_memories)
    restore = method(restore)
    share = method(share)
    history = method(history)
    changes = method(changes)
    importance = method(importance)
    profile = method(profile)
    episodes = method(episodes)
    entities = method(entities)
    entity = method(entity)
    stats = method(stats)
    turns = method(turns)
    tools = method(tools)
    call_tool = method(call_tool)
