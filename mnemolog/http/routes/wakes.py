"""Wakes and reminders over HTTP: how an agent is woken, what it is to remind of, and the wakes themselves."""

from http import HTTPStatus
from typing import Annotated, Any

from fastapi import Header, Query, Response
from fastapi.responses import StreamingResponse

from mnemolog.commands.commands import Answer
from mnemolog.commands.wakes import Periodic
from mnemolog.http.dependencies import CommandId, Held, Tenant
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
from mnemolog.http.problems import Problem
from mnemolog.http.routing import answer, answers, refused, routes
from mnemolog.wakes.stream import Listener, begin, stream
from mnemolog.worker.worker import Worker
from projections.queries.wake_views import wake_view
from projections.state.wakes import next_due_slot
from schemas.identity import Owner, check_user_id
from schemas.instant import instant
from schemas.vocabulary.refusals import Refusal, refusal_of

EVENT_STREAM = "text/event-stream"

router = routes("wakes", "/v1")
UNKNOWN = refused(HTTPStatus.NOT_FOUND)
WAITING = answers(s202=responses.Waiting)
COMMAND = WAITING | refused(HTTPStatus.CONFLICT)
"""One that says more than its path: with the key of another it is refused."""


@router.put("/users/{user_id:text}/wake", response_model=WakeConfiguration, responses=COMMAND)
async def configure(user_id: str, asked: WakeWanted, worker: Held, tenant: Tenant, command_id: CommandId) -> Response:
    """Wake the user's agent at every multiple of a period; slots that were missed raise one wake."""
    owner, settings, said = Owner(tenant, check_user_id(user_id)), worker.settings, asked.model_fields_set
    periodic = Periodic(
        every_seconds=asked.every_seconds,
        text=asked.text or settings.wake_text,
        query=asked.query if "query" in said else settings.wake_query,
        memory_limit=settings.wake_memory_limit if asked.memory_limit is None else asked.memory_limit,
        agent_id=asked.agent_id,
    )
    decided = await worker.wakes.commands.configure(owner, periodic, command_id)
    return _decided(decided) or answer(_configuration(worker, owner))


@router.get("/users/{user_id:text}/wake", response_model=WakeConfiguration, responses=UNKNOWN)
async def configured(user_id: str, worker: Held, tenant: Tenant) -> Response:
    """Return how the user's agent is woken, and when next; 404 when it is not."""
    owner = Owner(tenant, check_user_id(user_id))
    if worker.shards.state(owner).wakes.configured is None:
        raise Problem(HTTPStatus.NOT_FOUND, f"user {user_id!r} has no periodic wake: PUT one")
    return answer(_configuration(worker, owner))


@router.delete("/users/{user_id:text}/wake", response_model=WakeConfiguration, responses=WAITING)
async def removed(user_id: str, worker: Held, tenant: Tenant, command_id: CommandId) -> Response:
    """Wake the user's agent periodically no more; doing it again changes nothing."""
    owner = Owner(tenant, check_user_id(user_id))
    decided = await worker.wakes.commands.configure(owner, None, command_id)
    return _decided(decided) or answer(_configuration(worker, owner))


@router.post("/users/{user_id:text}/reminders", status_code=201, response_model=Reminder, responses=COMMAND)
async def schedule(
    user_id: str, asked: ReminderWanted, worker: Held, tenant: Tenant, command_id: CommandId
) -> Response:
    """Remind of something once: at its time, or as soon after it as the worker runs."""
    owner = Owner(tenant, check_user_id(user_id))
    decided = await worker.wakes.commands.schedule(
        owner,
        asked.due_at,
        asked.content,
        channel=asked.channel,
        agent_id=asked.agent_id,
        command_id=command_id,
    )
    if (refusal := _decided(decided)) is not None:
        return refusal
    body = {
        "reminder_id": decided.outcomes[0].subject if decided.outcomes else "",
        "user_id": user_id,
        "agent_id": asked.agent_id,
        "due_at": instant(asked.due_at),
        "content": asked.content,
        "channel": asked.channel,
    }
    return answer(body, HTTPStatus.CREATED)


@router.get("/users/{user_id:text}/reminders", response_model=Reminders)
async def reminders(user_id: str, asked: Annotated[RemindersAsked, Query()], worker: Held, tenant: Tenant) -> Response:
    """List the reminders that wait, the next first, a page at a time; there are at most 1,000."""
    owner = Owner(tenant, check_user_id(user_id))
    waiting = sorted(
        worker.shards.state(owner).wakes.reminders.values(), key=lambda each: (each.due_at, each.reminder_id)
    )
    items = [
        {
            "reminder_id": each.reminder_id,
            "user_id": user_id,
            "agent_id": each.envelope.agent_id,
            "due_at": instant(each.due_at),
            "content": each.content.text,
            "channel": each.channel,
        }
        for each in waiting[(asked.page - 1) * asked.page_size : asked.page * asked.page_size]
    ]
    return answer({"items": items, "total": len(waiting), "page": asked.page, "page_size": asked.page_size})


@router.delete("/users/{user_id:text}/reminders/{reminder_id}", response_model=Cancelled, responses=WAITING | UNKNOWN)
async def cancel(user_id: str, reminder_id: str, worker: Held, tenant: Tenant, command_id: CommandId) -> Response:
    """Remind of it no more; 404 when it does not wait any more."""
    owner = Owner(tenant, check_user_id(user_id))
    decided = await worker.wakes.commands.cancel(owner, reminder_id, command_id)
    return _decided(decided) or answer({"reminder_id": reminder_id, "state": "cancelled"})


@router.get("/users/{user_id:text}/wakes", response_model=Wakes)
async def listed(user_id: str, asked: Annotated[WakesAsked, Query()], worker: Held, tenant: Tenant) -> Response:
    """Return the wakes after a place, in the order in which they were raised, and the place to go on from."""
    owner = Owner(tenant, check_user_id(user_id))
    found = worker.shards.of(owner).ledger.wakes.raised(owner, int(asked.after), asked.limit)
    items = [wake_view(worker.shards, raised, worker.clock.now(), asked.agent_id) for raised in found]
    heard = [item for item in items if asked.agent_id is None or item["agent_id"] in (None, asked.agent_id)]
    return answer({"items": heard, "next": str(found[-1].event.number) if found else asked.after})


@router.get(
    "/wakes/stream",
    response_class=StreamingResponse,
    responses={200: {"content": {EVENT_STREAM: {"schema": {"type": "string"}}}, "description": "server-sent events"}},
)
async def streamed(
    *,
    worker: Held,
    tenant: Tenant,
    user_id: UserOrNone | None = None,
    agent_id: Id | None = None,
    last_event_id: Annotated[str | None, Header(max_length=65_536, description="go on behind this event")] = None,
) -> Response:
    """Stream wakes as they are raised, of a user or of everybody, whichever worker has them: events named `wake`.

    Each is told at least once, in the order of its user; after a lost connection from `Last-Event-ID` on.
    """
    listener = Listener(tenant=tenant, user_id=user_id, agent_id=agent_id)
    positions = await begin(worker, listener, last_event_id)
    events = stream(worker, listener, positions)
    return StreamingResponse(events, media_type=EVENT_STREAM, headers={"Cache-Control": "no-store"})


def _configuration(worker: Worker, owner: Owner) -> dict[str, Any]:
    known = worker.shards.state(owner).wakes
    how = known.configured
    return {
        "user_id": owner.user_id,
        "every_seconds": how and how.every_seconds,
        "text": how and how.text and how.text.text,
        "memory_limit": how.memory_limit if how else 0,
        "query": how and how.query and how.query.text,
        "agent_id": how and how.envelope.agent_id,
        "next_at": instant(next_due_slot(known)),
    }


def _decided(decided: Answer) -> Response | None:
    """Return 202 for a command that waits for its decision, None for one that was done. Raises Problem."""
    if decided.outcome is None:
        return answer({"command_id": decided.command_id, "state": "accepted"}, HTTPStatus.ACCEPTED)
    if decided.outcome.action == "refused":
        refusal, detail = refusal_of(decided.outcome.reason)
        raise Problem(HTTPStatus.NOT_FOUND if refusal is Refusal.UNKNOWN else HTTPStatus.CONFLICT, detail)
    return None
