"""The last intimacy of a user with each agent, as a row of the shard's file.

The table, and the word in digests, are called `closeness`: existing files and digests keep their names.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import orjson
from immutables import Map

from projections.shard.tables import name_of
from projections.state.intimacy import Intimacy, intimacy_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from projections.shard.tables import ShardConnection
    from projections.state.intimacy import ByAgent
    from projections.state.memory import UserState
    from schemas.identity import Owner


class IntimacyRows:
    """The intimacies that the ledger keeps of one shard's users, in its file."""

    def __init__(self, connection: ShardConnection) -> None:
        self._connection = connection

    def of(self, owner: Owner) -> ByAgent:
        """Return a user's last intimacy with each agent."""
        row = self._connection.execute("select body from closeness where owner=?", (name_of(owner),)).fetchone()
        said = [] if row is None else orjson.loads(row[0])
        return Map({agent: Intimacy(datetime.fromisoformat(at), intimacy) for agent, at, intimacy in said})

    def write(self, owners: Iterable[Owner], states: Mapping[Owner, UserState]) -> None:
        """Write the rows of users whose states have changed; the caller's transaction commits them."""
        rows = [(name_of(owner), orjson.dumps(intimacy_rows(states[owner].intimacies))) for owner in owners]
        self._connection.executemany("insert or replace into closeness values(?,?)", rows)
