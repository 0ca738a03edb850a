"""A wake as JSON, with the current form of its memories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from projections.queries.views import memory_view
from projections.state.memory import ACTIVE
from schemas.identity import GLOBAL_USER, Owner
from schemas.instant import instant

if TYPE_CHECKING:
    from datetime import datetime

    from projections.partitions.shards import Shards
    from projections.shard.rows.wakes import Raised

SESSION_ID: Final = "system:dm:system"
"""The session in which an agent is woken. It is not a user's conversation, and nothing is written to it."""


def wake_view(shards: Shards, raised: Raised, now: datetime, agent_id: str | None = None) -> dict[str, Any]:
    """Return the JSON form of a wake for delivery. Raises NotHeld.

    It contains those memories, of the ones chosen when the wake was raised, that are still active and, with an
    `agent_id`, visible to that agent. Delivery does not count as a recall.
    """
    event, owner = raised.event, raised.owner
    both = [owner, Owner(owner.tenant, GLOBAL_USER)]
    found = [
        (whose, shards.state(whose).memories[memory_id])
        for memory_id in event.memory_ids
        for whose in both
        if memory_id in shards.state(whose).memories
    ]
    return {
        "wake_id": event.wake_id,
        "user_id": owner.user_id,
        "kind": event.kind,
        "text": event.text.text,
        "agent_id": event.envelope.agent_id,
        "session_id": SESSION_ID,
        "channel": event.channel,
        "content": None if event.content is None else event.content.text,
        "reminder_id": event.reminder_id,
        "due_at": instant(event.due_at),
        "raised_at": instant(event.raised_at),
        "history": [],
        "memories": [
            memory_view(whose, m, now) for whose, m in found if m.status_at(now) == ACTIVE and m.visible_to(agent_id)
        ],
    }
