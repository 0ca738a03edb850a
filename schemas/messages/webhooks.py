"""Webhooks: whom changes are posted to, and how far each of them has come."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from schemas.messages.envelope import Envelope, Sealed


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookSet:
    """From here on changes of the envelope's tenant are posted to an address."""

    envelope: Envelope
    """Of the user whose changes are wanted, or the global user for those of all; of an agent for what it knows."""
    webhook_id: str
    url: Sealed
    secret: Sealed
    """The key of the signatures, as bytes."""
    types: list[str]
    """Of the changes wanted; none: all types."""
    after: str
    """The cursor of the feed to begin behind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookSecretSet:
    """A webhook's deliveries are signed with a new secret."""

    envelope: Envelope
    """Of the same user and agent as the webhook's own, so that it goes where that goes."""
    webhook_id: str
    secret: Sealed
    """The key of the signatures, as bytes."""
    both_until: datetime
    """Until when the secrets before this one sign too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookMoved:
    """A webhook goes on behind another cursor."""

    envelope: Envelope
    webhook_id: str
    after: str
    only_back: bool
    """Whether a partition that has not come so far stays where it is: what was not delivered is never passed over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookRemoved:
    """Nothing is posted for a webhook any more."""

    envelope: Envelope
    """Of the global user, so that it outlives the user whose changes were wanted."""
    webhook_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookProgress:
    """How far a webhook has come; the newest one counts."""

    webhook_id: str
    reached: str
    """The cursor of the feed before which all is delivered, or given up."""
    move: int
    """The offset of the last move, or else of the WebhookSet, that it knows: an older one than the last counts not."""
    deliveries: int
    given_up: int
    """How many deliveries became dead letters."""
    delivered_at: datetime | None = None
    attempts: int = 0
    """Failed ones of the delivery that waits."""
    failing_since: datetime | None = None
    failure: str | None = None
    """What the last failed attempt met: a status, or why there was no answer."""
