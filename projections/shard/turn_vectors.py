"""Vectors of turns, each with the reply that it got: made when they are first wanted, and again where they are gone.

They are no fold of the log, and no digest has them: every one is made of words that the shard holds. They go with those
words, by erasure and by retention.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from projections.shard.tables import name_of

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from projections.shard.group_commit import GroupCommit
    from schemas.identity import Owner

_REMOVE: Final = (
    "delete from turn_vectors where owner=? and event_id=?",
    "delete from turn_vectors where owner=? and reply_id=?",
)


@dataclass(frozen=True, slots=True)
class TurnVector:
    """The vector of a turn, as it is stored, and the turn whose words are in it too."""

    event_id: str
    reply_id: str | None
    vector: bytes


class TurnVectors:
    """The vectors of one shard's turns, by one encoder for each user."""

    def __init__(self, connection: sqlite3.Connection, writes: GroupCommit) -> None:
        self._connection = connection
        self._writes = writes

    def of(self, owner: Owner, model: str) -> list[TurnVector]:
        """Return a user's vectors by an encoder."""
        query = "select event_id, reply_id, vector from turn_vectors where owner=? and model=?"
        return [TurnVector(*row) for row in self._connection.execute(query, (name_of(owner), model)).fetchall()]

    def put(self, owner: Owner, model: str, vectors: Iterable[TurnVector]) -> None:
        """Keep vectors, in the place of those that the turns had. The caller holds the shard's `folding`.

        Raises ShardUnavailable, ShardDamaged.
        """
        rows = [(name_of(owner), one.event_id, one.reply_id, model, one.vector) for one in vectors]
        insert = "insert or replace into turn_vectors values(?,?,?,?,?)"
        self._writes.write(lambda: self._connection.executemany(insert, rows))


def remove_turn_vectors(connection: sqlite3.Connection, gone: Iterable[tuple[str, str]]) -> None:
    """Remove every vector that the words of some events are in; an event is its owner's name and its id."""
    places = list(gone)
    for statement in _REMOVE:
        connection.executemany(statement, places)
