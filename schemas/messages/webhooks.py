"""Webhooks: the addresses to which changes are posted, and the progress of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from schemas.messages.envelope import Envelope, Sealed


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookSet:
    """From here on, changes of the envelope's tenant are posted to an address."""

    envelope: Envelope
    """It names the user whose changes are wanted, or the global user for all; with an agent, only those it knows."""
    webhook_id: str
    url: Sealed
    secret: Sealed
    """The key of the signatures, as bytes."""
    types: list[str]
    """The types of the wanted changes; empty: all types."""
    after: str
    """The cursor of the feed after which to begin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookSecretSet:
    """A webhook's deliveries are signed with a new secret."""

    envelope: Envelope
    """It names the same user and agent as the webhook's own, so that both messages are sealed with the same key."""
    webhook_id: str
    secret: Sealed
    """The key of the signatures, as bytes."""
    both_until: datetime
    """The time until which the earlier secrets sign too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookMoved:
    """A webhook continues after another cursor."""

    envelope: Envelope
    webhook_id: str
    after: str
    only_back: bool
    """Whether partitions that have not reached the cursor stay where they are, so that no change is skipped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookRemoved:
    """Nothing is posted for a webhook any more."""

    envelope: Envelope
    """It names the global user, so that the message outlives the user whose changes were wanted."""
    webhook_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookProgress:
    """The progress of a webhook; the newest message counts."""

    webhook_id: str
    reached: str
    """The cursor of the feed before which all changes are delivered or given up."""
    move: int
    """The offset of the last WebhookMoved that it takes into account, else of the WebhookSet. Progress with an older
    offset than the known progress does not count."""
    deliveries: int
    given_up: int
    """The number of deliveries that became dead letters."""
    delivered_at: datetime | None = None
    attempts: int = 0
    """The number of failed attempts of the delivery that waits."""
    failing_since: datetime | None = None
    failure: str | None = None
    """The result of the last failed attempt: a status, or the reason why there was no answer."""
