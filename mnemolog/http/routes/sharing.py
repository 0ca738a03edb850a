"""Sharing over HTTP: a memory becomes known to another agent of the user, to another user, or to everyone."""

from http import HTTPStatus
from typing import Literal, Self

from fastapi import Response
from pydantic import model_validator

from mnemolog.http.dependencies import CommandId, CurrentWorker, Tenant
from mnemolog.http.models import responses
from mnemolog.http.models.body import Body
from mnemolog.http.models.requests import Id, MemoryId, UserOrNone
from mnemolog.http.permissions import OF_USERS
from mnemolog.http.problems import Problem
from mnemolog.http.routes import memories
from mnemolog.http.routing import answer, answers, routes
from projections.queries.validity import dated_view
from projections.state.memory import ACTIVE
from schemas.identity import GLOBAL_USER, Owner

router = routes("memories", "/v1/memories", OF_USERS)


class Share(Body):
    """With whom: an agent of the user, another user (and, if named, an agent of theirs), or everyone."""

    agent_id: Id | None = None
    user_id: UserOrNone | None = None
    scope: Literal["global"] | None = None

    @model_validator(mode="after")
    def _with_somebody(self) -> Self:
        if self.scope is None and self.user_id is None and self.agent_id is None:
            raise ValueError('names nobody: give an agent_id, a user_id, or the scope "global"')
        if self.scope is not None and (self.user_id is not None or self.agent_id is not None):
            raise ValueError("is for everyone and for somebody: give either the scope, or a user_id or agent_id")
        return self


@router.post(
    "/{memory_id}/share",
    response_model=responses.DatedMemory,
    responses=answers(s201=responses.DatedMemory) | memories.COMMAND,
)
async def share(
    *,
    memory_id: MemoryId,
    body: Share,
    worker: CurrentWorker,
    tenant: Tenant,
    command_id: CommandId,
    user_id: UserOrNone | None = None,
) -> Response:
    """Share a memory, and answer with what the other has then: 201 when it is new there, 200 when it was known.

    With an agent it stays one memory, which both know; with another user, or everyone, it is a copy, made once.
    """
    source = memories.owner_of(worker.queries, tenant, memory_id, user_id)
    now = worker.clock.now()
    memory = worker.shards.state(source).memories[memory_id]
    if memory.status_at(now) != ACTIVE:
        raise Problem(HTTPStatus.CONFLICT, f"the memory is {memory.status_at(now)}: only active ones can be shared")
    target = Owner(tenant, GLOBAL_USER if body.scope else body.user_id or source.user_id)
    if source.is_global:  # all users know it already
        return answer(dated_view(source, memory, worker.shards.state(source).memories, now))
    if target == source:
        if body.agent_id is None:
            return answer(dated_view(source, memory, worker.shards.state(source).memories, now))
        command = await worker.commands.share(source, memory_id, body.agent_id, command_id)
        return memories.command_answer(command, source, worker.shards, worker.clock)
    shared = await worker.sharer.share(source, memory, target, body.agent_id)
    if shared.memory is None:
        return answer({"command_id": shared.command_id, "state": "accepted"}, HTTPStatus.ACCEPTED)
    if shared.memory["status"] != ACTIVE:
        detail = f"the copy that the other has is {shared.memory['status']}: it is made once, and is theirs"
        raise Problem(HTTPStatus.CONFLICT, detail)
    return answer(shared.memory, HTTPStatus.CREATED if shared.is_new else HTTPStatus.OK)
