"""Conversations over HTTP: messages become turns with derived ids, so that a context may be sent again and again."""

from collections import Counter
from dataclasses import replace
from datetime import timedelta
from http import HTTPStatus
from typing import Any, Final

from fastapi import Response

from mnemolog.http.bounds.redacted import redacted_event, redacted_fields, with_counts
from mnemolog.http.dependencies import Caller, CurrentQuota, CurrentWorker, Tenant
from mnemolog.http.models import responses
from mnemolog.http.models.requests import Conversation
from mnemolog.http.permissions import OF_USERS
from mnemolog.http.problems import MAX_ERRORS, Problem, summary
from mnemolog.http.routes.publishing import Wait, publish_checked
from mnemolog.http.routing import answers, refused, routes
from mnemolog.log.word_ids import WordIds
from schemas.identity import derived_id
from schemas.inputs.input_events import Fault, InvalidEvent, new_event
from schemas.inputs.slices import in_slices
from schemas.messages.observations import APP_ID, Observation, TurnRecorded

NOT_TO_INSTRUCT: Final = (
    "the key is for some users or agents only, and instructions say what is remembered of them: take a key for all, or "
    "leave the instructions out"
)

router = routes("publishing", access=OF_USERS)


@router.post(
    "/v1/conversations",
    status_code=202,
    response_model=responses.ConversationAccepted,
    responses=answers(s200=responses.ConversationAccepted) | refused(HTTPStatus.CONFLICT),
)
async def converse(
    *,
    body: Conversation,
    worker: CurrentWorker,
    caller: Caller,
    tenant: Tenant,
    quota: CurrentQuota,
    wait: Wait = 0.0,
) -> Response:
    """Accept a conversation. Without a session the user and the agent have one; by default it ends with the request."""
    if body.instructions and caller.is_narrowed:
        raise Problem(HTTPStatus.FORBIDDEN, NOT_TO_INSTRUCT)
    session_id = body.session_id or derived_id("session", tenant, body.user_id, body.agent_id or "")
    now, redaction = worker.clock.now(), worker.redactions.of(tenant, body.agent_id)
    timezone = worker.settings.timezone
    instructions = redacted_fields(redaction, {"instructions": body.instructions}, ["instructions"])["instructions"]
    events: list[Observation] = []
    faults: list[Fault] = []
    occurrences: Counter[tuple[str, str]] = Counter()
    async for place, raw in in_slices(enumerate(_turns(body, session_id))):
        # One microsecond apart, so that turns without times of their own keep their order.
        at = now + timedelta(microseconds=place)
        try:
            turn, counted = redacted_event(redaction, raw)
            event_id = _id(worker.sealing.word_ids, turn, body.agent_id, session_id, occurrences)
            event = new_event(turn, tenant=tenant, accepted_at=at, event_id=event_id, timezone=timezone)
            events.append(_instructed(with_counts(event, counted), instructions))
        except InvalidEvent as error:
            root = f"$.messages[{place}]"
            faults += [Fault(root + f.path.removeprefix("$"), f.message) for f in error.faults]
        if len(faults) > MAX_ERRORS:
            break
    if faults:
        raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, summary(faults), faults)
    quota.take(len(events))
    paths = [f"$.messages[{place}]" for place in range(len(events))]
    if body.end_session and events:
        last = events[-1].envelope
        # From all messages: an agent that says "OK" twice has ended the session twice.
        end_id = derived_id("conversation-end", session_id, *(event.envelope.event_id for event in events))
        raw = _without_none(type="SessionEnded", user_id=body.user_id, agent_id=body.agent_id, session_id=session_id)
        at = max(last.occurred_at, now + timedelta(microseconds=len(events)))
        events.append(new_event(raw, tenant=tenant, accepted_at=at, event_id=end_id))
        paths.append("$.end_session")
    return await publish_checked(worker.publish_router, events, wait, paths, session_id=session_id)


def _instructed(turn: Observation, instructions: str) -> Observation:
    """Return a turn with what a model is told about its extraction."""
    return replace(turn, instructions=instructions) if instructions and isinstance(turn, TurnRecorded) else turn


def _turns(body: Conversation, session_id: str) -> list[dict[str, Any]]:
    """Return the messages as input events, with the fields that were given: two are the same if those are."""
    return [
        _without_none(
            type="TurnRecorded",
            user_id=body.user_id,
            agent_id=body.agent_id,
            session_id=session_id,
            infer=None if body.infer else False,
            **_with_app(message.model_dump(), body.app_id),
        )
        for message in body.messages
    ]


def _with_app(message: dict[str, Any], app_id: str | None) -> dict[str, Any]:
    """Return a message whose metadata name the application."""
    metadata = message["metadata"]
    if app_id is None or not (metadata is None or isinstance(metadata, dict)):
        return message  # what is no object is refused with its place
    return message | {"metadata": (metadata or {}) | {APP_ID: app_id}}


def _id(
    ids: WordIds, turn: dict[str, Any], agent_id: str | None, session_id: str, occurrences: Counter[tuple[str, str]]
) -> str:
    """Return an id for a message: from agent, session, role, content and which occurrence of it this is."""
    spoken = (turn["role"], turn["content"])
    event_id = ids.derive("turn", agent_id or "", session_id, *spoken, occurrences[spoken])
    occurrences[spoken] += 1
    return event_id


def _without_none(**fields: object) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
