"""The MCP server's route: streamable HTTP without sessions, so every message is an independent request."""

import asyncio
from typing import Annotated

from fastapi import Depends, Query, Request, Response

from mnemolog.http.dependencies import Caller, CurrentWorker
from mnemolog.http.models.requests import AppId, Id, UserOrOwner
from mnemolog.http.permissions import OF_MODELS, default_user
from mnemolog.http.problems import InvalidRequest
from mnemolog.http.routing import query_faults, routes
from mnemolog.http.tool_definitions import CALLER_FIELDS

router = routes("mcp", access=OF_MODELS, checks_query=False)  # not in the OpenAPI document


async def _known_here(request: Request) -> None:
    """Refuse unknown query parameters. Raises Problem."""
    faults = query_faults(request, CALLER_FIELDS)
    if faults:
        raise InvalidRequest(*faults)


@router.post("/mcp", include_in_schema=False, dependencies=[Depends(_known_here)])
async def exchange(
    *,
    request: Request,
    worker: CurrentWorker,  # noqa: ARG001 - like every route, only with a started worker
    caller: Caller,
    user_id: Annotated[UserOrOwner | None, Query()] = None,
    agent_id: Annotated[Id | None, Query()] = None,
    app_id: Annotated[AppId | None, Query()] = None,
) -> Response:
    """Answer one message of an MCP client; the URL names the owner of the memory."""
    whose = default_user(caller, OF_MODELS) if user_id is None else user_id
    return await asyncio.to_thread(_exchange, request, whose, agent_id, app_id)  # the import would block the event loop


def _exchange(request: Request, user_id: str, agent_id: str | None, app_id: str | None) -> Response:
    from mnemolog.http.mcp.server import Caller, Exchange  # noqa: PLC0415 - slow to import, and rarely used

    return Exchange(Caller(request, user_id, agent_id, app_id))
