"""Counts over a tenant: the users, agents, sessions and applications that memories name, and the number of each."""

from typing import Annotated, Final

from fastapi import Query, Response
from pydantic import Field

from mnemolog.http.dependencies import CurrentWorker, Tenant
from mnemolog.http.models.requests import Asked, Id
from mnemolog.http.models.responses import Shape
from mnemolog.http.permissions import OF_USERS_OR_ALL
from mnemolog.http.routing import answer, routes
from projections.queries.tenant.memories import Counted, Grouping, Wanted

router = routes("agents", "/v1", OF_USERS_OR_ALL)
MOST_NAMES: Final = 1_000


class NamesAsked(Asked):
    """What to count by, and of which memories."""

    by: Grouping
    agent_id: Id | None = None
    session_id: Id | None = None
    app_id: Annotated[Id, Field(description="what their metadata has as `app_id`")] | None = None
    after: Annotated[str, Field(max_length=256, description="`next` of the page before")] = ""
    limit: Annotated[int, Field(ge=1, le=MOST_NAMES)] = 100


class NamedCount(Shape):
    """How many active memories name one user, agent, session or application."""

    name: str
    memories: int
    first_at: str
    last_at: str


class NamedCounts(Shape):
    """One page of names, in order; `next` is where the following one begins."""

    items: list[NamedCount]
    next: str | None


@router.get("/stats", response_model=NamedCounts)
async def stats(query: Annotated[NamesAsked, Query()], worker: CurrentWorker, tenant: Tenant) -> Response:
    """Count the active memories of all users by user, agent, session or application."""
    wanted = Wanted(tenant=tenant, now=worker.clock.now())
    return answer(await worker.tenant_memories.by_name(wanted, Counted(**dict(query))))
