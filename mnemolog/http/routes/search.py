"""Search over HTTP: memories of a user and global ones; the memories that an agent is shown are noted as recalls."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from fastapi import Response

from mnemolog.http.dependencies import CurrentWorker, Tenant
from mnemolog.http.models import responses
from mnemolog.http.models.requests import Search
from mnemolog.http.permissions import OF_USERS, reads
from mnemolog.http.routing import answer, routes, takes_long
from mnemolog.http.tracing import note_found
from mnemolog.worker.worker import Worker
from projections.queries.filters import Filters
from projections.queries.search import Found, FoundTurn, Question, SearchResult
from projections.queries.validity import dated_view
from projections.queries.views import turn_view
from projections.state.memory import Memory
from schemas.identity import Owner

router = routes("memories", access=OF_USERS)
NO_MEMORIES: Final[Mapping[str, Memory]] = {}


@router.post("/v1/search", response_model=responses.Results)
@reads
@takes_long
async def search(body: Search, worker: CurrentWorker, tenant: Tenant) -> Response:
    """Find memories by words and by meaning, and turns by their words; importance and recency weigh lightly.

    While the embedder cannot be reached it finds by words alone, and `degraded` says so.
    """
    now, owner = worker.clock.now(), Owner(tenant, body.user_id)
    at = body.as_of or now
    with worker.metrics.timed("query"):
        if body.scope == "global" or body.include_global:
            await worker.fold_globals()
        scoped = body.filters.within(app_id=body.app_id, about=body.about, speaker=body.speaker)
        filters = Filters(
            agent_id=body.agent_id,
            session_id=body.session_id,
            attribute=body.attribute,
            exclude_sources=body.exclude_sources,
            **dict(scoped),
        )
        question = Question(
            text=body.query,
            filters=filters,
            as_of=body.as_of,
            limit=body.limit,
            scope=body.scope,
            include_global=body.include_global,
            min_score=body.min_score,
            understand_time=body.understand_time,
            hops=body.hops,
        )
        results: SearchResult[Any]
        await worker.shards.load(owner)
        visibility = worker.contexts.visibility(owner, body.agent_id)
        if "turns" in body.include:
            with_memories = "memories" in body.include
            results = await worker.queries.search_said(
                owner, question, now=now, with_memories=with_memories, visibility=visibility
            )
        else:
            results = await worker.queries.search(owner, question, now=now, visibility=visibility)
    worker.metrics.counted("query", "found" if results.found else "nothing")
    note_found(body.query, results.found)
    # A search of the past is no recall, and global memories have no user whose recall it would be.
    shown = [f.memory.memory_id for f in results.found if isinstance(f, Found) and not f.owner.is_global]
    if body.recall and shown and at >= now:
        worker.recalls.note(owner, shown, now)
    known = worker.shards.state(owner).memories
    shape = {"results": [result(found, at, known) for found in results.found]}
    return answer(shape | degraded(worker, owner, by_words=results.by_words))


def degraded(worker: Worker, owner: Owner | None, *, by_words: bool) -> dict[str, list[str]]:
    """Return what an answer says about a search that had to do without a part of its scores, and count it.

    So did one among memories of an `owner` whose vectors another encoder has made.
    """
    if not by_words and (owner is None or not worker.vector_spaces.foreign(owner)):
        return {}
    worker.metrics.searched_by_words()
    return {"degraded": ["semantic"]}


def result(found: Found | FoundTurn, at: datetime, memories: Mapping[str, Memory] = NO_MEMORIES) -> dict[str, Any]:
    """Return a memory or a turn that was found, with its scores, as it is shown at an instant.

    `memories` are the user's: what superseded a memory says until when that was true.
    """
    if isinstance(found, FoundTurn):
        return turn_view(found)
    view, ranked = dated_view(found.owner, found.memory, memories, at), found.ranked
    scores = {name: getattr(ranked, name) for name in ("semantic", "keyword", "importance", "recency")}
    ours = {"memory_id": view["memory_id"], "memory": view["content"], "score": ranked.score, "scores": scores}
    return ours | {"cosine": ranked.cosine} | view
