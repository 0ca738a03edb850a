"""The feed of changes over HTTP."""

from functools import partial
from typing import Annotated

from fastapi import Header, Query, Request, Response
from fastapi.responses import StreamingResponse

from mnemolog.changes.feed import ChangesWanted
from mnemolog.http.authentication import is_still_valid
from mnemolog.http.changes.models import MAX_CURSOR_CHARACTERS, Changes, ChangesAsked, ChangesStreamed
from mnemolog.http.dependencies import CurrentWorker, Tenant
from mnemolog.http.permissions import OF_USERS_OR_ALL
from mnemolog.http.routing import EVENTS, answer, event_stream, routes, takes_long

router = routes("changes", "/v1", OF_USERS_OR_ALL)


@router.get("/changes", response_model=Changes)
async def changes(query: Annotated[ChangesAsked, Query()], worker: CurrentWorker, tenant: Tenant) -> Response:
    """Return what happened to memories after a cursor, for one user or all, on whichever worker."""
    wanted = _wanted(tenant, query)
    return answer(await worker.change_feed.page(wanted, query.after, query.limit))


@router.get("/changes/stream", response_class=StreamingResponse, responses=EVENTS)
@takes_long
async def streamed(
    query: Annotated[ChangesStreamed, Query()],
    request: Request,
    worker: CurrentWorker,
    tenant: Tenant,
    last_event_id: Annotated[
        str | None, Header(max_length=MAX_CURSOR_CHARACTERS, description="go on behind this")
    ] = None,
) -> Response:
    """Stream changes as they happen, as events named by type; resume after `Last-Event-ID`."""
    wanted = _wanted(tenant, query)
    cursor = await worker.change_streams.begin(wanted, last_event_id or query.after)
    events = worker.change_streams.stream(wanted, cursor, may_go_on=partial(is_still_valid, request.scope))
    return event_stream(events)


def _wanted(tenant: str, query: ChangesStreamed) -> ChangesWanted:
    return ChangesWanted(tenant=tenant, user_id=query.user_id, agent_id=query.agent_id, types=query.wanted_types)
