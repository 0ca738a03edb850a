"""Webhooks as their topics have them: moves, progress that comes late, and what others wrote."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import permutations

import pytest
from support.memory_log import MemoryLog

from mnemolog.extensions.webhooks.registered import MAX_SECRETS, Webhook, WebhookRefused, Webhooks, WebhookUnknown
from schemas.identity import GLOBAL_USER
from schemas.log import NewRecord
from schemas.messages.envelope import Envelope, Sealed
from schemas.messages.webhooks import WebhookMoved, WebhookProgress, WebhookRemoved, WebhookSecretSet, WebhookSet
from schemas.topics import WEBHOOK_PROGRESS, WEBHOOKS

ID = "w1"
MONDAY = datetime(2026, 1, 5, tzinfo=UTC)


def cursor(first: int, second: int) -> str:
    return urlsafe_b64encode(f"0:{first},1:{second}".encode()).decode().rstrip("=")


def envelope(tenant: str = "t") -> Envelope:
    return Envelope(
        event_id="e", tenant=tenant, user_id=GLOBAL_USER, occurred_at=datetime(2026, 1, 5, tzinfo=UTC), by=None
    )


def webhook_set() -> WebhookSet:
    return WebhookSet(
        envelope=envelope(),
        webhook_id=ID,
        url=Sealed.clear("https://hooks.example/"),
        secret=Sealed.clear(b"s" * 32),
        types=[],
        after=cursor(1, 1),
    )


def moved(after: str, *, only_back: bool, tenant: str = "t") -> WebhookMoved:
    return WebhookMoved(envelope=envelope(tenant), webhook_id=ID, after=after, only_back=only_back)


def secret_set(secret: bytes, both_until: datetime, event_id: str, tenant: str = "t") -> WebhookSecretSet:
    return WebhookSecretSet(
        envelope=replace(envelope(tenant), event_id=event_id),
        webhook_id=ID,
        secret=Sealed.clear(secret),
        both_until=both_until,
    )


def progress(webhook: Webhook, reached: str, **more: object) -> WebhookProgress:
    return replace(webhook.state, reached=reached, **more)  # type: ignore[arg-type]


async def folded(log: MemoryLog) -> WebhookProgress:
    """Return what a worker knows that reads both topics from the beginning."""
    webhooks = Webhooks(log, log)
    await webhooks.follow()
    known = webhooks.get(ID)
    assert known is not None
    return known.state


@pytest.mark.parametrize("letters", list(permutations([cursor(3, 9), cursor(7, 2)])))
async def test_letters_that_are_sent_back_in_any_order_lose_nothing(letters: tuple[str, ...]):
    log = MemoryLog(1)
    webhooks = Webhooks(log, log)
    webhook = await webhooks.set(webhook_set())
    await webhooks.write(progress(webhook, cursor(9, 9), deliveries=4))
    for letter in letters:
        await webhooks.move(moved(letter, only_back=True))
    assert webhook.state.reached == cursor(3, 2)
    assert await folded(log) == webhook.state


async def test_progress_of_who_knew_of_no_move_does_not_undo_it():
    log = MemoryLog(1)
    webhooks = Webhooks(log, log)
    webhook = await webhooks.set(webhook_set())
    late = progress(webhook, cursor(9, 9), deliveries=7)
    await webhooks.move(moved(cursor(2, 2), only_back=False))
    await webhooks.write(late)
    assert (webhook.state.reached, webhook.state.deliveries) == (cursor(2, 2), 7)
    await webhooks.write(progress(webhook, cursor(5, 5)))
    assert webhook.moves == []
    await webhooks.write(late)  # and of who comes later still nothing counts
    assert webhook.state.reached == cursor(5, 5)
    assert await folded(log) == webhook.state


async def test_what_another_tenant_or_nobody_of_us_wrote_changes_nothing():
    log = MemoryLog(1)
    webhooks = Webhooks(log, log)
    webhook = await webhooks.set(webhook_set())
    before = webhook.state
    await webhooks.move(moved(cursor(0, 0), only_back=False, tenant="other"))
    await webhooks.remove(WebhookRemoved(envelope=envelope("other"), webhook_id=ID))
    garbage = [NewRecord(topic=t.name, partition=0, key=b"k", value=b"junk") for t in (WEBHOOKS, WEBHOOK_PROGRESS)]
    await log.append(garbage)
    await webhooks.follow()
    assert webhooks.get(ID) is webhook
    assert webhook.state == before


async def test_one_that_was_removed_does_not_come_back_when_it_is_said_again():
    log = MemoryLog(1)
    webhooks = Webhooks(log, log)
    webhook = await webhooks.set(webhook_set())
    await webhooks.remove(WebhookRemoved(envelope=envelope(), webhook_id=ID))
    await webhooks.write(progress(webhook, cursor(9, 9)))
    with pytest.raises(WebhookRefused, match="use a new Idempotency-Key"):
        await webhooks.set(webhook_set())
    with pytest.raises(WebhookUnknown):
        await webhooks.move(moved(cursor(0, 0), only_back=False))
    assert webhooks.all() == []


async def test_progress_is_compacted_where_no_broker_does_it():
    log = MemoryLog(1)
    compacted: list[str] = []

    async def compact(topic: str) -> None:
        compacted.append(topic)

    webhooks = Webhooks(log, log, compact=compact)
    webhook = await webhooks.set(webhook_set())
    for number in range(400):
        await webhooks.write(progress(webhook, cursor(number, number)))
    assert compacted == [WEBHOOK_PROGRESS.name] * 2


async def test_a_former_secret_signs_until_each_later_one_says():
    log = MemoryLog()
    webhooks = Webhooks(log, log)
    webhook = await webhooks.set(webhook_set())
    first, hour = b"s" * 32, timedelta(hours=1)
    assert webhook.secrets_at(MONDAY) == [first]
    assert await webhooks.set_secret(secret_set(b"a" * 32, MONDAY + 2 * hour, "1"))
    assert webhook.secrets_at(MONDAY) == [b"a" * 32, first]
    assert webhook.secrets_at(MONDAY + 2 * hour) == [b"a" * 32]
    again = await webhooks.set_secret(secret_set(b"x" * 32, MONDAY + 9 * hour, "1"))  # the same request
    assert again.secret.data == b"a" * 32
    await webhooks.set_secret(secret_set(b"b" * 32, MONDAY + hour, "2"))
    assert webhook.secrets_at(MONDAY) == [b"b" * 32, b"a" * 32, first]
    assert webhook.secrets_at(MONDAY + hour) == [b"b" * 32]  # it ends all before it, also what would have signed longer
    for number in range(3, 12):
        await webhooks.set_secret(secret_set(bytes([number]) * 32, MONDAY + hour, str(number)))
    assert webhook.secrets_at(MONDAY) == [bytes([number]) * 32 for number in range(11, 11 - MAX_SECRETS, -1)]
    read_again = Webhooks(log, log)
    await read_again.follow()
    known = read_again.get(ID)
    assert known is not None
    assert known.secrets_at(MONDAY) == webhook.secrets_at(MONDAY)


async def test_a_secret_of_another_tenant_or_for_no_webhook_changes_nothing():
    log = MemoryLog()
    webhooks = Webhooks(log, log)
    with pytest.raises(WebhookUnknown):
        await webhooks.set_secret(secret_set(b"a" * 32, MONDAY, "1"))
    webhook = await webhooks.set(webhook_set())
    with pytest.raises(WebhookUnknown):
        await webhooks.set_secret(secret_set(b"a" * 32, MONDAY, "2", tenant="other"))
    assert webhook.secrets_at(MONDAY) == [b"s" * 32]
