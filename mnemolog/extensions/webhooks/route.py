"""Webhooks over HTTP: where changes are posted to."""

from dataclasses import replace
from datetime import timedelta
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import Depends, Response

from mnemolog.changes.feed import ChangesWanted
from mnemolog.extensions.webhooks import registered
from mnemolog.extensions.webhooks.models import (
    NewSecret,
    NewWebhook,
    RegisteredWebhook,
    Removed,
    Replay,
    Webhook,
    Webhooks,
)
from mnemolog.extensions.webhooks.part import part_of
from mnemolog.extensions.webhooks.signature import new_secret, read_secret, spelt
from mnemolog.http.dependencies import Caller, CommandEnvelope, CurrentWorker, Tenant
from mnemolog.http.permissions import OF_WEBHOOKS
from mnemolog.http.problems import Problem
from mnemolog.http.routing import answer, refused, routes
from schemas.identity import GLOBAL_USER, derived_id
from schemas.instant import instant
from schemas.messages.envelope import Sealed
from schemas.messages.webhooks import WebhookMoved, WebhookRemoved, WebhookSecretSet, WebhookSet

router = routes("webhooks", "/v1/webhooks", OF_WEBHOOKS)
UNKNOWN = refused(HTTPStatus.NOT_FOUND)


def _may_see(caller: Caller, known: registered.Webhook) -> bool:
    if not caller.is_narrowed:
        return True
    is_of_users = known.user_id is not None and caller.has_user(known.user_id)
    return is_of_users and caller.has_agent(known.message.envelope.agent_id)


async def _known(webhook_id: str, worker: CurrentWorker, caller: Caller, tenant: Tenant) -> registered.Webhook:
    """Return a webhook of the tenant. Raises Problem."""
    await part_of(worker).webhooks.follow()
    known = part_of(worker).webhooks.get(webhook_id)
    if known is None or known.tenant != tenant or not _may_see(caller, known):
        raise Problem(HTTPStatus.NOT_FOUND, f"there is no webhook {webhook_id!r}")
    return known


Known = Annotated[registered.Webhook, Depends(_known)]
"""The webhook that the path names."""


@router.post("", status_code=201, response_model=RegisteredWebhook, responses=refused(HTTPStatus.CONFLICT))
async def register(body: NewWebhook, worker: CurrentWorker, envelope: CommandEnvelope) -> Response:
    """Register an address that changes are posted to; the answer contains the secret that signs deliveries."""
    try:
        await worker.receivers.look_up(body.url)
    except ValueError as refusal:
        raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, f"url: {refusal}") from refusal
    wanted = ChangesWanted(tenant=envelope.tenant, user_id=body.user_id, agent_id=body.agent_id)
    message = WebhookSet(
        envelope=replace(envelope, user_id=body.user_id or GLOBAL_USER, agent_id=body.agent_id),
        webhook_id=derived_id("webhook", envelope.tenant, envelope.event_id),
        url=Sealed.clear(body.url),
        secret=Sealed.clear(new_secret() if body.secret is None else read_secret(body.secret)),
        types=list(dict.fromkeys(body.types or ())),
        after=await worker.change_feed.begin(wanted, body.after),
    )
    try:
        webhook = await part_of(worker).webhooks.set(message)
    except registered.WebhookRefused as refusal:
        raise Problem(HTTPStatus.CONFLICT, str(refusal)) from refusal
    if not _says_the_same(webhook.message, message, keeps_secret=body.secret is None):
        raise Problem(HTTPStatus.CONFLICT, "the Idempotency-Key was used for another webhook: use a new one")
    return answer(_view(webhook) | {"secret": spelt(webhook.message.secret.data)}, HTTPStatus.CREATED)


@router.get("", response_model=Webhooks)
async def webhooks(worker: CurrentWorker, caller: Caller, tenant: Tenant) -> Response:
    """Return the tenant's webhooks with their progress; a key for some users sees only theirs."""
    await part_of(worker).webhooks.follow()
    return answer({"items": [_view(one) for one in part_of(worker).webhooks.of(tenant) if _may_see(caller, one)]})


@router.get("/{webhook_id}", response_model=Webhook, responses=UNKNOWN)
async def webhook(known: Known) -> Response:
    """Return one webhook with its progress."""
    return answer(_view(known))


@router.delete("/{webhook_id}", response_model=Removed, responses=UNKNOWN)
async def remove(known: Known, worker: CurrentWorker, envelope: CommandEnvelope) -> Response:
    """Remove a webhook; a delivery that is on its way may still arrive."""
    webhook_id = known.message.webhook_id
    await part_of(worker).webhooks.remove(WebhookRemoved(envelope=envelope, webhook_id=webhook_id))
    return answer({"webhook_id": webhook_id, "removed": True})


@router.post("/{webhook_id}/secret", response_model=RegisteredWebhook, responses=UNKNOWN | refused(HTTPStatus.CONFLICT))
async def set_secret(known: Known, body: NewSecret, worker: CurrentWorker, envelope: CommandEnvelope) -> Response:
    """Rotate the secret; the former ones sign too for a while. The answer contains the new secret."""
    of_webhook = known.message.envelope
    message = WebhookSecretSet(
        envelope=replace(envelope, user_id=of_webhook.user_id, agent_id=of_webhook.agent_id),
        webhook_id=known.message.webhook_id,
        secret=Sealed.clear(new_secret() if body.secret is None else read_secret(body.secret)),
        both_until=envelope.occurred_at + timedelta(seconds=body.both_for),
    )
    try:
        was_set = await part_of(worker).webhooks.set_secret(message)
    except registered.WebhookUnknown as unknown:  # removed at this moment
        raise Problem(HTTPStatus.NOT_FOUND, str(unknown)) from unknown
    if body.secret is not None and was_set.secret != message.secret:
        raise Problem(HTTPStatus.CONFLICT, "the Idempotency-Key was used for another secret: use a new one")
    return answer(_view(known) | {"secret": spelt(was_set.secret.data)})


@router.post("/{webhook_id}/replay", response_model=Webhook, responses=UNKNOWN)
async def replay(known: Known, body: Replay, worker: CurrentWorker, envelope: CommandEnvelope) -> Response:
    """Post again what happened after a cursor, as far back as the ledger is kept, and continue from there."""
    wanted = ChangesWanted(tenant=envelope.tenant, user_id=known.user_id, agent_id=known.message.envelope.agent_id)
    after = await worker.change_feed.begin(wanted, body.after)
    move = WebhookMoved(envelope=envelope, webhook_id=known.message.webhook_id, after=after, only_back=False)
    try:
        return answer(_view(await part_of(worker).webhooks.move(move)))
    except registered.WebhookUnknown as unknown:  # removed at this moment
        raise Problem(HTTPStatus.NOT_FOUND, str(unknown)) from unknown


def _says_the_same(known: WebhookSet, asked: WebhookSet, *, keeps_secret: bool) -> bool:
    """Return whether a request is the repeat of the one that has set a webhook; where it begins may be later by now."""
    has_secret = keeps_secret or known.secret == asked.secret
    one, other = known.envelope, asked.envelope
    is_of_same = (one.user_id, one.agent_id) == (other.user_id, other.agent_id)
    return is_of_same and has_secret and (known.url, known.types) == (asked.url, asked.types)


def _view(known: registered.Webhook) -> dict[str, Any]:
    message, state = known.message, known.state
    return {
        "webhook_id": message.webhook_id,
        "url": message.url.text,
        "types": message.types,
        "user_id": known.user_id,
        "agent_id": message.envelope.agent_id,
        "created_at": instant(message.envelope.occurred_at),
        "by": message.envelope.by,
        "reached": state.reached,
        "deliveries": state.deliveries,
        "delivered_at": None if state.delivered_at is None else instant(state.delivered_at),
        "given_up": state.given_up,
        "attempts": state.attempts,
        "failing_since": None if state.failing_since is None else instant(state.failing_since),
        "failure": state.failure,
    }
