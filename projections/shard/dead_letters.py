"""The fold of dead letters into a shard: the pieces given up, and the letters not sent back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from projections.shard.tables import name_of
from schemas import codec
from schemas.messages.dead_letters import RETRIED, DeadLetter
from schemas.messages.inbox import EXTRACTIONS
from schemas.topics import INBOX

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence

    from projections.shard.erased_users import ErasedUsers
    from schemas.identity import Owner
    from schemas.log import Record


class DeadLettersFold:
    """The dead letters of one shard's partition."""

    def __init__(self, connection: sqlite3.Connection, erased: ErasedUsers) -> None:
        self._connection = connection
        self._erased = erased

    def fold(self, records: Sequence[Record]) -> None:
        """Insert each letter, and the pieces whose extraction it holds; remove both when it is sent back."""
        run = self._connection.execute
        for record in records:
            try:
                letter = codec.decode_as(record.value, DeadLetter)
            except codec.Undecodable:  # an unreadable record counts as a letter, which cannot be sent back
                run("insert or ignore into letters values(?,?)", (str(record.position), 0))
                continue
            letter_id = letter.envelope.event_id
            if self._erased.has_source(name_of(letter.envelope.owner), letter_id):
                continue
            if letter.reason == RETRIED:
                run("delete from letters where letter=?", (letter_id,))
                run("delete from given_up where letter=?", (letter_id,))
                continue
            rows = [(*place, letter_id, letter.detail, record.position.offset) for place in _pieces(letter)]
            run("insert or ignore into letters values(?,?)", (letter_id, len(rows)))
            self._connection.executemany("insert or ignore into given_up values(?,?,?,?,?)", rows)

    def given_up(self, owner: Owner, pieces: Iterable[str]) -> dict[str, str]:
        """Return the reason for each piece whose extraction became a dead letter that was not sent back."""
        query, name = "select detail from given_up where owner=? and piece=? limit 1", name_of(owner)
        found = ((piece, self._connection.execute(query, (name, piece)).fetchone()) for piece in pieces)
        return {piece: row[0] for piece, row in found if row is not None}

    def count(self) -> int:
        """Return the number of letters that were not sent back and hold no extraction."""
        return int(self._connection.execute("select count(*) from letters where pieces = 0").fetchone()[0])


def _pieces(letter: DeadLetter) -> list[tuple[str, str]]:
    """Return owner and id of the pieces whose extraction the letter holds."""
    if letter.topic != INBOX.name:
        return []
    try:
        item = codec.decode(letter.value)
    except codec.Undecodable:
        return []
    if not isinstance(item, EXTRACTIONS):
        return []
    return [(name_of(item.envelope.owner), c.piece_id) for c in item.covered]
