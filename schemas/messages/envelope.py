"""The envelope of messages, and text that is sealed for its user."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from schemas.identity import Owner

if TYPE_CHECKING:
    from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """The id, owner, times and cause of a message.

    `recorded_at` is the log's append time; None until the log has the message. `by` is the id of the API key with which
    the message was sent; None without keys, and for messages that no caller sent, such as ticks.
    """

    event_id: str
    tenant: str
    user_id: str
    agent_id: str | None = None
    occurred_at: datetime
    recorded_at: datetime | None = None
    causation_id: str | None = None
    correlation_id: str | None = None
    by: str | None = None

    @property
    def owner(self) -> Owner:
        """The tenant and user that the message is about."""
        return Owner.of(self.tenant, self.user_id)

    def follow(
        self,
        event_id: str,
        *,
        occurred_at: datetime | None = None,
        owner: Owner | None = None,
        recorded_at: datetime | None = None,
    ) -> Envelope:
        """Return the envelope of a message that this one causes, by default at the same effective time.

        It has the `by` of this message. With an `owner` other than this message's, it has no agent.
        """
        tenant, user_id = (owner.tenant, owner.user_id) if owner else (self.tenant, self.user_id)
        # Not `replace`, which takes twice as long: each turn leads to several envelopes.
        return Envelope(
            event_id=event_id,
            tenant=tenant,
            user_id=user_id,
            agent_id=self.agent_id if (tenant, user_id) == (self.tenant, self.user_id) else None,
            occurred_at=occurred_at or self.occurred_at,
            recorded_at=recorded_at or self.recorded_at,
            causation_id=self.event_id,
            correlation_id=self.correlation_id or self.event_id,
            by=self.by,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Sealed:
    """Bytes that belong to the user alone: encrypted with the named key, or in clear without one."""

    key_id: str | None = None
    data: bytes

    @classmethod
    def clear(cls, data: bytes | str) -> Sealed:
        """Return bytes or text in clear."""
        return cls(data=data.encode() if isinstance(data, str) else data)

    @property
    def text(self) -> str:
        """The UTF-8 text of unencrypted bytes."""
        return self.data.decode()
