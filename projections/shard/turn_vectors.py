"""Vectors of turns, each with its reply: computed as turns come, and again if they are lost.

They are not a fold of the log, and no digest covers them: each is computed from words that the shard holds. Erasure
and retention remove them together with those words. A rebuilt shard copies those of its predecessor.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from projections.shard.tables import connect_to_read, name_of
from schemas.identity import Owner

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable
    from pathlib import Path

    from projections.shard.group_commit import GroupCommit

_REMOVE: Final = (
    "delete from turn_vectors where owner=? and event_id=?",
    "delete from turn_vectors where owner=? and reply_id=?",
)
_TAKE_OVER: Final = """
    insert or ignore into turn_vectors select ?1, ?2, ?3, ?4, ?5
    where exists(select 1 from observations where owner=?1 and event_id=?2 and turn is not null)
    and (?3 is null or exists(select 1 from observations where owner=?1 and event_id=?3 and turn is not null))
"""


@dataclass(frozen=True, slots=True)
class TurnVector:
    """The stored vector of a turn, and the id of the reply that it includes."""

    event_id: str
    reply_id: str | None
    vector: bytes


class TurnVectors:
    """The vectors of one shard's turns; each user's come from one encoder."""

    def __init__(self, connection: sqlite3.Connection, writes: GroupCommit) -> None:
        self._connection = connection
        self._writes = writes

    def of(self, owner: Owner, model: str, after: str = "", limit: int = -1) -> list[TurnVector]:
        """Return a user's vectors from an encoder, in the order of the turns' ids; all, or the next after one id."""
        query = (
            "select event_id, reply_id, vector from turn_vectors where owner=? and model=? and event_id>? "
            "order by event_id limit ?"
        )
        rows = self._connection.execute(query, (name_of(owner), model, after, limit)).fetchall()
        return [TurnVector(*row) for row in rows]

    def put(self, owner: Owner, model: str, vectors: Iterable[TurnVector]) -> None:
        """Store vectors, replacing those that the turns had. The caller holds the shard's `folding`.

        Raises ShardUnavailable, ShardDamaged.
        """
        rows = [(name_of(owner), one.event_id, one.reply_id, model, one.vector) for one in vectors]
        insert = "insert or replace into turn_vectors values(?,?,?,?,?)"
        self._writes.write(lambda: self._connection.executemany(insert, rows))

    def remove(self, owner: Owner, event_ids: Iterable[str]) -> None:
        """Remove the vectors of some turns. The caller holds the shard's `folding`. Raises as `put`."""
        places = [(name_of(owner), event_id) for event_id in event_ids]
        if places:
            self._writes.write(lambda: remove_turn_vectors(self._connection, places))

    def owners_lacking(self, model: str) -> list[Owner]:
        """Return the users with more turns of their own than vectors from an encoder."""
        names = self._connection.execute(
            "select owner, count(*) from said where hour is not null group by owner"
            " having count(*) > (select count(*) from turn_vectors as v where v.owner=said.owner and v.model=?)",
            (model,),
        ).fetchall()
        return [Owner.of_key(name.encode()) for name, _ in names]

    def owners(self) -> list[str]:
        """Return the owners whose turns have vectors, as named in the tables."""
        return [name for (name,) in self._connection.execute("select distinct owner from turn_vectors").fetchall()]

    def take_over(self, other: TurnVectors, name: str) -> None:
        """Copy an owner's vectors from another generation, of turns that this shard holds. The caller holds `folding`.

        Raises as `put`.
        """
        query = "select owner, event_id, reply_id, model, vector from turn_vectors where owner=?"
        rows = other._connection.execute(query, (name,)).fetchall()
        self._writes.write(lambda: self._connection.executemany(_TAKE_OVER, rows))


def owners_with_turns(path: Path, turns: int, limit: int) -> list[Owner]:
    """Return at most `limit` users with at least so many turns of their own, those who spoke last first.

    It reads a shard's file as committed, by a connection of its own: for a thread. Raises ShardUnavailable,
    ShardDamaged.
    """
    with closing(connect_to_read(path)) as connection:
        names = connection.execute(
            "select owner from said where hour is not null group by owner having count(*) >= ? "
            "order by max(at) desc limit ?",
            (turns, limit),
        ).fetchall()
    return [Owner.of_key(name.encode()) for (name,) in names]


def remove_turn_vectors(connection: sqlite3.Connection, gone: Iterable[tuple[str, str]]) -> None:
    """Remove every vector that includes the words of some events, each given as its owner's name and its id."""
    places = list(gone)
    for statement in _REMOVE:
        connection.executemany(statement, places)
