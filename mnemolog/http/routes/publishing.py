"""Publishing over HTTP: all events of a request are checked first; the answer gives their positions in the log."""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Annotated
from uuid import uuid4

from fastapi import Query, Request, Response

from mnemolog.http.bounds.json_body import body_of_lines, read_events
from mnemolog.http.bounds.redacted import agent_of, apart, redacted_event, with_counts
from mnemolog.http.dependencies import Caller, CurrentQuota, CurrentWorker, IdempotencyKey, Tenant
from mnemolog.http.models import responses
from mnemolog.http.models.requests import MAX_EVENTS, MAX_WAIT_SECONDS, EventsAsked, UserOrOwner
from mnemolog.http.permissions import OF_EVENTS, PUBLISHING, check_owner, needs, reads
from mnemolog.http.problems import MAX_ERRORS, InvalidRequest, Problem, summary
from mnemolog.http.routing import answer, answers, refused, routes
from mnemolog.publishing.publisher import Conflict
from mnemolog.publishing.router import PublishRouter
from mnemolog.publishing.utterances import Conversation
from schemas.identity import Owner, derived_id
from schemas.inputs.images import VisionPolicy
from schemas.inputs.input_events import DEFAULT_USER, Fault, InvalidEvent, new_event
from schemas.inputs.pieces import image_of, is_extractable
from schemas.inputs.slices import in_slices
from schemas.messages.observations import Observation

Wait = Annotated[
    float,
    Query(ge=0, le=MAX_WAIT_SECONDS, allow_inf_nan=False, description="seconds to wait until all states are final"),
]
DerivedIds = Annotated[
    bool,
    Query(
        description="the event_ids were derived from the words: where ENCRYPTION is strict they get keyed ones for it"
    ),
]
_BODY = body_of_lines("one event, an array of events, or one event a line")

router = routes("publishing", access=OF_EVENTS)


@router.post(
    "/v1/events",
    status_code=202,
    response_model=responses.Accepted,
    responses=answers(s200=responses.Accepted) | refused(HTTPStatus.CONFLICT),
    openapi_extra=_BODY,
)
@needs(PUBLISHING)
async def publish(
    *,
    request: Request,
    worker: CurrentWorker,
    caller: Caller,
    quota: CurrentQuota,
    tenant: Tenant,
    key: IdempotencyKey = None,
    derived_ids: DerivedIds = False,
    wait: Wait = 0.0,
) -> Response:
    """Accept one event, an array of events, or NDJSON. All are checked first: one bad event refuses the request."""
    raws, many = await read_events(await request.body(), request.headers.get("content-type", ""), MAX_EVENTS)
    now, vision, timezone = worker.clock.now(), worker.settings.vision, worker.settings.timezone
    events: list[Observation] = []
    faults: list[Fault] = []
    async for place, given in in_slices(enumerate(raws)):
        # A null field counts as missing, as in the comparison of two events.
        raw = {name: one for name, one in given.items() if one is not None} if isinstance(given, dict) else given
        if isinstance(raw, dict) and raw.get("event_id") is not None:
            event_id = ""  # it has its own id
        else:
            event_id = str(uuid4()) if key is None else derived_id("event", tenant, key, place)
        try:
            redacted, counted = await apart(redacted_event, worker.redactions.of(tenant, agent_of(raw)), raw)
            if derived_ids and isinstance(redacted, dict) and isinstance(redacted.get("event_id"), str):
                redacted = redacted | {"event_id": worker.sealing.word_ids.hide(redacted["event_id"])}
            event = new_event(redacted, tenant=tenant, accepted_at=now, event_id=event_id, timezone=timezone)
            _check_vision(event, vision)
            events.append(with_counts(event, counted))
        except InvalidEvent as error:
            faults += [_placed(f, f"$[{place}]" if many else "$") for f in error.faults]
        if len(faults) > MAX_ERRORS:
            break
    if faults:
        raise InvalidRequest(*faults)
    for event in events:
        check_owner(caller, event.envelope.user_id, event.envelope.agent_id)
    quota.take(len(events))
    paths = [f"$[{place}]" if many else "$" for place in range(len(events))]
    return await publish_checked(worker.publish_router, events, wait, paths)


@router.get("/v1/events/{event_id:text}", response_model=responses.EventState, responses=refused(HTTPStatus.NOT_FOUND))
async def state(
    event_id: str, worker: CurrentWorker, caller: Caller, tenant: Tenant, user_id: UserOrOwner = DEFAULT_USER
) -> Response:
    """Return how far an event has come, and what it led to."""
    states = await worker.event_states.of(Owner(tenant, user_id), [event_id], caller.agents)
    if event_id not in states:
        detail = (
            f"no event {event_id!r} of user {user_id!r} is known: none was accepted, or it is older than RETENTION_DAYS"
        )
        raise Problem(HTTPStatus.NOT_FOUND, detail)
    return answer(states[event_id])


@router.post("/v1/events/status", response_model=responses.EventStates)
@reads
async def status(body: EventsAsked, worker: CurrentWorker, caller: Caller, tenant: Tenant) -> Response:
    """Return how far many events have come; those that were never accepted are named under `unknown`."""
    states = await worker.event_states.of(Owner(tenant, body.user_id), body.event_ids, caller.agents)
    ids = list(dict.fromkeys(body.event_ids))
    return answer({"items": [states[i] for i in ids if i in states], "unknown": [i for i in ids if i not in states]})


async def publish_checked(
    router: PublishRouter,
    events: Sequence[Observation],
    wait: float,
    paths: Sequence[str],
    conversation: Conversation | None = None,
    **more: object,
) -> Response:
    """Publish checked events, and answer when the log has them or, with `wait`, when their states are final.

    `paths` are the paths of the events in the body, for refusals; `more` are further fields of the answer.
    """
    try:
        published = await router.publish(events, wait, conversation)
    except Conflict as conflict:
        faults = [
            Fault(f"{paths[n]}.event_id", _conflict(events[n].envelope.event_id, str(at) if at else None))
            for n, at in conflict.places.items()
        ]
        raise Problem(HTTPStatus.CONFLICT, summary(faults), faults) from None
    status = HTTPStatus.OK if wait and published.is_final else HTTPStatus.ACCEPTED
    return answer({"accepted": published.items} | more, status)


def _check_vision(event: Observation, vision: VisionPolicy) -> None:
    """Refuse a picture that the vision policy excludes. Raises InvalidEvent."""
    image = image_of(event)
    if image is not None and is_extractable(event) and (refusal := vision.refusal(image)):
        raise InvalidEvent([Fault("$.image_url" if isinstance(image, str) else "$.image", refusal)])


def _conflict(event_id: str, position: str | None) -> str:
    where = f"was accepted at {position}" if position else "stands in this request"
    return f"{event_id!r} {where} with another body: give the new event another event_id"


def _placed(fault: Fault, root: str) -> Fault:
    return Fault(root + fault.path.removeprefix("$"), fault.message)
