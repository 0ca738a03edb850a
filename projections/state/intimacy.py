"""How close a user is to each agent, as the ledger keeps it when the turns that said so are kept no more."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, TypeAlias

import orjson
from immutables import Map

from projections.shard.tables import name_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from projections.shard.tables import ShardConnection
    from projections.state.memory import UserState
    from schemas.identity import Owner


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


class IntimacyRows:
    """What the ledger keeps of one shard's users, in its file."""

    def __init__(self, connection: ShardConnection) -> None:
        self._connection = connection

    def of(self, owner: Owner) -> ByAgent:
        """Return what is kept of a user."""
        row = self._connection.execute("select body from closeness where owner=?", (name_of(owner),)).fetchone()
        said = [] if row is None else orjson.loads(row[0])
        return Map({agent: Intimacy(datetime.fromisoformat(at), intimacy) for agent, at, intimacy in said})

    def write(self, owners: Iterable[Owner], states: Mapping[Owner, UserState]) -> None:
        """Write that of users whose states have changed; the caller's transaction commits it."""
        rows = [(name_of(owner), orjson.dumps(spelt(states[owner].closeness))) for owner in owners]
        self._connection.executemany("insert or replace into closeness values(?,?)", rows)


def spelt(kept: ByAgent) -> list[tuple[str | None, str, float]]:
    """Return what is kept in one order: agent, effective time, intimacy."""
    found = [(agent, c.said_at.isoformat(), c.intimacy) for agent, c in kept.items()]
    return sorted(found, key=lambda row: (row[0] is not None, row[0] or ""))
