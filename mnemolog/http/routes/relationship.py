"""The relationship of user and agent: feelings over time, coming dates, and a report by month."""

from typing import Annotated, Any

from fastapi import Query, Response

from mnemolog.http.dependencies import CurrentWorker, OwnerInPath
from mnemolog.http.models import context_responses as shapes
from mnemolog.http.models.context_requests import EmotionsAsked, ReportAsked, UpcomingAsked
from mnemolog.http.permissions import OF_USERS
from mnemolog.http.routes.agents import fold_turns
from mnemolog.http.routing import answer, page_of, routes
from projections.profile.relationship import feeling_view, feelings, feelings_summary
from projections.profile.relationship import report as report_of
from projections.profile.upcoming import Ahead
from projections.profile.upcoming import upcoming as ahead_of
from projections.turns import aside
from schemas.instant import instant

router = routes("agents", "/v1/users", OF_USERS)


@router.get("/{user_id:text}/emotions", response_model=shapes.Emotions)
async def emotions(owner: OwnerInPath, query: Annotated[EmotionsAsked, Query()], worker: CurrentWorker) -> Response:
    """Return feelings over time, oldest first, with counts over all of them."""
    held, now = worker.shards.resolve(owner), worker.clock.now()
    memories = (await worker.queries.state(held, now, query.as_of)).memories
    felt = [
        memory
        for memory in await aside(len(memories), feelings, memories.values(), query.as_of or now, query.agent_id)
        if (query.since is None or memory.occurred_at >= query.since)
        and (query.until is None or memory.occurred_at <= query.until)
    ]
    return answer(page_of(felt, feeling_view, query.page, query.page_size) | feelings_summary(felt))


@router.get("/{user_id:text}/upcoming", response_model=shapes.Upcoming)
async def upcoming(owner: OwnerInPath, query: Annotated[UpcomingAsked, Query()], worker: CurrentWorker) -> Response:
    """Return dated plans and days that come back every year, the nearest first; days are those of where the user is."""
    held, now = worker.shards.resolve(owner), worker.clock.now()
    at = query.as_of or now
    await fold_turns(worker.log, worker.shards, held)  # the last turn may tell where the user is
    memories = (await worker.queries.state(held, now, query.as_of)).memories
    zone = worker.queries.zone_of(held)
    dates = await aside(len(memories), ahead_of, memories.values(), at, query.days, query.agent_id, zone)
    items = [_ahead(ahead) for ahead in dates[: query.limit]]
    return answer({"items": items, "total": len(dates), "as_of": instant(at)})


@router.get("/{user_id:text}/report", response_model=shapes.Report)
async def report(owner: OwnerInPath, query: Annotated[ReportAsked, Query()], worker: CurrentWorker) -> Response:
    """Return how the relationship developed, month by month; `lang=zh` names event types in Luna's words."""
    held, now = worker.shards.resolve(owner), worker.clock.now()
    await fold_turns(worker.log, worker.shards, held)
    at = query.as_of or now
    memories = (await worker.queries.state(held, now, query.as_of)).memories
    intimacies = worker.queries.turn_statistics(held).intimacies(held.owner, query.agent_id, at)
    made = await aside(len(memories), report_of, memories.values(), intimacies, at, query.agent_id, query.lang)
    return answer(made)


def _ahead(ahead: Ahead) -> dict[str, Any]:
    return {
        "date": ahead.day.isoformat(),
        "at": instant(ahead.at),
        "kind": ahead.kind,
        "name": ahead.name,
        "years": ahead.years,
        "content": ahead.memory.content,
        "category": ahead.memory.category,
        "agent_id": ahead.memory.agent_id,
        "memory_id": ahead.memory.memory_id,
    }
