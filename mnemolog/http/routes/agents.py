"""Users and sessions: profile, episodes, counts, and the turns of working memory."""

import asyncio
from collections import Counter
from contextlib import suppress
from dataclasses import asdict
from datetime import datetime
from http import HTTPStatus
from typing import Annotated, Any, Final

import orjson
from fastapi import Query, Response

from mnemolog.http.dependencies import CurrentWorker, OwnerInPath, Tenant
from mnemolog.http.models import responses
from mnemolog.http.models.requests import MAX_PAGE_SIZE, EntitiesAsked, EpisodesAsked, Id, Instant, KnownAt, UserOrOwner
from mnemolog.http.permissions import OF_USERS
from mnemolog.http.problems import Problem
from mnemolog.http.routes.memories import paged
from mnemolog.http.routing import answer, page_of, refused, routes
from mnemolog.worker.worker import Worker
from projections.partitions.held import Held
from projections.partitions.shards import Shards
from projections.profile.profile import profile as profile_of
from projections.queries.entities import Entity, related
from projections.queries.filters import Filters
from projections.queries.queries import Queries
from projections.queries.validity import dated_view
from projections.shard.errors import ShardUnavailable
from projections.shard.rows.published_turns import Turn
from projections.state.memory import ACTIVE, SUPERSEDED, Memory
from projections.turns import chosen, in_turns
from schemas.identity import Owner, check_user_id
from schemas.inputs.input_events import DEFAULT_USER
from schemas.instant import instant
from schemas.log import Log, LogUnavailable
from schemas.topics import CONVERSATIONS

router = routes("agents", "/v1", OF_USERS)
FOLD_SECONDS: Final = 0.5
"""How long an answer waits for recently accepted turns."""


@router.get("/users/{user_id:text}/profile")
async def profile(
    *,
    owner: OwnerInPath,
    worker: CurrentWorker,
    agent_id: Id | None = None,
    as_of: Instant | None = None,
    known_at: KnownAt = None,  # noqa: ARG001 - refused when given
) -> Response:
    """Return what is known about a user, each value with its memory; empty when profiles are switched off."""
    held, now = worker.shards.resolve(owner), worker.clock.now()
    if not worker.settings.user_profile:
        return answer(profile_of((), now))
    await fold_turns(worker.log, worker.shards, held)  # the turns determine how the user talks
    visibility = worker.contexts.visibility(held, agent_id)
    return answer(await worker.queries.profile(held, now, as_of, agent_id, visibility))


@router.get("/users/{user_id:text}/episodes", response_model=responses.Memories)
async def episodes(owner: OwnerInPath, query: Annotated[EpisodesAsked, Query()], worker: CurrentWorker) -> Response:
    """Return what happened, the newest first."""
    now = worker.clock.now()
    filters = Filters(kind="episodic", agent_id=query.agent_id)
    state = await worker.queries.state(worker.shards.resolve(owner), now, query.as_of)
    memories = await worker.queries.memories(state, filters, query.as_of or now)
    memories.sort(key=lambda memory: memory.occurred_at, reverse=True)
    known = {owner: state.memories}
    shown = [(owner, memory) for memory in memories]
    return answer(paged(shown, query.page, query.page_size, query.as_of or now, known))


@router.get("/users/{user_id:text}/entities", response_model=responses.Entities)
async def entity_list(owner: OwnerInPath, query: Annotated[EntitiesAsked, Query()], worker: CurrentWorker) -> Response:
    """Return the people, places, organisations and things that a user's memories name, the most named first."""
    held = worker.shards.resolve(owner)
    found = [
        entity
        for entity in await _entities(worker, held, query.agent_id, query.as_of)
        if query.kind in (None, entity.kind)
    ]
    return answer(page_of(found, _entity_row, query.page, query.page_size))


@router.get(
    "/users/{user_id:text}/entities/{entity_id}",
    response_model=responses.EntityPage,
    responses=refused(HTTPStatus.NOT_FOUND),
)
async def entity_page(
    *,
    user_id: str,
    entity_id: str,
    worker: CurrentWorker,
    tenant: Tenant,
    agent_id: Id | None = None,
    as_of: Instant | None = None,
    known_at: KnownAt = None,  # noqa: ARG001 - refused when given
) -> Response:
    """Return what is known of an entity over time: its memories, superseded ones too, and what is named with it."""
    held, now = worker.shards.resolve(Owner(tenant, check_user_id(user_id))), worker.clock.now()
    found = await _entities(worker, held, agent_id, as_of)
    entity = next((one for one in found if one.entity_id == entity_id), None)
    if entity is None:
        raise Problem(HTTPStatus.NOT_FOUND, f"no memory of {user_id!r} names an entity {entity_id!r}")
    known = (await worker.queries.state(held, now, as_of)).memories
    others = await asyncio.to_thread(related, entity, found)
    facts = [dated_view(held.owner, memory, known, as_of or now) for memory in entity.memories]
    together = [_entity_row(other) | {"together": number} for other, number in others]
    return answer(_entity_row(entity) | {"facts": facts, "related": together})


async def _entities(worker: Worker, held: Held, agent_id: str | None, as_of: datetime | None) -> list[Entity]:
    """Return the entities in the active and superseded memories of a user that an agent may see."""
    now = worker.clock.now()
    at, filters = as_of or now, Filters(agent_id=agent_id)
    visibility = worker.contexts.visibility(held, agent_id)
    state, ranked = (
        await worker.queries.state(held, now, as_of),
        await worker.queries.ranked(held, now, as_of, visibility),
    )
    sees = ranked.shows(visibility)

    def is_seen(memory: Memory) -> bool:
        return memory.status_at(at) in (ACTIVE, SUPERSEDED) and filters.accept(memory) and sees(memory)

    seen = await in_turns(chosen(state.memories.values(), is_seen))
    return await worker.entity_reader.read(held.owner, seen)


def _entity_row(entity: Entity) -> dict[str, Any]:
    return {
        "entity_id": entity.entity_id,
        "name": entity.name,
        "kind": entity.kind,
        "aliases": entity.aliases,
        "memories": len(entity.memories),
        "first_at": instant(entity.memories[0].occurred_at),
        "last_at": instant(entity.memories[-1].occurred_at),
    }


@router.get("/users/{user_id:text}/stats", response_model=responses.Stats)
async def stats(owner: OwnerInPath, worker: CurrentWorker, agent_id: Id | None = None) -> Response:
    """Count a user's active memories: all, or those that an agent knows."""
    held, now = worker.shards.resolve(owner), worker.clock.now()
    state = await worker.queries.state(held, now)
    memories = await worker.queries.memories(state, Filters(agent_id=agent_id), now)
    return answer(
        {
            "total": len(memories),
            "by_type": Counter(memory.memory_type for memory in memories),
            "by_category": Counter(memory.category for memory in memories),
        }
    )


@router.get("/sessions/{session_id:text}/turns", response_model=responses.Turns)
async def turns(
    *,
    session_id: str,
    worker: CurrentWorker,
    tenant: Tenant,
    user_id: UserOrOwner = DEFAULT_USER,
    agent_id: Id | None = None,
    limit: Annotated[int, Query(ge=1, le=MAX_PAGE_SIZE)] = 20,
) -> Response:
    """Return working memory: a session's most recent turns as published, of all or of an agent's, oldest first."""
    held = worker.shards.resolve(Owner(tenant, user_id))
    await fold_turns(worker.log, worker.shards, held)  # include the turns that were accepted a moment ago
    return answer({"items": recent_turns(worker.queries, held, session_id, limit, agent_id)})


async def fold_turns(log: Log, shards: Shards, held: Held) -> None:
    """Fold the turns of a user's partition to their end, or as far as the log answers in time. Raises NotHeld."""
    partition = held.partition
    shards.at(partition)  # raises NotHeld at once if another worker holds them
    with suppress(TimeoutError, LogUnavailable, ShardUnavailable):
        async with asyncio.timeout(FOLD_SECONDS):
            end = await log.end(CONVERSATIONS.name, partition)
            await shards.up_to(CONVERSATIONS.name, partition, end)


def recent_turns(
    queries: Queries, held: Held, session_id: str, limit: int, agent_id: str | None = None
) -> list[dict[str, Any]]:
    """Return a session's most recent turns as JSON, oldest first."""
    return [_turn(turn) for turn in queries.turns(held, session_id, limit, agent_id)]


def _turn(turn: Turn) -> dict[str, Any]:
    message = turn.message
    return {
        "event_id": message.envelope.event_id,
        "agent_id": message.envelope.agent_id,
        "session_id": message.session_id,
        "role": message.role,
        "name": message.name,
        "content": message.content,
        "infer": message.infer,
        "context": None if message.context is None else asdict(message.context),
        "metadata": orjson.loads(message.metadata),
        "occurred_at": instant(message.envelope.occurred_at),
        "recorded_at": instant(turn.recorded_at),
    }
