"""The intimacy of a user with each agent that the ledger keeps after retention has removed the turns that said it."""

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
"""The last that was said with each agent; None: with no agent named."""


def last_kept(kept: ByAgent, agent_id: str | None) -> Intimacy | None:
    """Return what was said last with an agent or with none; without an agent, with any."""
    said = (c for agent, c in kept.items() if agent_id is None or agent in (None, agent_id))
    return max(said, key=lambda c: (c.said_at, c.intimacy), default=None)


def intimacy_rows(kept: ByAgent) -> list[tuple[str | None, str, float]]:
    """Return (agent, effective time, intimacy) in one order, no agent first: as shard and digest write it."""
    found = [(agent, c.said_at.isoformat(), c.intimacy) for agent, c in kept.items()]
    return sorted(found, key=lambda row: (row[0] is not None, row[0] or ""))
