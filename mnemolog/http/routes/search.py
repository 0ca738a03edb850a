"""Search over HTTP: a question to a user's memories and the shared ones; what an agent was shown is reported."""

from datetime import datetime
from typing import Any

from fastapi import Response

from mnemolog.http.dependencies import Held, Tenant
from mnemolog.http.models import responses
from mnemolog.http.models.requests import Search
from mnemolog.http.routing import answer, routes
from projections.queries.filters import Filters
from projections.queries.search import Found
from projections.queries.views import memory_view
from schemas.identity import Owner

router = routes("memories")


@router.post("/v1/search", response_model=responses.Results)
async def search(asked: Search, worker: Held, tenant: Tenant) -> Response:
    """Find memories by words and by meaning; importance and recency weigh lightly."""
    now, owner = worker.clock.now(), Owner(tenant, asked.user_id)
    at = asked.as_of or now
    with worker.metrics.timed("query"):
        if asked.scope == "global" or asked.include_global:
            await worker.follow_globals()
        found = await worker.queries.search(
            owner,
            asked.query,
            Filters(agent_id=asked.agent_id, **asked.filters.model_dump()),
            now=now,
            as_of=asked.as_of,
            limit=asked.limit,
            scope=asked.scope,
            include_global=asked.include_global,
            min_score=asked.min_score,
        )
    worker.metrics.counted("query", "found" if found else "nothing")
    # A look into the past was no meeting with the memory; global memories are everybody's, so nobody's recall counts.
    shown = [f.memory.memory_id for f in found if not f.owner.is_global]
    if asked.recall and shown and at >= now:
        worker.recalls.note(owner, shown, now)
    return answer({"results": [result(one, at) for one in found]})


def result(found: Found, at: datetime) -> dict[str, Any]:
    """Return a memory that was found, with its scores, as it is shown at an instant."""
    view, ranked = memory_view(found.owner, found.memory, at), found.ranked
    scores = {name: getattr(ranked, name) for name in ("semantic", "keyword", "importance", "recency")}
    ours = {"memory_id": view["memory_id"], "memory": view["content"], "score": ranked.score, "scores": scores}
    return ours | view
