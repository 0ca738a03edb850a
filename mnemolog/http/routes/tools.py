"""The two tools over HTTP: their schemas for a model, and their calls, which are answered like the memory routes."""

from http import HTTPStatus
from typing import Annotated, Any, Literal, get_args

from fastapi import Response
from pydantic import Field

from mnemolog.access.principal import Principal
from mnemolog.http.dependencies import Caller, CommandId, CurrentWorker, Tenant
from mnemolog.http.models import responses
from mnemolog.http.models.body import FromModel
from mnemolog.http.models.memory_requests import NewMemory, Whom
from mnemolog.http.models.requests import (
    MAX_FOUND,
    About,
    AppId,
    Content,
    Id,
    Included,
    MinRelevance,
    Question,
    Search,
    SpokenBy,
    UserOrOwner,
)
from mnemolog.http.permissions import DESCRIPTION, OF_TOOLS, default_user, needs, reads
from mnemolog.http.routes import memories, search
from mnemolog.http.routing import answer, answers, refused, routes, takes_long
from mnemolog.http.tool_definitions import NOTHING_KNOWN, TOOLS
from schemas.inputs.input_events import DEFAULT_USER
from schemas.vocabulary.words import Category, MemoryType, Scope

router = routes("agents", "/v1/tools", OF_TOOLS)


class Tools(responses.Shape):
    """The `tools` of a chat completion, as a model gets them."""

    tools: list[dict[str, Any]]


class MemoryAdd(FromModel):
    """The arguments of memory_add, and whose agent calls it."""

    user_id: UserOrOwner = DEFAULT_USER
    agent_id: Id | None = None
    app_id: AppId | None = None
    content: Content
    about: Whom | None = None
    scope: Scope = "personal"
    memory_type: MemoryType = "long_term"
    type: Annotated[
        str,
        Field(min_length=1, max_length=64, description="a category; another word is kept as metadata of a fact"),
    ] = "fact"
    session_id: Id | None = None


class MemorySearch(FromModel):
    """The arguments of memory_search, and whose agent calls it."""

    user_id: UserOrOwner = DEFAULT_USER
    agent_id: Id | None = None
    app_id: AppId | None = None
    query: Question
    about: About | None = None
    speaker: SpokenBy | None = None
    scope: Literal["all", "global", "personal"] = "all"
    limit: Annotated[int, Field(ge=1, le=MAX_FOUND)] = 5
    include: Included = ["memories", "turns"]  # noqa: RUF012 - pydantic copies it
    min_relevance: MinRelevance | None = None


@router.get("", response_model=Tools, operation_id="told_v1_tools_get")  # its published name
@needs(DESCRIPTION)
async def list_tools(worker: CurrentWorker) -> Response:  # noqa: ARG001 - as every route, only of a started worker
    """Return the tools as OpenAI function schemas; who calls them is not for the model to say."""
    return answer({"tools": [tool.as_function for tool in TOOLS]})


@router.post(
    "/memory_add",
    status_code=201,
    response_model=responses.RememberedMemory,
    responses=answers(s200=responses.RememberedMemory, s202=responses.Waiting) | refused(HTTPStatus.CONFLICT),
)
async def memory_add(
    body: MemoryAdd, worker: CurrentWorker, caller: Caller, tenant: Tenant, command_id: CommandId
) -> Response:
    """Remember what a model wants remembered: answers as `POST /v1/memories`."""
    is_category = body.type in get_args(Category)
    fields: dict[str, Any] = body.model_dump(exclude={"type"}) | {"user_id": _user(body, caller)}
    type_fields = {"category": body.type} if is_category else {"metadata": {"type": body.type}}
    return await memories.remember(NewMemory(**fields, **type_fields), worker, caller, tenant, command_id)


@router.post("/memory_search", response_model=responses.Results)
@reads
@takes_long
async def memory_search(body: MemorySearch, worker: CurrentWorker, caller: Caller, tenant: Tenant) -> Response:
    """Find what a model looks for: answers as `POST /v1/search`, and is a recall as that is.

    What is below the line of the answer is left out; `note` says so where nothing is left.
    """
    fields = body.model_dump(exclude={"min_relevance"}) | {"user_id": _user(body, caller)}
    return await search.found(Search(**fields), worker, tenant, least=body.min_relevance, note=NOTHING_KNOWN)


def _user(body: MemoryAdd | MemorySearch, caller: Principal) -> str:
    """Return the user whose memory is used: the one named, else the only user of the key, else the owner."""
    return body.user_id if "user_id" in body.model_fields_set else default_user(caller, OF_TOOLS)
