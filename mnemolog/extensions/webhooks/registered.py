"""The registered webhooks of all tenants and their progress, folded from the log."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from mnemolog.changes.feed import earliest
from schemas import codec
from schemas.identity import GLOBAL_USER
from schemas.log import NewRecord
from schemas.messages.webhooks import (
    WebhookMoved,
    WebhookProgress,
    WebhookRemoved,
    WebhookSecretSet,
    WebhookSet,
)
from schemas.topics import WEBHOOK_PROGRESS, WEBHOOKS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from datetime import datetime

    from schemas.log import Log, Record

log = logging.getLogger("mnemolog")
MAX_WEBHOOKS: Final = 50
"""The webhooks that a tenant may have, because each of them reads the feed."""
MAX_SECRETS: Final = 5
"""The secrets that sign one delivery, because each adds a signature to a header."""
COMPACT_EVERY: Final = 200
"""Records of progress after which the topic is compacted."""
Message = WebhookSet | WebhookSecretSet | WebhookMoved | WebhookRemoved


class WebhookRefused(ValueError):
    """The webhook cannot be registered; the message says why, and what to do."""


class WebhookUnknown(ValueError):
    """There is no such webhook, or it was removed."""


@dataclass(slots=True)
class Webhook:
    """A webhook and its progress."""

    message: WebhookSet
    offset: int
    """The offset of the message in its topic."""
    progress: WebhookProgress
    """The newest progress written; later moves are applied to it."""
    secrets: list[WebhookSecretSet] = field(default_factory=list)
    """The secrets that replaced the first one, in order."""
    moves: list[tuple[int, WebhookMoved]] = field(default_factory=list)
    """The moves after the progress, with their offsets."""
    moved: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a move arrives, to end the pause before the next attempt."""

    @property
    def webhook_id(self) -> str:
        """The id of the webhook."""
        return self.message.webhook_id

    @property
    def tenant(self) -> str:
        """The tenant that owns the webhook."""
        return self.message.envelope.tenant

    @property
    def user_id(self) -> str | None:
        """The user whose changes are delivered, None for all users."""
        user_id = self.message.envelope.user_id
        return None if user_id == GLOBAL_USER else user_id

    def secrets_at(self, at: datetime) -> list[bytes]:
        """Return the secrets that sign at an instant, newest first, at most MAX_SECRETS.

        A former secret signs until the earliest `both_until` of the later ones.
        """
        found: list[bytes] = []
        ends: datetime | None = None
        for one in reversed(self.secrets):
            if ends is None or at < ends:
                found.append(one.secret.data)
            ends = one.both_until if ends is None else min(ends, one.both_until)
        if ends is None or at < ends:
            found.append(self.message.secret.data)
        return found[:MAX_SECRETS]

    @property
    def state(self) -> WebhookProgress:
        """The current progress: the one last written, with the moves since applied."""
        state = self.progress
        for offset, move in self.moves:
            reached = earliest(state.reached, move.after) if move.only_back else move.after
            state = replace(state, reached=reached, move=offset, attempts=0, failing_since=None, failure=None)
        return state


class Webhooks:
    """Folds the topic of webhooks and the topic of their progress from the beginning, and follows both.

    Every worker reads both topics completely: webhooks are few, and no partition owns a tenant. Their settings are
    sealed. Progress contains no content of users and is stored unencrypted, because compaction needs the keys.
    """

    def __init__(
        self,
        log: Log,
        inner: Log,
        *,
        compact: Callable[[str], Awaitable[object]] | None = None,
        max_webhooks: int = MAX_WEBHOOKS,
    ) -> None:
        """Read webhooks from `log`, and progress from `inner`, the same log without sealing.

        `compact` keeps the newest record of each key of a topic; None if the broker compacts by itself.
        """
        self._log = log
        self._inner = inner
        self._compact = compact
        self._max_webhooks = max_webhooks
        self._next = {WEBHOOKS.name: 0, WEBHOOK_PROGRESS.name: 0}
        self._held: dict[str, Webhook] = {}
        self._removed: set[str] = set()
        self._uncompacted = 0
        self._following = asyncio.Lock()

    async def follow(self) -> None:
        """Fold the records that the topics hold now. Raises LogUnavailable."""
        async with self._following:
            for source, topic, fold in (
                (self._log, WEBHOOKS.name, self._fold),
                (self._inner, WEBHOOK_PROGRESS.name, self._fold_progress),
            ):
                while records := await source.read(topic, 0, self._next[topic]):
                    for record in records:
                        fold(record)
                    self._next[topic] = records[-1].position.offset + 1

    def all(self) -> list[Webhook]:
        """Return the webhooks of all tenants."""
        return list(self._held.values())

    def of(self, tenant: str) -> list[Webhook]:
        """Return a tenant's webhooks, oldest first."""
        return [one for one in self._held.values() if one.tenant == tenant]

    def get(self, webhook_id: str) -> Webhook | None:
        """Return a webhook; None if it was never set or was removed."""
        return self._held.get(webhook_id)

    async def set(self, message: WebhookSet) -> Webhook:
        """Register a webhook durably, and return it; an existing one with the same id stays unchanged.

        Raises LogUnavailable, RecordTooLarge, and WebhookRefused if the tenant has too many or this one was removed.
        """
        await self.follow()
        known = self._held.get(message.webhook_id)
        if known is not None:
            return known
        if message.webhook_id in self._removed:
            raise WebhookRefused("this request has set a webhook that was removed since: use a new Idempotency-Key")
        if len(self.of(message.envelope.tenant)) < self._max_webhooks:
            await self._append(message)
        known = self._held.get(message.webhook_id)
        if known is None:  # also if other workers registered some between the check and the append
            raise WebhookRefused(f"there are {self._max_webhooks} webhooks already: remove one first")
        return known

    async def set_secret(self, message: WebhookSecretSet) -> WebhookSecretSet:
        """Sign with another secret from now on; return the message, or its first version if it is a repeat.

        Raises WebhookUnknown, LogUnavailable.
        """
        await self._append(message)
        known = self._held.get(message.webhook_id)
        for one in known.secrets if known is not None else ():
            if one.envelope.event_id == message.envelope.event_id:
                return one
        raise WebhookUnknown(f"there is no webhook {message.webhook_id!r}")

    async def move(self, message: WebhookMoved) -> Webhook:
        """Make a webhook continue after another cursor. Raises WebhookUnknown, LogUnavailable."""
        await self._append(message)
        known = self._held.get(message.webhook_id)
        if known is None:
            raise WebhookUnknown(f"there is no webhook {message.webhook_id!r}")
        return known

    async def remove(self, message: WebhookRemoved) -> None:
        """Remove a webhook; repeating it changes nothing. Raises LogUnavailable."""
        await self._log.append([_record(message)])
        await self._inner.append([_progress_record(message.webhook_id, b"")])
        await self.follow()

    async def write(self, progress: WebhookProgress) -> None:
        """Write the progress of a webhook. Raises LogUnavailable."""
        await self._inner.append([_progress_record(progress.webhook_id, codec.encode(progress))])
        await self.follow()
        if self._compact is not None and self._uncompacted >= COMPACT_EVERY:
            self._uncompacted = 0
            await self._compact(WEBHOOK_PROGRESS.name)

    async def _append(self, message: Message) -> None:
        await self._log.append([_record(message)])
        await self.follow()

    def _fold(self, record: Record) -> None:
        if record.is_erased:
            return
        try:
            message = codec.decode(record.value)
        except codec.Undecodable:
            message = None
        offset = record.position.offset
        match message:
            case WebhookSet():
                self._fold_set(offset, message)
            case WebhookSecretSet():
                webhook = self._held.get(message.webhook_id)
                if webhook is not None and webhook.tenant == message.envelope.tenant:
                    _fold_secret(webhook, message)
            case WebhookMoved():
                webhook = self._held.get(message.webhook_id)
                if webhook is not None and webhook.tenant == message.envelope.tenant:
                    webhook.moves.append((offset, message))
                    webhook.moved.set()
            case WebhookRemoved():
                webhook = self._held.get(message.webhook_id)
                if webhook is not None and webhook.tenant == message.envelope.tenant:
                    del self._held[message.webhook_id]
                    self._removed.add(message.webhook_id)
                    webhook.moved.set()
            case _:
                log.error("the record at %s is about no webhook: it is passed over", record.position)

    def _fold_set(self, offset: int, message: WebhookSet) -> None:
        if message.webhook_id in self._held or message.webhook_id in self._removed:
            return  # a repeat
        if len(self.of(message.envelope.tenant)) >= self._max_webhooks:  # two workers, at the same moment
            log.error("the webhook %s is one too many: it is passed over", message.webhook_id)
            return
        begin = WebhookProgress(
            webhook_id=message.webhook_id, reached=message.after, move=offset, deliveries=0, given_up=0
        )
        self._held[message.webhook_id] = Webhook(message=message, offset=offset, progress=begin)

    def _fold_progress(self, record: Record) -> None:
        self._uncompacted += 1
        if not record.value:
            return
        try:
            progress = codec.decode_as(record.value, WebhookProgress)
        except codec.Undecodable:
            log.error("the record at %s is no webhook's progress: it is passed over", record.position)  # noqa: TRY400 - the writer is at fault
            return
        webhook = self._held.get(progress.webhook_id)
        if webhook is None or progress.move < webhook.progress.move:
            return  # the webhook was removed, or the writer did not know the last move yet
        webhook.progress = progress
        webhook.moves = [move for move in webhook.moves if move[0] > progress.move]


def _fold_secret(webhook: Webhook, message: WebhookSecretSet) -> None:
    if all(one.envelope.event_id != message.envelope.event_id for one in webhook.secrets):  # else it is a repeat
        webhook.secrets.append(message)


def _record(message: Message) -> NewRecord:
    return NewRecord(topic=WEBHOOKS.name, partition=0, key=message.envelope.owner.key, value=codec.encode(message))


def _progress_record(webhook_id: str, value: bytes) -> NewRecord:
    return NewRecord(topic=WEBHOOK_PROGRESS.name, partition=0, key=webhook_id.encode(), value=value)
