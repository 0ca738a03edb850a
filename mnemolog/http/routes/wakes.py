"""Wakes and reminders over HTTP: how an agent is woken, its reminders, and the wakes themselves."""

from functools import partial
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import Header, Query, Request, Response
from fastapi.responses import StreamingResponse

from mnemolog.access.principal import Principal
from mnemolog.commands.commands import Answer
from mnemolog.commands.wakes import Periodic
from mnemolog.http.authentication import is_still_valid
from mnemolog.http.bounds.redacted import apart, redacted_fields
from mnemolog.http.dependencies import Caller, CommandId, CurrentWorker, OwnerInPath, Tenant
from mnemolog.http.models import responses
from mnemolog.http.models.requests import Id, UserOrNone
from mnemolog.http.models.wakes import (
    Cancelled,
    Reminder,
    Reminders,
    RemindersAsked,
    ReminderWanted,
    WakeConfiguration,
    Wakes,
    WakesAsked,
    WakeWanted,
)
from mnemolog.http.permissions import OF_USERS, OF_USERS_OR_ALL, needs
from mnemolog.http.problems import Problem
from mnemolog.http.routing import EVENTS, answer, answers, event_stream, page_of, refused, routes, takes_long
from mnemolog.wakes.stream import Listener
from mnemolog.wakes.view import wake_view
from projections.partitions.shards import Shards
from projections.state.wakes import next_due_slot
from schemas.identity import Owner, check_user_id
from schemas.instant import instant
from schemas.messages.wakes import ReminderScheduled, WakeConfigured
from schemas.vocabulary.refusals import Refusal, refusal_of
from streams.decisions.wakes import NOT_WAITING

router = routes("wakes", "/v1", OF_USERS)
UNKNOWN = refused(HTTPStatus.NOT_FOUND)
WAITING = answers(s202=responses.Waiting)
COMMAND = WAITING | refused(HTTPStatus.CONFLICT)
"""A command that its path does not fully describe; with the idempotency key of another command, it is refused."""


@router.put("/users/{user_id:text}/wake", response_model=WakeConfiguration, responses=COMMAND)
async def configure(
    *,
    owner: OwnerInPath,
    body: WakeWanted,
    worker: CurrentWorker,
    caller: Caller,
    command_id: CommandId,
) -> Response:
    """Wake the user's agent at every multiple of a period; slots that were missed raise one wake."""
    settings = worker.settings
    _check_wake(worker.shards, owner, caller)
    redaction = worker.redactions.of(owner.tenant, body.agent_id)
    said = await apart(redacted_fields, redaction, {"text": body.text, "query": body.query}, ("text", "query"))
    periodic = Periodic(
        every_seconds=body.every_seconds,
        text=said["text"] or settings.wake_text,
        query=said["query"] if "query" in body.model_fields_set else settings.wake_query,
        memory_limit=settings.wake_memory_limit if body.memory_limit is None else body.memory_limit,
        agent_id=body.agent_id,
    )
    command = await worker.wake_commands.configure(owner, periodic, command_id)
    return _unfinished(command) or answer(_configuration(worker.shards, owner))


@router.get("/users/{user_id:text}/wake", response_model=WakeConfiguration, responses=UNKNOWN)
async def configured(owner: OwnerInPath, worker: CurrentWorker, agent_id: Id | None = None) -> Response:
    """Return how the user's agent is woken, and when next; 404 when it is not, or when the wake is another agent's."""
    known = worker.shards.state(owner).wakes.configured
    if known is None or not _is_of(known, agent_id):
        raise Problem(HTTPStatus.NOT_FOUND, f"user {owner.user_id!r} has no periodic wake: PUT one")
    return answer(_configuration(worker.shards, owner))


@router.delete("/users/{user_id:text}/wake", response_model=WakeConfiguration, responses=WAITING | UNKNOWN)
async def removed(
    *,
    owner: OwnerInPath,
    worker: CurrentWorker,
    caller: Caller,
    command_id: CommandId,
    agent_id: Id | None = None,
) -> Response:
    """Wake the user's agent periodically no more; doing it again changes nothing.

    With an agent only that agent's wake is removed: 404 where it is another's.
    """
    known = worker.shards.state(owner).wakes.configured
    if known is not None and not _is_of(known, agent_id):
        raise Problem(HTTPStatus.NOT_FOUND, f"user {owner.user_id!r} has no periodic wake of the agent {agent_id!r}")
    _check_wake(worker.shards, owner, caller)
    command = await worker.wake_commands.configure(owner, None, command_id)
    return _unfinished(command) or answer(_configuration(worker.shards, owner))


@router.post("/users/{user_id:text}/reminders", status_code=201, response_model=Reminder, responses=COMMAND)
async def schedule(owner: OwnerInPath, body: ReminderWanted, worker: CurrentWorker, command_id: CommandId) -> Response:
    """Remind of something once: at its time, or as soon after it as the worker runs."""
    redaction = worker.redactions.of(owner.tenant, body.agent_id)
    content = (await apart(redacted_fields, redaction, {"content": body.content}, ("content",)))["content"]
    command = await worker.wake_commands.schedule(
        owner,
        body.due_at,
        content,
        channel=body.channel,
        agent_id=body.agent_id,
        command_id=command_id,
    )
    if (unfinished := _unfinished(command)) is not None:
        return unfinished
    reminder = {
        "reminder_id": command.outcomes[0].subject if command.outcomes else "",
        "user_id": owner.user_id,
        "agent_id": body.agent_id,
        "due_at": instant(body.due_at),
        "content": content,
        "channel": body.channel,
    }
    return answer(reminder, HTTPStatus.CREATED)


@router.get("/users/{user_id:text}/reminders", response_model=Reminders)
async def reminders(owner: OwnerInPath, query: Annotated[RemindersAsked, Query()], worker: CurrentWorker) -> Response:
    """List the reminders that wait, the next first, a page at a time; there are at most 1,000."""
    waiting = sorted(
        (each for each in worker.shards.state(owner).wakes.reminders.values() if _is_of(each, query.agent_id)),
        key=lambda each: (each.due_at, each.reminder_id),
    )
    return answer(page_of(waiting, partial(_reminder, owner), query.page, query.page_size))


@router.delete("/users/{user_id:text}/reminders/{reminder_id}", response_model=Cancelled, responses=WAITING | UNKNOWN)
async def cancel(
    *,
    user_id: str,
    reminder_id: str,
    worker: CurrentWorker,
    tenant: Tenant,
    command_id: CommandId,
    agent_id: Id | None = None,
) -> Response:
    """Remind of it no more; 404 when it does not wait any more, or is of another agent than is named."""
    owner = Owner(tenant, check_user_id(user_id))
    known = worker.shards.state(owner).wakes.reminders.get(reminder_id)
    if known is not None and not _is_of(known, agent_id):
        raise Problem(HTTPStatus.NOT_FOUND, refusal_of(NOT_WAITING)[1])
    command = await worker.wake_commands.cancel(owner, reminder_id, command_id)
    return _unfinished(command) or answer({"reminder_id": reminder_id, "state": "cancelled"})


@router.get("/users/{user_id:text}/wakes", response_model=Wakes)
async def listed(owner: OwnerInPath, query: Annotated[WakesAsked, Query()], worker: CurrentWorker) -> Response:
    """Return the wakes after a place, in the order in which they were raised, and the place to go on from."""
    raised = worker.shards.of(owner).ledger.wakes.raised(owner, int(query.after), query.limit)
    wakes = [wake_view(worker.shards, wake, worker.clock.now(), query.agent_id) for wake in raised]
    items = [wake for wake in wakes if query.agent_id is None or wake["agent_id"] in (None, query.agent_id)]
    return answer({"items": items, "next": str(raised[-1].event.number) if raised else query.after})


@router.get("/wakes/stream", response_class=StreamingResponse, responses=EVENTS)
@takes_long
@needs(OF_USERS_OR_ALL)
async def streamed(
    *,
    worker: CurrentWorker,
    tenant: Tenant,
    request: Request,
    user_id: UserOrNone | None = None,
    agent_id: Id | None = None,
    last_event_id: Annotated[str | None, Header(max_length=65_536, description="go on behind this event")] = None,
) -> Response:
    """Stream wakes as they are raised, of a user or of everybody, whichever worker has them: events named `wake`.

    Each is told at least once, in the order of its user; after a lost connection from `Last-Event-ID` on.
    """
    listener = Listener(tenant=tenant, user_id=user_id, agent_id=agent_id)
    positions = await worker.wake_streams.begin(listener, last_event_id)
    events = worker.wake_streams.stream(listener, positions, may_go_on=partial(is_still_valid, request.scope))
    return event_stream(events)


def _reminder(owner: Owner, known: ReminderScheduled) -> dict[str, Any]:
    return {
        "reminder_id": known.reminder_id,
        "user_id": owner.user_id,
        "agent_id": known.envelope.agent_id,
        "due_at": instant(known.due_at),
        "content": known.content.text,
        "channel": known.channel,
    }


def _is_of(known: WakeConfigured | ReminderScheduled, agent_id: str | None) -> bool:
    """Return whether a wake or a reminder belongs to an agent or to none; true if no agent is given."""
    return agent_id is None or known.envelope.agent_id in (None, agent_id)


def _check_wake(shards: Shards, owner: Owner, caller: Principal) -> None:
    """Check that the key covers the agent whose wake would be replaced. Raises Problem."""
    known = shards.state(owner).wakes.configured
    if known is not None and not caller.has_agent(known.envelope.agent_id):
        detail = f"user {owner.user_id!r} has the wake of an agent that the key is not for"
        raise Problem(HTTPStatus.FORBIDDEN, detail)


def _configuration(shards: Shards, owner: Owner) -> dict[str, Any]:
    wakes = shards.state(owner).wakes
    configured = wakes.configured
    return {
        "user_id": owner.user_id,
        "every_seconds": configured and configured.every_seconds,
        "text": configured and configured.text and configured.text.text,
        "memory_limit": configured.memory_limit if configured else 0,
        "query": configured and configured.query and configured.query.text,
        "agent_id": configured and configured.envelope.agent_id,
        "next_at": instant(next_due_slot(wakes)),
    }


def _unfinished(command: Answer) -> Response | None:
    """Return 202 for a command that waits for its decision, None for a completed one. Raises Problem."""
    if command.outcome is None:
        return answer({"command_id": command.command_id, "state": "accepted"}, HTTPStatus.ACCEPTED)
    if command.outcome.action == "refused":
        refusal, detail = refusal_of(command.outcome.reason)
        raise Problem(HTTPStatus.NOT_FOUND if refusal is Refusal.UNKNOWN else HTTPStatus.CONFLICT, detail)
    return None
