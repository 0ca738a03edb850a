"""The feed of changes over HTTP."""

from typing import Annotated

from fastapi import Query, Response

from mnemolog.changes.feed import ChangesWanted
from mnemolog.http.changes.models import Changes, ChangesAsked
from mnemolog.http.dependencies import CurrentWorker, Tenant
from mnemolog.http.permissions import OF_USERS_OR_ALL
from mnemolog.http.routing import answer, routes

router = routes("changes", "/v1", OF_USERS_OR_ALL)


@router.get("/changes", response_model=Changes)
async def changes(query: Annotated[ChangesAsked, Query()], worker: CurrentWorker, tenant: Tenant) -> Response:
    """Return what happened to memories after a cursor, of a user or of everybody, whichever worker has them."""
    wanted = ChangesWanted(tenant=tenant, user_id=query.user_id, agent_id=query.agent_id, type=query.type)
    return answer(await worker.change_feed.page(wanted, query.after, query.limit))
