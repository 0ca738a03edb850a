"""Memories over HTTP: list, read, remember, revise, forget, restore, and show their origins."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from http import HTTPStatus
from typing import Annotated, Any, Final

from fastapi import Query, Response

from mnemolog.access.principal import Role
from mnemolog.commands.commands import Answer, Changes, Fact
from mnemolog.http.bounds.redacted import apart, redacted_fields
from mnemolog.http.dependencies import Caller, CommandId, CurrentWorker, Tenant
from mnemolog.http.models import responses
from mnemolog.http.models.exchange_responses import MemoriesForgotten, MemoryPreview, MemoryReceipt
from mnemolog.http.models.memory_requests import NewMemory, Revision
from mnemolog.http.models.requests import (
    MAX_POINTS,
    Instant,
    KnownAt,
    MemoriesAsked,
    MemoriesQuery,
    MemoriesUnwanted,
    MemoryId,
    SearchFilters,
    UserOrNone,
)
from mnemolog.http.permissions import OF_USERS, check_erasing, reads
from mnemolog.http.problems import InvalidRequest, Problem
from mnemolog.http.routing import answer, answers, refused, routes, takes_long
from mnemolog.http.tracing import note_memory
from mnemolog.operations.erasing.erasure import NotErasedYet, NotRewritable
from mnemolog.worker.worker import Worker
from projections.partitions.shards import Shards
from projections.profile.attribute_values import fault_of
from projections.queries.conditions.parser import session_named
from projections.queries.filters import Filters
from projections.queries.queries import Queries, UnknownMemory
from projections.queries.validity import dated_view
from projections.state.memory import ACTIVE, Memory
from schemas.identity import GLOBAL_USER, Owner, derived_id
from schemas.inputs.input_events import Fault
from schemas.instant import Clock
from schemas.messages.observations import APP_ID
from schemas.vocabulary.refusals import Refusal, refusal_of
from schemas.vocabulary.words import DOCUMENT
from streams.agents.erasure_gate import ErasureRunning

router = routes("memories", "/v1/memories", OF_USERS)
UNKNOWN = refused(HTTPStatus.NOT_FOUND)
FORGOTTEN_AT_ONCE: Final = 50
REMEMBERED_TEXTS = ("content", "about", "attribute", "value", "metadata")
REVISED_TEXTS = ("content", "about", "value", "event_type", "emotion", "key_dialogue", "metadata")
COMMAND = answers(s202=responses.Waiting) | refused(HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT)


@router.post(
    "",
    status_code=201,
    response_model=responses.RememberedMemory,
    responses=answers(s200=responses.RememberedMemory, s202=responses.Waiting) | refused(HTTPStatus.CONFLICT),
)
async def remember(
    body: NewMemory, worker: CurrentWorker, caller: Caller, tenant: Tenant, command_id: CommandId
) -> Response:
    """Remember as is: 201 with the memory, 200 with the known one when it is an exact duplicate.

    Its words stay as they are. Without an attribute its key is read in them, and what it ends; without `occurred_at`
    its day; `read: false` leaves that. `similar` are up to three other memories that say nearly the same.
    """
    redaction = worker.redactions.of(tenant, body.agent_id)
    asked = body.model_dump(exclude={"user_id", "app_id"})
    if body.app_id is not None:
        asked["metadata"] = (body.metadata or {}) | {APP_ID: body.app_id}
    given = await apart(redacted_fields, redaction, asked, REMEMBERED_TEXTS)
    fact = Fact(**given)
    owner = Owner(tenant, GLOBAL_USER if fact.scope == "global" else body.user_id)
    command = await worker.commands.remember(Owner(tenant, body.user_id), fact, command_id)
    statuses = {"formed": HTTPStatus.CREATED, "superseded": HTTPStatus.CREATED}
    similar = await _similar(worker, owner, command, body) if Role.READ in caller.roles else []

    def view(memory: Memory) -> dict[str, Any]:
        shown = dated_view(owner, memory, worker.shards.state(owner).memories, worker.clock.now())
        return shown | {"similar": [{"memory_id": one.memory_id, "content": one.content} for one in similar]}

    return command_answer(command, owner, worker.shards, worker.clock, statuses=statuses, view=view)


async def _similar(worker: Worker, owner: Owner, command: Answer, body: NewMemory) -> list[Memory]:
    """Return the memories similar to a new one; none for documents, for global memories, and with `read: false`."""
    memory_id = command.outcome.memory_id if command.outcome else None
    if memory_id is None or not body.read or body.kind == DOCUMENT or owner.is_global:
        return []
    now = worker.clock.now()
    filters = Filters(agent_id=body.agent_id, **dict(SearchFilters().within(app_id=body.app_id)))
    held = worker.shards.resolve(owner)
    sees = worker.queries.sees(held, worker.contexts.visibility(held, body.agent_id))
    memory = held.state.memories[memory_id]
    return await worker.similar.of(owner, memory, now, lambda one: sees(one) and filters.passes(one, owner, now))


@router.get("", response_model=responses.Memories)
async def listed(query: Annotated[MemoriesAsked, Query()], worker: CurrentWorker, tenant: Tenant) -> Response:
    """List memories, the most important first, then those last accessed; an unknown user has none."""
    _check_whose(query.user_id, query.scope)
    if query.limit is not None and query.model_fields_set & {"page", "page_size"}:
        wrong = Fault("$.limit", "cannot be used with page or page_size: give limit for the first ones, or a page")
        raise InvalidRequest(wrong)
    filters = _filters(query)
    page, size = (1, query.limit) if query.limit else (query.page, query.page_size)
    return await _listed(query, filters, worker, tenant, page=page, size=size)


@router.post("/query", response_model=responses.Memories)
@reads
async def queried(body: MemoriesQuery, worker: CurrentWorker, tenant: Tenant) -> Response:
    """List the memories that meet a filter, in the order of the list; an unknown user has none."""
    _check_whose(body.user_id, body.scope)
    scoped = body.filters.within(session_id=body.session_id, app_id=body.app_id, about=body.about, speaker=body.speaker)
    filters = Filters(agent_id=body.agent_id, attribute=body.attribute, **dict(scoped))
    return await _listed(body, filters, worker, tenant, page=body.page, size=body.page_size)


@router.delete(
    "",
    response_model=MemoriesForgotten,
    responses=refused(HTTPStatus.CONFLICT, HTTPStatus.SERVICE_UNAVAILABLE),
)
@takes_long
async def forget_many(
    query: Annotated[MemoriesUnwanted, Query()],
    worker: CurrentWorker,
    tenant: Tenant,
    caller: Caller,
    command_id: CommandId,
) -> Response:
    """Forget the memories of a user that meet the fields and the filter, at most `limit`, the most important first.

    Of a session, they are forgotten there alone where they were told in others too.
    `forever` erases each with what it came from, as `DELETE /v1/memories/{memory_id}?forever=true` does, and also those
    that were forgotten or superseded. Asked again, it goes on with those that are left.
    """
    if query.forever:
        check_erasing(caller)
    owner, now = Owner(tenant, query.user_id), worker.clock.now()
    # Memories that were merely forgotten are still stored.
    status = query.status or (None if query.forever else ACTIVE)
    state = await worker.queries.state(worker.shards.resolve(owner), now)
    found = await worker.queries.memories(state, _filters(query), now, status=status)
    chosen = [memory.memory_id for memory in found[: query.limit]]
    gone: dict[str, Any] = {"items": chosen, "waiting": [], "left": len(found) - len(chosen), "receipts": []}
    if query.preview:
        return answer(gone)
    ids = {memory_id: derived_id(command_id, memory_id) for memory_id in chosen}
    if query.forever:
        with _as_problems():
            gone["receipts"] = await worker.memory_erasures.erase_all(owner, ids)
        return answer(gone)
    for begin in range(0, len(chosen), FORGOTTEN_AT_ONCE):
        some = chosen[begin : begin + FORGOTTEN_AT_ONCE]
        session_id = session_named(query.session_id, query.filters.condition)
        commands = await asyncio.gather(*(worker.commands.forget(owner, one, ids[one], session_id) for one in some))
        gone["waiting"] += [one for one, command in zip(some, commands, strict=True) if command.outcome is None]
    gone["items"] = [one for one in chosen if one not in gone["waiting"]]
    return answer(gone)


@router.get("/{memory_id}", response_model=responses.DatedMemory, responses=UNKNOWN)
async def one(
    *,
    memory_id: MemoryId,
    worker: CurrentWorker,
    tenant: Tenant,
    user_id: UserOrNone | None = None,
    as_of: Instant | None = None,
    known_at: KnownAt = None,  # noqa: ARG001 - refused when given
) -> Response:
    """Return a memory, whatever its status."""
    now = worker.clock.now()
    owner_of(worker.queries, tenant, memory_id, user_id)
    state, memory = await worker.queries.memory(tenant, memory_id, now, as_of)
    return answer(dated_view(state.owner, memory, state.memories, as_of or now))


@router.patch("/{memory_id}", response_model=responses.DatedMemory, responses=COMMAND)
async def revise(
    *,
    memory_id: MemoryId,
    body: Revision,
    worker: CurrentWorker,
    tenant: Tenant,
    command_id: CommandId,
    user_id: UserOrNone | None = None,
) -> Response:
    """Change what is given; 409 when the memory has moved on from `expected_version`."""
    given = body.model_dump(exclude={"expected_version"}) | {"sets_expiry": "expires_at" in body.model_fields_set}
    if "about" in body.model_fields_set:
        given["about"] = body.about or ""
    if Changes(**given) == Changes():
        raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, "nothing is to be changed: give at least one field")
    owner = owner_of(worker.queries, tenant, memory_id, user_id)
    _, memory = await worker.queries.memory(tenant, memory_id, worker.clock.now())
    redaction = worker.redactions.of(tenant, memory.agent_id)
    changes = Changes(**await apart(redacted_fields, redaction, given, REVISED_TEXTS))
    if changes.event_type is not None and memory.kind != "episodic":
        raise InvalidRequest(Fault("$.event_type", "only an episode has one, and this memory is semantic"))
    if (fault := fault_of(memory.attribute, changes.value)) is not None:
        raise InvalidRequest(Fault("$.value", fault))
    command = await worker.commands.revise(owner, memory_id, changes, command_id, body.expected_version)
    return command_answer(command, owner, worker.shards, worker.clock)


@router.delete(
    "/{memory_id}",
    response_model=responses.DatedMemory | MemoryReceipt | MemoryPreview,
    responses=COMMAND | refused(HTTPStatus.SERVICE_UNAVAILABLE),
)
async def forget(
    *,
    memory_id: MemoryId,
    worker: CurrentWorker,
    tenant: Tenant,
    caller: Caller,
    command_id: CommandId,
    user_id: UserOrNone | None = None,
    forever: Annotated[bool, Query(description="erase its words, its history and its observations")] = False,
    preview: Annotated[
        bool, Query(description="with `forever`: show what would be removed, and change nothing")
    ] = False,
) -> Response:
    """Forget a memory: 200 says that it can no longer be found. Forgetting it again changes nothing.

    `forever` erases it for good, together with the observations that it came from, and answers with a signed receipt.
    It requires the role tenant-admin. On Kafka without encryption it is refused with 409.
    """
    if forever:
        check_erasing(caller)
        return await _erased(worker, tenant, memory_id, user_id, command_id, is_preview=preview)
    if preview:
        wrong = Fault("$.preview", "only goes with forever=true: a memory that is only forgotten can be restored")
        raise InvalidRequest(wrong)
    owner = owner_of(worker.queries, tenant, memory_id, user_id)
    command = await worker.commands.forget(owner, memory_id, command_id)
    return command_answer(command, owner, worker.shards, worker.clock)


@router.post("/{memory_id}/restore", response_model=responses.DatedMemory, responses=COMMAND)
async def restore(
    memory_id: MemoryId, worker: CurrentWorker, tenant: Tenant, command_id: CommandId, user_id: UserOrNone | None = None
) -> Response:
    """Bring a memory back; where the same text is active, that memory is returned."""
    owner = owner_of(worker.queries, tenant, memory_id, user_id)
    command = await worker.commands.restore(owner, memory_id, command_id)
    return command_answer(command, owner, worker.shards, worker.clock)


@router.get("/{memory_id}/history", response_model=responses.History, responses=UNKNOWN)
async def history(
    memory_id: MemoryId, worker: CurrentWorker, tenant: Tenant, user_id: UserOrNone | None = None
) -> Response:
    """Return every event about a memory, and the words and answers that it came from."""
    owner_of(worker.queries, tenant, memory_id, user_id)
    return answer(await worker.queries.history(tenant, memory_id))


@router.get("/{memory_id}/importance", response_model=responses.Curve, responses=UNKNOWN)
async def importance(
    *,
    memory_id: MemoryId,
    worker: CurrentWorker,
    tenant: Tenant,
    since: Annotated[Instant | None, Query(alias="from", description="by default when it was formed")] = None,
    until: Annotated[Instant | None, Query(alias="to", description="by default now")] = None,
    points: Annotated[int, Query(ge=1, le=MAX_POINTS)] = 31,
    user_id: UserOrNone | None = None,
) -> Response:
    """Return importance and strength at evenly spaced instants, read from the log."""
    now = worker.clock.now()
    owner_of(worker.queries, tenant, memory_id, user_id)
    _, memory = await worker.queries.memory(tenant, memory_id, now)
    begin, end = since or memory.formed_at, until or now
    if begin > end:
        if since and until:
            raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, "$.from lies after $.to: exchange them")
        begin = end = since or end
    curve = await worker.queries.curve(tenant, memory_id, begin, end, points)
    return answer({"memory_id": memory_id, "points": curve})


def paged(
    memories: Sequence[tuple[Owner, Memory]],
    page: int,
    size: int,
    at: datetime,
    known: Mapping[Owner, Mapping[str, Memory]],
) -> dict[str, Any]:
    """Return one page of memories, each passed with its owner, as of an instant.

    `known` are all memories of each owner, by id; they tell until when a superseded memory was true.
    """
    items = _dated(memories[(page - 1) * size : page * size], at, known)
    return {"items": items, "total": len(memories), "page": page, "page_size": size}


def _dated(
    memories: Iterable[tuple[Owner, Memory]], at: datetime, known: Mapping[Owner, Mapping[str, Memory]]
) -> list[dict[str, Any]]:
    return [dated_view(owner, memory, known.get(owner, {}), at) for owner, memory in memories]


def _filters(query: MemoriesAsked | MemoriesUnwanted) -> Filters:
    """Return the filters of a query string, from its fields and its `filters`. Raises Problem if both set one."""
    scoped = query.filters.within(
        session_id=query.session_id, app_id=query.app_id, about=query.about, speaker=query.speaker
    )
    given = {name: value for name, value in scoped if value is not None}
    names = ("agent_id", "kind", "memory_type", "category", "source_type", "attribute")
    fields = {name: getattr(query, name) for name in names if getattr(query, name) is not None}
    if twice := given.keys() & fields.keys():
        raise InvalidRequest(Fault(f"$.{min(twice)}", "is in the filters too: say it in one place"))
    return Filters(**given, **fields)


def _check_whose(user_id: str | None, scope: str | None) -> None:
    """Check that a list request names a user or the global scope. Raises Problem."""
    if user_id is None and scope != "global":
        raise InvalidRequest(Fault("$.user_id", "is missing: say whose memories to list, or scope=global"))


async def _listed(
    asked: MemoriesAsked | MemoriesQuery, filters: Filters, worker: Worker, tenant: str, *, page: int, size: int
) -> Response:
    """Answer with a page of the memories that pass the filters."""
    global_owner, now = Owner(tenant, GLOBAL_USER), worker.clock.now()
    owners = [global_owner] if asked.scope == "global" else [Owner(tenant, asked.user_id or "")]
    if asked.include_global and asked.scope is None:
        owners.append(global_owner)
    if global_owner in owners:
        await worker.fold_globals()
    at = asked.as_of or now
    narrows = asked.scope is not None or asked.status != ACTIVE or filters != Filters(agent_id=filters.agent_id)
    whose = list(map(worker.shards.resolve, owners))
    states = [await worker.queries.state(held, now, asked.as_of) for held in whose]
    known = {state.owner: state.memories for state in states}
    if len(owners) == 1 and asked.as_of is None and not narrows:
        begin, end = (page - 1) * size, page * size
        shown, total = await worker.queries.page(whose[0], filters.agent_id, now=now, begin=begin, end=end)
        items = _dated(((owners[0], memory) for memory in shown), now, known)
        return answer({"items": items, "total": total, "page": page, "page_size": size})
    memories = [
        (state.owner, memory)
        for state in states
        for memory in await worker.queries.memories(state, filters, at, status=asked.status, scope=asked.scope)
    ]
    if len(owners) > 1:
        memories.sort(key=lambda pair: (pair[1].importance, pair[1].last_accessed_at), reverse=True)
    return answer(paged(memories, page, size, at, known))


async def _erased(
    worker: Worker, tenant: str, memory_id: str, user_id: str | None, command_id: str, *, is_preview: bool
) -> Response:
    known = worker.shards.users.erased_memory(tenant, memory_id)
    owner = known[0] if known is not None else owner_of(worker.queries, tenant, memory_id, user_id)
    with _as_problems():
        if is_preview:
            memory = worker.shards.state(owner).memories.get(memory_id)
            if memory is None:
                raise UnknownMemory(f"there is no memory {memory_id!r}")
            return answer(worker.memory_erasures.preview(owner, memory))
        return answer(await worker.memory_erasures.erase(owner, memory_id, command_id))


@contextmanager
def _as_problems() -> Iterator[None]:
    """Raise Problem for an error that prevents an erasure."""
    try:
        yield
    except (ErasureRunning, NotRewritable) as error:
        raise Problem(HTTPStatus.CONFLICT, str(error)) from error
    except NotErasedYet as error:
        raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, str(error)) from error


def owner_of(queries: Queries, tenant: str, memory_id: str, user_id: str | None) -> Owner:
    """Return the owner of a memory, who must be the named user if one is named. Raises UnknownMemory."""
    owner = queries.owner_of(tenant, memory_id)
    if user_id not in (None, owner.user_id) and not owner.is_global:
        raise UnknownMemory(f"user {user_id!r} has no memory {memory_id!r}")
    return owner


def command_answer(
    command: Answer,
    owner: Owner,
    shards: Shards,
    clock: Clock,
    *,
    statuses: dict[str, HTTPStatus] | None = None,
    view: Callable[[Memory], dict[str, Any]] | None = None,
) -> Response:
    """Answer a command with its memory, or with 202 while its decision is pending. Raises Problem.

    `statuses` are those of actions that are not answered with 200; `view` turns the memory into JSON.
    """
    outcome = command.outcome
    if outcome is None:
        return answer({"command_id": command.command_id, "state": "accepted"}, HTTPStatus.ACCEPTED)
    if outcome.action == "refused" or outcome.memory_id is None:
        refusal, detail = refusal_of(outcome.reason)
        raise Problem(HTTPStatus.NOT_FOUND if refusal is Refusal.UNKNOWN else HTTPStatus.CONFLICT, detail)
    memories = shards.state(owner).memories
    memory = memories[outcome.memory_id]
    note_memory(memory)
    shown = view(memory) if view else dated_view(owner, memory, memories, clock.now())
    return answer(shown, (statuses or {}).get(outcome.action, HTTPStatus.OK))
