"""The intimacy of a user with each agent, which the ledger keeps after retention has removed the turns that had it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from datetime import datetime

    from immutables import Map


@dataclass(frozen=True, slots=True)
class Intimacy:
    """An intimacy of 0 to 100, and the effective time of the turn that carried it."""

    said_at: datetime
    intimacy: float


ByAgent: TypeAlias = "Map[str | None, Intimacy]"
"""The last intimacy with each agent; None stands for turns that name no agent."""


def last_kept(kept: ByAgent, agent_id: str | None) -> Intimacy | None:
    """Return the last intimacy of turns with `agent_id` or no agent, or of all turns if `agent_id` is None."""
    said = (c for agent, c in kept.items() if agent_id is None or agent in (None, agent_id))
    return max(said, key=lambda c: (c.said_at, c.intimacy), default=None)


def intimacy_rows(kept: ByAgent) -> list[tuple[str | None, str, float]]:
    """Return (agent, effective time, intimacy), no agent first, in the order in which shard and digest write them."""
    found = [(agent, c.said_at.isoformat(), c.intimacy) for agent, c in kept.items()]
    return sorted(found, key=lambda row: (row[0] is not None, row[0] or ""))
