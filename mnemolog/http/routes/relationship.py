"""How user and agent get on: feelings over time, what lies ahead, and how it developed."""

from typing import Annotated, Any

from fastapi import Query, Response

from mnemolog.http.dependencies import Held, Tenant
from mnemolog.http.models import context_responses as shapes
from mnemolog.http.models.context_requests import EmotionsAsked, ReportAsked, UpcomingAsked
from mnemolog.http.routes.agents import follow_turns
from mnemolog.http.routing import answer, routes
from projections.profile.dates import Ahead
from projections.profile.dates import upcoming as ahead_of
from projections.profile.relationship import feeling_view, feelings, feelings_summary
from projections.profile.relationship import report as report_of
from schemas.identity import Owner, check_user_id
from schemas.instant import instant

router = routes("agents", "/v1/users")


@router.get("/{user_id:text}/emotions", response_model=shapes.Emotions)
async def emotions(user_id: str, asked: Annotated[EmotionsAsked, Query()], worker: Held, tenant: Tenant) -> Response:
    """Return feelings over time, oldest first, with counts over all of them."""
    owner, now = Owner(tenant, check_user_id(user_id)), worker.clock.now()
    memories = worker.queries.state(owner, now, asked.as_of).memories.values()
    felt = [
        memory
        for memory in feelings(memories, asked.as_of or now, asked.agent_id)
        if (asked.since is None or memory.occurred_at >= asked.since)
        and (asked.until is None or memory.occurred_at <= asked.until)
    ]
    begin = (asked.page - 1) * asked.page_size
    page = {"total": len(felt), "page": asked.page, "page_size": asked.page_size}
    items = [feeling_view(memory) for memory in felt[begin : begin + asked.page_size]]
    return answer({"items": items} | page | feelings_summary(felt))


@router.get("/{user_id:text}/upcoming", response_model=shapes.Upcoming)
async def upcoming(user_id: str, asked: Annotated[UpcomingAsked, Query()], worker: Held, tenant: Tenant) -> Response:
    """Return dated plans and days that come back every year, the nearest first; days are those of UTC."""
    owner, now = Owner(tenant, check_user_id(user_id)), worker.clock.now()
    at = asked.as_of or now
    memories = worker.queries.state(owner, now, asked.as_of).memories.values()
    found = ahead_of(memories, at, asked.days, asked.agent_id)
    items = [_ahead(one) for one in found[: asked.limit]]
    return answer({"items": items, "total": len(found), "as_of": instant(at)})


@router.get("/{user_id:text}/report", response_model=shapes.Report)
async def report(user_id: str, asked: Annotated[ReportAsked, Query()], worker: Held, tenant: Tenant) -> Response:
    """Return how the relationship developed, month by month; `lang=zh` names event types in Luna's words."""
    owner, now = Owner(tenant, check_user_id(user_id)), worker.clock.now()
    await follow_turns(worker, owner)
    at = asked.as_of or now
    memories = worker.queries.state(owner, now, asked.as_of).memories.values()
    intimacies = worker.queries.turn_statistics(owner).intimacies(owner, asked.agent_id, at)
    return answer(report_of(memories, intimacies, at, asked.agent_id, asked.lang))


def _ahead(one: Ahead) -> dict[str, Any]:
    return {
        "date": one.day.isoformat(),
        "kind": one.kind,
        "name": one.name,
        "years": one.years,
        "content": one.memory.content,
        "category": one.memory.category,
        "agent_id": one.memory.agent_id,
        "memory_id": one.memory.memory_id,
    }
