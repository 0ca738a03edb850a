"""What an agent is told before it speaks: the context of its next answer, and a greeting."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from fastapi import Response

from mnemolog.commands.recalls import Recalls
from mnemolog.http.dependencies import CurrentWorker, Tenant
from mnemolog.http.models import context_responses as shapes
from mnemolog.http.models.context_requests import Context, Greeting
from mnemolog.http.routes.agents import follow_turns, recent_turns
from mnemolog.http.routes.search import result
from mnemolog.http.routing import answer, reads, routes
from mnemolog.log.deadline import suspend_deadline
from projections.queries.context import ContextAsked
from projections.queries.prompt import MemoryContext
from projections.queries.search import Found
from projections.queries.views import memory_view
from schemas.identity import Owner, derived_id

router = routes("agents", "/v1")
NAMES: Final = frozenset({"role", "event_id", "session_id", "agent_id", "occurred_at", "recorded_at"})
"""Of a turn, what says whose it is and not what was said."""


@router.post("/context", response_model=shapes.Context)
@reads
async def context(asked: Context, worker: CurrentWorker, tenant: Tenant) -> Response:
    """Return Luna's MemoryContext, and what it is in Luna's prompt, in Evatar's block and in PowerMem's message."""
    owner, working = Owner(tenant, asked.user_id), asked.working_memory
    if working is None or asked.intimacy is None:
        await follow_turns(worker.log, worker.shards, owner)  # those of a moment ago count too
    if working is None:
        session_id = asked.session_id or derived_id("session", tenant, asked.user_id, asked.agent_id or "")
        working = recent_turns(worker.queries, owner, session_id, asked.history_limit)
    now = worker.clock.now()
    if asked.include_global:
        await worker.follow_globals()
    names = ("query", "agent_id", "tier", "intimacy", "include_global", "top_k", "memory_limit", "similarity_threshold")
    with worker.metrics.timed("query"), suspend_deadline():  # the query is embedded, perhaps far away
        found = await worker.contexts.context(owner, ContextAsked(**{n: getattr(asked, n) for n in names}), now)
    worker.metrics.counted("query", "found" if found.memories else "nothing")
    if asked.recall:
        _report(worker.recalls, owner, [*found.memories, *found.relevant_episodes], now)
    return answer(_told(owner, found, working, now))


@router.post("/greeting", response_model=shapes.Greeting)
@reads
async def greeting(asked: Greeting, worker: CurrentWorker, tenant: Tenant) -> Response:
    """Greet a user by what is known; empty when that is nothing, or the model does not answer in time."""
    owner = Owner(tenant, asked.user_id)
    await follow_turns(worker.log, worker.shards, owner)
    with suspend_deadline():
        said = await worker.greeting.greet(owner, asked.agent_id, worker.clock.now())
    return answer({"greeting": said})


def _report(recalls: Recalls, owner: Owner, found: list[Found], now: datetime) -> None:
    """Report what was found for the query as recalled; what stands in every context of the user is no meeting."""
    shown = dict.fromkeys(f.memory.memory_id for f in found if not f.owner.is_global)
    if shown:
        recalls.note(owner, shown, now)


def _told(owner: Owner, found: MemoryContext, working: list[dict[str, Any]], at: datetime) -> dict[str, Any]:
    return {
        "user_profile": found.user_profile,
        "relevant_episodes": [
            {**memory_view(one.owner, one.memory, at), "similarity": one.ranked.cosine}
            for one in found.relevant_episodes
        ],
        "recent_episodes": [memory_view(owner, memory, at) for memory in found.recent_episodes],
        "working_memory": [turn for turn in working if not found.hides("\n".join(_words(turn)))],
        "memories": [result(one, at) for one in found.memories],
        "total_memories": found.total_memories,
        "prompt": found.prompt,
        "block": found.block,
        "message": found.message,
    }


def _words(turn: dict[str, Any]) -> Iterator[str]:
    """Yield every text in a turn, however it is shaped."""
    left: list[Any] = [value for name, value in turn.items() if name not in NAMES]
    while left:
        part = left.pop()
        if isinstance(part, str):
            yield part
        elif isinstance(part, dict | list):
            left.extend(part.values() if isinstance(part, dict) else part)
