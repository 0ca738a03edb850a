"""The MCP server's route: streamable HTTP without sessions, so every message is an independent request."""

import asyncio
from http import HTTPStatus
from typing import Annotated, Final

from fastapi import Depends, Query, Request, Response

from mnemolog.http.dependencies import Caller, CurrentWorker
from mnemolog.http.models.requests import AppId, Id, UserOrOwner
from mnemolog.http.permissions import OF_MODELS, default_user
from mnemolog.http.problems import InvalidRequest, Problem
from mnemolog.http.routing import query_faults, routes
from mnemolog.http.tool_definitions import CALLER_FIELDS

MISSING: Final = (
    "MCP needs a package that this server does not have: install mnemolog there with the extra mcp "
    "(in a checkout pip install '.[mcp]'), and start it again"
)
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
    """Return the answer. Raises Problem if the extra is not installed."""
    try:
        from mnemolog.extensions.mcp.server import Caller, Exchange  # noqa: PLC0415 - slow to import, and rarely used
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in {"mcp", "mcp_types"}:
            raise
        raise Problem(HTTPStatus.NOT_IMPLEMENTED, MISSING) from None
    return Exchange(Caller(request, user_id, agent_id, app_id))
