"""The part of a worker: it posts changes, and forgets the webhooks of users who are erased."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mnemolog.extensions.webhooks.deliveries import Deliveries
from mnemolog.extensions.webhooks.registered import Webhooks
from schemas.identity import GLOBAL_USER, derived_id
from schemas.messages.envelope import Envelope
from schemas.messages.webhooks import WebhookRemoved
from schemas.topics import WEBHOOKS
from streams.delivery.retry import RetryingReads
from streams.transports.sqlite.log import SqliteLog
from streams.transports.sqlite.rewriting import overwrite

if TYPE_CHECKING:
    from datetime import datetime

    from mnemolog.hooks import Collaborators
    from mnemolog.worker.worker import Worker
    from schemas.identity import Owner
    from schemas.log import Log


class WebhookPart:
    """The webhooks that this worker knows, and the deliveries of those that are its own."""

    def __init__(self, given: Collaborators) -> None:
        # Kafka compacts their topic itself.
        compact = given.inner.compact if isinstance(given.inner, SqliteLog) else None
        self.webhooks = Webhooks(RetryingReads(given.log), RetryingReads(given.inner), compact=compact)
        self.deliveries = Deliveries(
            self.webhooks,
            given.change_feed,
            given.receivers,
            log=given.log,
            shards=given.shards,
            clock=given.clock,
            is_in_session=given.is_in_session,
            counted=given.counted,
        )
        self._inner = given.inner

    async def run(self) -> None:
        """Post changes, until cancelled."""
        await self.deliveries.run()

    async def erase(self, owner: Owner, erased_at: datetime) -> None:
        """Remove the webhooks about a user. Raises LogError."""
        await erase_webhooks(self.webhooks, self._inner, owner, erased_at)


async def erase_webhooks(webhooks: Webhooks, inner: Log, owner: Owner, erased_at: datetime) -> None:
    """Remove the webhooks about a user, because they name the user. Those registered since the erasure stay.

    Raises LogError.
    """
    await webhooks.follow()
    mine = [
        one
        for one in webhooks.of(owner.tenant)
        if one.user_id == owner.user_id and one.message.envelope.occurred_at <= erased_at
    ]
    if mine and isinstance(inner, SqliteLog):
        await overwrite(inner, WEBHOOKS.name, 0, owner.key, max(one.offset for one in mine) + 1)
    for one in mine:
        envelope = Envelope(
            event_id=derived_id("webhook-erased", one.webhook_id),
            tenant=owner.tenant,
            user_id=GLOBAL_USER,
            occurred_at=erased_at,
        )
        await webhooks.remove(WebhookRemoved(envelope=envelope, webhook_id=one.webhook_id))


def part_of(worker: Worker) -> WebhookPart:
    """Return this extension's part of a worker."""
    return next(part for part in worker.parts if isinstance(part, WebhookPart))
