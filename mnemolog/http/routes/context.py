"""Context and greeting: the information that an agent requests before it speaks."""

from collections.abc import Callable, Iterator
from dataclasses import fields
from datetime import datetime, tzinfo
from functools import partial
from typing import Any, Final

from fastapi import Response

from mnemolog.commands.recalls import Recalls
from mnemolog.http.dependencies import Caller, CurrentWorker, Tenant
from mnemolog.http.models import context_responses as shapes
from mnemolog.http.models.context_requests import Context, Greeting
from mnemolog.http.permissions import OF_USERS, reads
from mnemolog.http.routes.agents import fold_turns, recent_turns
from mnemolog.http.routes.search import degraded, id_of, result, told
from mnemolog.http.routing import answer, routes
from mnemolog.http.tracing import note_found
from mnemolog.log.deadline import suspend_deadline
from projections.queries.context import ContextAsked
from projections.queries.filters import Filters
from projections.queries.prompt import MemoryContext
from projections.queries.search import Found
from projections.queries.views import memory_view
from schemas.identity import Owner, derived_id

router = routes("agents", "/v1", OF_USERS)
NAMES: Final = frozenset({"role", "event_id", "session_id", "agent_id", "occurred_at", "recorded_at"})
"""The fields of a turn that identify it, as opposed to its words."""
ASKED: Final = ({field.name for field in fields(ContextAsked)} & Context.model_fields.keys()) - {"filters"}
"""The fields of a context that are taken from the body unchanged."""


@router.post("/context", response_model=shapes.Context)
@reads
async def context(body: Context, worker: CurrentWorker, caller: Caller, tenant: Tenant) -> Response:
    """Return Luna's MemoryContext, and what it is in Luna's prompt, in Evatar's block and in PowerMem's message.

    While the embedder cannot be reached, what is found for the query is found by words alone, and `degraded` says so.
    """
    owner, working = Owner(tenant, body.user_id), body.working_memory
    held = worker.shards.resolve(owner)
    if working is None or body.intimacy is None:
        await fold_turns(worker.log, worker.shards, held)  # include turns that were accepted a moment ago
    if working is None:
        session_id = body.session_id or derived_id("session", tenant, body.user_id, body.agent_id or "")
        turns = recent_turns(worker.queries, held, session_id, body.history_limit)
        working = [turn for turn in turns if caller.has_agent(turn["agent_id"])]
    now = worker.clock.now()
    if body.include_global:
        await worker.fold_globals()
    scoped = dict(body.filters.within(app_id=body.app_id))
    with worker.metrics.timed("query"), suspend_deadline():  # the query is embedded, perhaps remotely
        asked = ContextAsked(
            **{n: getattr(body, n) for n in ASKED},
            filters=Filters(**scoped),
            language=None if body.lang == "auto" else body.lang,
            with_memories="memories" in body.include,
            with_turns="turns" in body.include,
        )
        memory_context = await worker.contexts.context(held, asked, now)
    worker.metrics.counted("query", "found" if memory_context.memories or memory_context.turns else "nothing")
    note_found(body.query, [*memory_context.memories, *memory_context.relevant_episodes])
    if body.recall:
        _note_recalls(worker.recalls, owner, [*memory_context.memories, *memory_context.relevant_episodes], now)
    view = _context_view(owner, memory_context, working, now, partial(worker.queries.zone_of, held))
    if memory_context.result is None:
        return answer(view)
    return answer(view | told(memory_context.result) | degraded(worker, owner, memory_context.result))


@router.post("/greeting", response_model=shapes.Greeting)
@reads
async def greeting(body: Greeting, worker: CurrentWorker, tenant: Tenant) -> Response:
    """Greet a user by what is known; empty when that is nothing, or the model does not answer in time."""
    held = worker.shards.resolve(Owner(tenant, body.user_id))
    await fold_turns(worker.log, worker.shards, held)
    with suspend_deadline():
        text = await worker.greeting.greet(held, body.agent_id, worker.clock.now())
    return answer({"greeting": text})


def _note_recalls(recalls: Recalls, owner: Owner, results: list[Found], now: datetime) -> None:
    """Note the results of the query as recalls; parts that every context of the user has are not recalls."""
    shown = dict.fromkeys(found.memory.memory_id for found in results if not found.owner.is_global)
    if shown:
        recalls.note(owner, shown, now)


def _context_view(
    owner: Owner, context: MemoryContext, working: list[dict[str, Any]], at: datetime, zone_of: Callable[[], tzinfo]
) -> dict[str, Any]:
    relevance = {id_of(one): value for one, value in context.result.rated} if context.result is not None else {}
    return {
        "user_profile": context.user_profile,
        "relevant_episodes": [
            {**memory_view(found.owner, found.memory, at), "similarity": found.ranked.cosine}
            for found in context.relevant_episodes
        ],
        "recent_episodes": [memory_view(owner, memory, at) for memory in context.recent_episodes],
        "working_memory": [turn for turn in working if not context.hides("\n".join(_texts(turn)))],
        "memories": [result(found, at, relevance[id_of(found)], zone_of) for found in context.memories],
        "turns": [result(found, at, relevance[id_of(found)], zone_of) for found in context.turns],
        "total_memories": context.total_memories,
        "prompt": context.prompt,
        "block": context.block,
        "message": context.message,
        "text": context.text,
    }


def _texts(turn: dict[str, Any]) -> Iterator[str]:
    """Yield every text in a turn, whatever its structure."""
    left: list[Any] = [value for name, value in turn.items() if name not in NAMES]
    while left:
        part = left.pop()
        if isinstance(part, str):
            yield part
        elif isinstance(part, dict | list):
            left.extend(part.values() if isinstance(part, dict) else part)
