"""Deliveries: the feed of changes, posted page by page to the receivers of webhooks, at least once and in order."""

from __future__ import annotations

import asyncio
import logging
import random
from collections import defaultdict
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

import httpcore
import orjson

from mnemolog.changes.feed import ChangesWanted, UnknownCursor
from mnemolog.cluster.peers import PeerUnavailable
from mnemolog.extensions.webhooks.signature import signed_headers
from mnemolog.receivers import AddressRefused
from projections.partitions.assignment import NotHeld
from projections.shard.errors import ShardUnavailable
from schemas import codec
from schemas.identity import Owner, derived_id
from schemas.log import LogUnavailable, NewRecord
from schemas.messages.dead_letters import UNDELIVERED, DeadLetter
from schemas.messages.envelope import Envelope
from schemas.messages.webhooks import WebhookMoved
from schemas.topics import DEAD_LETTERS, WEBHOOKS, partition_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from mnemolog.changes.feed import ChangeFeed
    from mnemolog.extensions.webhooks.registered import Webhook, Webhooks
    from mnemolog.receivers import Receivers
    from projections.partitions.shards import Shards
    from schemas.instant import Clock
    from schemas.log import Log
    from schemas.messages.webhooks import WebhookProgress

log = logging.getLogger("mnemolog")
FOLLOW_EVERY_SECONDS: Final = 1.0
LOOK_SECONDS: Final = 0.25
"""The pause between two reads of the feed while there are changes; it doubles up to LONGEST_LOOK_SECONDS otherwise."""
LONGEST_LOOK_SECONDS: Final = 1.0
CHANGES_AT_ONCE: Final = 100
OF_A_TENANT_AT_ONCE: Final = 8
"""Concurrent deliveries of a tenant. If its receivers do not answer, only its own other deliveries wait."""
WRITE_EVERY: Final = timedelta(seconds=1)
"""The minimum time between two writes of progress while deliveries succeed; a crash repeats unwritten ones."""
PASSED_OVER_EVERY: Final = timedelta(minutes=1)
"""The minimum time between two writes of progress that only skipped unwanted changes."""
FIRST_PAUSE_SECONDS: Final = 1.0
LONGEST_PAUSE_SECONDS: Final = 3_600.0
GIVEN_UP_AFTER: Final = timedelta(hours=24)
_SUCCESS: Final = range(200, 300)
_SLOW_DOWN: Final = (429, 503)
"""The statuses whose Retry-After is honoured."""


class Deliveries:
    """Posts changes to the webhooks whose partition this worker holds.

    The hash of a webhook's id selects its partition, and so the worker that posts for it. While partitions move, two
    workers may post the same page; a receiver recognises repeats by `webhook-id`, and changes by their `event_id`.
    """

    def __init__(
        self,
        webhooks: Webhooks,
        feed: ChangeFeed,
        receivers: Receivers,
        *,
        log: Log,
        shards: Shards,
        clock: Clock,
        is_in_session: Callable[[], bool],
        counted: Callable[[str, str], None],
        given_up_after: timedelta = GIVEN_UP_AFTER,
        first_pause_seconds: float = FIRST_PAUSE_SECONDS,
    ) -> None:
        """Post changes from the feed to the receivers; `counted` is called with `webhook` and each outcome."""
        self._webhooks = webhooks
        self._feed = feed
        self._receivers = receivers
        self._log = log
        self._shards = shards
        self._clock = clock
        self._is_in_session = is_in_session
        self._counted = counted
        self._given_up_after = given_up_after
        self._first_pause_seconds = first_pause_seconds
        self._running: dict[str, asyncio.Task[None]] = {}
        self._chance = random.Random()  # noqa: S311 - no secret; its own instance, to leave global seeds alone
        self._turns = defaultdict[str, asyncio.Semaphore](lambda: asyncio.Semaphore(OF_A_TENANT_AT_ONCE))

    async def run(self) -> None:
        """Post for the webhooks that currently belong to this worker, until cancelled."""
        try:
            while True:
                try:
                    await self._webhooks.follow()
                except LogUnavailable:
                    pass  # known webhooks continue
                else:
                    self._start_and_stop()
                await asyncio.sleep(FOLLOW_EVERY_SECONDS)
        finally:
            for task in self._running.values():
                task.cancel()
            await asyncio.gather(*self._running.values(), return_exceptions=True)

    def _start_and_stop(self) -> None:
        for webhook_id, task in list(self._running.items()):
            if task.done():
                del self._running[webhook_id]
                task.result()  # a bug ends the worker, as in its other tasks
            elif not self._is_ours(webhook_id):
                task.cancel()
                del self._running[webhook_id]
        for webhook in self._webhooks.all():
            if webhook.webhook_id not in self._running and self._is_ours(webhook.webhook_id):
                self._running[webhook.webhook_id] = asyncio.create_task(self._post_changes(webhook))

    def _is_ours(self, webhook_id: str) -> bool:
        is_known = self._webhooks.get(webhook_id) is not None
        return is_known and partition_of(webhook_id.encode(), self._shards.partitions) in self._shards.held()

    async def _post_changes(self, webhook: Webhook) -> None:
        """Post the changes after a webhook's cursor, for as long as the webhook exists."""
        one = _Posting(webhook)
        while self._webhooks.get(webhook.webhook_id) is webhook:
            try:
                async with self._turns[webhook.tenant]:
                    pause = await self._step(one)
            except (LogUnavailable, NotHeld, PeerUnavailable, ShardUnavailable):
                pause = LONGEST_LOOK_SECONDS  # a partition moves, or the log is down: retried soon
            except UnknownCursor as error:
                log.error("the webhook %s is not delivered: %s", webhook.webhook_id, error)  # noqa: TRY400 - the cursor is at fault, not this code
                pause = LONGEST_PAUSE_SECONDS
            await one.wait(pause)

    async def _step(self, one: _Posting) -> float:
        """Post the next page, if any; return the seconds to wait before the next step. Raises the feed's errors."""
        one.take_moves()
        # The page is read again for each attempt, so that it omits users who were erased meanwhile.
        page = await self._feed.page(one.wanted, one.state.reached, CHANGES_AT_ONCE)
        items = [item for item in page["items"] if not one.types or item["type"] in one.types]
        if items:
            if not self._is_in_session():
                return LONGEST_LOOK_SECONDS  # the process was frozen: another worker may have taken over
            failure, retry_after = await self._attempt(one, items, page)
            if failure is not None:
                return await self._fail(one, failure, retry_after, str(page["next"]))
            self._counted("webhook", "delivered")
            one.succeed(self._clock.now())
        one.state = replace(one.state, reached=str(page["next"]))
        await self._write(one)
        return 0.0 if page["more"] else one.next_look(found=bool(items))

    async def _fail(self, one: _Posting, failure: str, retry_after: float | None, behind: str) -> float:
        """Record a failed attempt, and give the delivery up after `given_up_after`; return the seconds to wait."""
        self._counted("webhook", "failed")
        now = self._clock.now()
        since = one.state.failing_since or now
        failed = replace(one.state, attempts=one.state.attempts + 1, failing_since=since, failure=failure)
        if now - since < self._given_up_after:
            one.state = failed
            await self._write(one, at_once=True)
            return self._pause(failed.attempts, retry_after)
        await self._put_aside(one.webhook, failed)
        self._counted("webhook", "given_up")
        one.state = replace(failed, reached=behind, given_up=failed.given_up + 1, attempts=0, failing_since=None)
        await self._write(one, at_once=True)
        return 0.0

    async def _attempt(
        self, one: _Posting, items: list[dict[str, Any]], page: dict[str, Any]
    ) -> tuple[str | None, float | None]:
        """Post a page; return the reason of a failure (None on success), and the Retry-After of the receiver."""
        message, state, now = one.webhook.message, one.state, self._clock.now()
        answered = {"webhook_id": message.webhook_id, "items": items, "next": page["next"], "more": page["more"]}
        body = orjson.dumps(answered)
        delivery_id = "msg_" + derived_id("delivery", message.webhook_id, state.move, state.reached)
        headers = {
            "content-type": "application/json",
            "user-agent": "mnemolog",
            **signed_headers(one.webhook.secrets_at(now), delivery_id, now, body),
        }
        try:
            answer = await self._receivers.post(message.url.text, headers, body)
        except AddressRefused:  # its text names the host, and progress is stored unencrypted
            return "the address is private, or no https:// address", None
        except TimeoutError:
            return "no answer in time", None
        except (OSError, httpcore.ConnectError):
            return "no connection", None
        except Exception as error:  # noqa: BLE001 - a foreign server may cause any error
            return type(error).__name__, None
        if answer.status in _SUCCESS:
            return None, None
        asked = answer.retry_after if answer.status in _SLOW_DOWN else None
        return f"status {answer.status}", asked

    async def _write(self, one: _Posting, *, at_once: bool = False) -> None:
        """Write a webhook's progress if it has changed and the last write is not recent. Raises LogUnavailable."""
        state, now = one.state, self._clock.now()
        every = WRITE_EVERY if state.deliveries != one.written.deliveries else PASSED_OVER_EVERY
        is_early = one.written_at is not None and timedelta(0) <= now - one.written_at < every
        if state != one.written and (at_once or not is_early):
            await self._webhooks.write(state)
            one.written, one.written_at = state, now

    async def _put_aside(self, webhook: Webhook, failed: WebhookProgress) -> None:
        """Append the dead letter of a delivery. Redelivering it moves the webhook back to its start."""
        tenant, now = webhook.tenant, self._clock.now()
        owner = Owner.of_key(webhook.message.envelope.owner.key)
        letter_id = derived_id("dead-letter", failed.webhook_id, failed.move, failed.reached)
        envelope = Envelope(event_id=letter_id, tenant=tenant, user_id=owner.user_id, occurred_at=now)
        move = WebhookMoved(envelope=envelope, webhook_id=failed.webhook_id, after=failed.reached, only_back=True)
        letter = DeadLetter(
            envelope=envelope,
            topic=WEBHOOKS.name,
            partition=0,
            offset=failed.move,
            key=owner.key,
            value=codec.encode(move),
            reason=UNDELIVERED,
            detail=f"webhook {failed.webhook_id}: {failed.attempts} attempts failed, the last with: {failed.failure}",
        )
        partition = partition_of(owner.key, await self._log.partitions(DEAD_LETTERS.name))
        record = NewRecord(topic=DEAD_LETTERS.name, partition=partition, key=owner.key, value=codec.encode(letter))
        await self._log.append([record])
        log.warning("a delivery of the webhook %s was given up, and is a dead letter now", failed.webhook_id)

    def _pause(self, attempts: int, retry_after: float | None) -> float:
        """Return the seconds to wait before the next attempt: an exponential back-off with jitter.

        Without jitter, all webhooks of a receiver that was down would retry at the same moment.
        """
        longest = min(LONGEST_PAUSE_SECONDS, self._first_pause_seconds * 2 ** min(attempts - 1, 20))
        pause = self._chance.uniform(longest / 2, longest)
        return max(pause, min(retry_after or 0.0, LONGEST_PAUSE_SECONDS))


class _Posting:
    """The state of a webhook at the worker that posts for it."""

    def __init__(self, webhook: Webhook) -> None:
        self.webhook = webhook
        self.state = self.written = webhook.state
        self.written_at: datetime | None = None
        envelope = webhook.message.envelope
        self.wanted = ChangesWanted(tenant=webhook.tenant, user_id=webhook.user_id, agent_id=envelope.agent_id)
        self.types = frozenset(webhook.message.types)
        self._look_seconds = LOOK_SECONDS

    def take_moves(self) -> None:
        """Adopt the position of a newer move, if there is one."""
        self.webhook.moved.clear()
        if self.webhook.state.move > self.state.move:
            self.state = self.webhook.state

    def succeed(self, now: datetime) -> None:
        """Record a successful delivery."""
        self.state = replace(
            self.state,
            deliveries=self.state.deliveries + 1,
            delivered_at=now,
            attempts=0,
            failing_since=None,
            failure=None,
        )

    def next_look(self, *, found: bool) -> float:
        """Return the seconds until the next read of the feed, which double while there are no changes."""
        self._look_seconds = LOOK_SECONDS if found else min(LONGEST_LOOK_SECONDS, self._look_seconds * 2)
        return self._look_seconds

    async def wait(self, seconds: float) -> None:
        """Wait for some seconds, or until a move arrives."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.webhook.moved.wait()
