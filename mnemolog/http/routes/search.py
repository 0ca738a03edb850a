"""Search over HTTP: a user's memories and global ones; results that an agent sees are noted as recalls."""

from collections.abc import Callable, Mapping
from datetime import datetime, tzinfo
from functools import partial
from typing import Any, Final

from fastapi import Response

from mnemolog.http.dependencies import CurrentWorker, Tenant
from mnemolog.http.models import responses
from mnemolog.http.models.requests import Search
from mnemolog.http.permissions import OF_USERS, reads
from mnemolog.http.routing import answer, routes, takes_long
from mnemolog.http.tracing import note_found
from mnemolog.worker.worker import Worker
from projections.profile.upcoming import when
from projections.queries.answers import SearchResult
from projections.queries.explanation import count_cuts, order_of
from projections.queries.filters import Filters
from projections.queries.relevance import load
from projections.queries.search import Found, FoundTurn, Question
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
    """Find memories and turns by words and by meaning; importance and recency weigh lightly.

    `relevance` says how likely each is about the question, `evidence` whether anything is. While the embedder cannot be
    reached it finds by words alone, and `degraded` says so.
    """
    return await found(body, worker, tenant, least=body.min_relevance)


async def found(body: Search, worker: Worker, tenant: str, *, least: float | None, note: str = "") -> Response:
    """Return the results of a search whose relevance is at least `least`; None takes the line of the answer.

    `note` is added to an answer without results.
    """
    now, held = worker.clock.now(), worker.shards.resolve(Owner(tenant, body.user_id))
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
        await held.load()
        visibility = worker.contexts.visibility(held, body.agent_id)
        results: SearchResult[Any]
        if "turns" in body.include:
            with_memories = "memories" in body.include
            results = await worker.queries.search_said(
                held, question, now=now, with_memories=with_memories, visibility=visibility
            )
        else:
            results = await worker.queries.search(held, question, now=now, visibility=visibility)
        everything, results = results, results.least(results.line if least is None else least)
    worker.metrics.counted("query", "found" if results.found else "nothing")
    note_found(body.query, results.found)
    # A search of the past is not a recall, and a recall of a global memory would belong to no user.
    shown = [f.memory.memory_id for f in results.found if isinstance(f, Found) and not f.owner.is_global]
    if body.recall and shown and at >= now:
        worker.recalls.note(held.owner, shown, now)
    known, zone = held.state.memories, partial(worker.queries.zone_of, held)
    views = [
        result(one, at, relevance, zone, known) | {"below_line": relevance < results.line}
        for one, relevance in results.rated
    ]
    noted: dict[str, Any] = {"note": note} if note and not views else {}
    if body.explain:
        for view, one in zip(views, results.found, strict=True):
            view["why"] = order_of(results.pool, one)
        sees = worker.queries.sees(held, visibility)
        noted["cut"] = await count_cuts(everything, results.found, question, sees, body.include)
    return answer({"results": views} | told(results) | noted | degraded(worker, held.owner, results))


def told(results: SearchResult[Any]) -> dict[str, Any]:
    """Return the parts of an answer about all its results: whether they are evidence, and the line and model used."""
    return {"evidence": results.evidence, "line": results.line, "relevance_version": load().version}


def degraded(worker: Worker, owner: Owner, results: SearchResult[Any]) -> dict[str, list[str]]:
    """Return the parts of a search's scores that were missing, as the answer reports them, and count the search.

    A search among memories of an `owner` whose vectors are from another encoder also counts as degraded.
    """
    by_words = results.by_words or bool(worker.vector_spaces.foreign(owner))
    if by_words:
        worker.metrics.searched_by_words()
    parts = [name for name, lacks in (("semantic", by_words), ("turns", results.lacks_turns)) if lacks]
    return {"degraded": parts} if parts else {}


def id_of(found: Found | FoundTurn) -> str:
    """Return the id of a memory or turn in the results."""
    return found.memory.memory_id if isinstance(found, Found) else found.turn.message.envelope.event_id


def result(
    found: Found | FoundTurn,
    at: datetime,
    relevance: float,
    zone_of: Callable[[], tzinfo],
    memories: Mapping[str, Memory] = NO_MEMORIES,
) -> dict[str, Any]:
    """Return a memory or turn in the results, with its scores, as of an instant.

    `memories` are the user's: the memory that superseded another tells until when that one was true. `zone_of` returns
    the time zone of the user's days.
    """
    if isinstance(found, FoundTurn):
        return turn_view(found) | {"relevance": relevance}
    view, ranked = dated_view(found.owner, found.memory, memories, at), found.ranked
    scores = {name: getattr(ranked, name) for name in ("semantic", "keyword", "importance", "recency")}
    ours = {"memory_id": view["memory_id"], "memory": view["content"], "score": ranked.score, "scores": scores}
    ours["relevance"] = relevance
    if planned := when(found.memory, at, zone_of):
        ours["when"] = planned
    return ours | {"cosine": ranked.cosine} | view
