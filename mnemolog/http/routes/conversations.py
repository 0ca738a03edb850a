"""Conversations over HTTP: messages become turns with derived ids, so that a context can be sent repeatedly."""

from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any, Final

from fastapi import Response

from mnemolog.http.bounds.redacted import apart, redacted_event, redacted_fields, with_counts
from mnemolog.http.dependencies import Caller, CurrentQuota, CurrentWorker, IdempotencyKey, Tenant
from mnemolog.http.middleware import GENERATED_KEY
from mnemolog.http.models import responses
from mnemolog.http.models.requests import Conversation
from mnemolog.http.permissions import OF_USERS
from mnemolog.http.problems import MAX_ERRORS, InvalidRequest, Problem
from mnemolog.http.routes.publishing import Wait, publish_checked
from mnemolog.http.routing import answers, refused, routes
from mnemolog.log.word_ids import WordIds
from mnemolog.publishing.utterances import Conversation as UnnamedMessages
from mnemolog.publishing.utterances import Utterance
from schemas.identity import derived_id
from schemas.inputs.input_events import Fault, InvalidEvent, new_event
from schemas.inputs.slices import in_slices
from schemas.messages.observations import APP_ID, Observation, TurnRecorded

NOT_TO_INSTRUCT: Final = (
    "the key is for some users or agents only, and instructions say what is remembered of them: take a key for all, or "
    "leave the instructions out"
)

UNNAMED: Final = "unnamed"
"""The id of a message until the worker that appends it, and knows its session, assigns one."""

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
    key: IdempotencyKey = None,
    wait: Wait = 0.0,
) -> Response:
    """Accept a conversation. Without a session the user and the agent have one; by default it ends with the request.

    The same key is the same request. With another, words that are no history sent once more were said again.
    """
    if body.instructions and caller.is_narrowed:
        raise Problem(HTTPStatus.FORBIDDEN, NOT_TO_INSTRUCT)
    session_id = body.session_id or derived_id("session", tenant, body.user_id, body.agent_id or "")
    now, redaction = worker.clock.now(), worker.redactions.of(tenant, body.agent_id)
    timezone = worker.settings.timezone
    given = {"instructions": body.instructions}
    instructions = (await apart(redacted_fields, redaction, given, ["instructions"]))["instructions"]
    events: list[Observation] = []
    faults: list[Fault] = []
    occurrences: Counter[tuple[object, ...]] = Counter()
    utterances: list[Utterance] = []
    async for place, raw in in_slices(enumerate(_turns(body, session_id))):
        # One microsecond apart, so that turns without their own times keep their order.
        at = now + timedelta(microseconds=place)
        try:
            turn, counted = await apart(redacted_event, redaction, raw)
            event = new_event(turn, tenant=tenant, accepted_at=at, event_id=UNNAMED, timezone=timezone)
            said_at = event.envelope.occurred_at if turn.get("occurred_at") is not None else None
            utterances.append(_utterance(worker.sealing.word_ids, turn, session_id, said_at, occurrences))
            events.append(_instructed(with_counts(event, counted), instructions))
        except InvalidEvent as error:
            root = f"$.messages[{place}]"
            faults += [Fault(root + f.path.removeprefix("$"), f.message) for f in error.faults]
        if len(faults) > MAX_ERRORS:
            break
    if faults:
        raise InvalidRequest(*faults)
    quota.take(len(events))
    paths = [f"$.messages[{place}]" for place in range(len(events))]
    if body.end_session and events:
        last = events[-1].envelope
        # All messages contribute, as in their ids: a caller's own ids determine the id of the end.
        end_id = derived_id("conversation-end", session_id, *(event.envelope.event_id for event in events))
        raw = _without_none(type="SessionEnded", user_id=body.user_id, agent_id=body.agent_id, session_id=session_id)
        at = max(last.occurred_at, now + timedelta(microseconds=len(events)))
        events.append(new_event(raw, tenant=tenant, accepted_at=at, event_id=end_id))
        paths.append("$.end_session")
    is_keyed = key is not None and not key.startswith(GENERATED_KEY)
    request_id = derived_id("request", tenant, key) if is_keyed else None
    conversation = UnnamedMessages(utterances=utterances, sent_at=now, request_id=request_id)
    return await publish_checked(worker.publish_router, events, wait, paths, conversation, session_id=session_id)


def _instructed(turn: Observation, instructions: str) -> Observation:
    """Return a turn with the extraction instructions for the model."""
    return replace(turn, instructions=instructions) if instructions and isinstance(turn, TurnRecorded) else turn


def _turns(body: Conversation, session_id: str) -> list[dict[str, Any]]:
    """Return the messages as input events with only the given fields, so that equal messages give equal events."""
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
    """Return a message whose metadata include the application."""
    metadata = message["metadata"]
    if app_id is None or not (metadata is None or isinstance(metadata, dict)):
        return message  # metadata that are not an object are refused later, with their path
    return message | {"metadata": (metadata or {}) | {APP_ID: app_id}}


def _utterance(
    ids: WordIds,
    turn: dict[str, Any],
    session_id: str,
    said_at: datetime | None,
    occurrences: Counter[tuple[object, ...]],
) -> Utterance:
    """Return a message's id: its own, or one of agent, session, role, words, name, time and occurrence.

    A message without a name and a time has the same id as in the first version.
    """
    if given := turn.get("event_id"):
        return Utterance(first=given, own=given, is_exact=True, is_given=True)
    plain = ("turn", turn.get("agent_id") or "", session_id, turn["role"], turn["content"])
    name = turn.get("name") or ""
    cause = (*plain, name, said_at.isoformat() if said_at else "") if said_at or name else plain
    number = occurrences[cause]
    occurrences[cause] += 1
    return Utterance(
        first=ids.derive(*cause, 0),
        own=ids.derive(*cause, number),
        former=None if cause is plain else ids.derive(*plain, number),
        is_exact=said_at is not None,
    )


def _without_none(**fields: object) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
