"""Queries about the turns of one session: those with the same words, and the first and newest ones.

A turn that came without an id gets one derived from its words; a later turn with the same words gets that id with a
number after it: `ID.1`, `ID.2`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from projections.shard.tables import name_of
from schemas import codec
from schemas.messages.observations import TurnRecorded

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from schemas.identity import Owner

_TURN = "select event_id, offset, digest, recorded_at from observations where owner=?1"
_SAME_WORDS = f"{_TURN} and turn is not null and (event_id=?2 or event_id between ?2 || '.' and ?2 || '/')"
_SPENT = """
    select exists(select 1 from covered where owner=?1 and piece=?2 || '#0')
        or exists(select 1 from erased_sources where owner=?1 and id=?2)
"""
_NUMBERED = """
    select event_id from observations where owner=?1 and event_id between ?2 || '.' and ?2 || '/'
    union select piece from covered where owner=?1 and piece between ?2 || '.' and ?2 || '/'
    union select id from erased_sources where owner=?1 and id between ?2 || '.' and ?2 || '/'
"""


@dataclass(frozen=True, slots=True)
class SaidTurn:
    """A turn that a session holds, or the id of one that it held."""

    event_id: str
    offset: int = -1
    """The offset; -1 if the turn was erased, or is past its retention, so that its id must not be used again."""
    digest: bytes = b""
    recorded_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class SessionEnds:
    """The ids of a session's first two turns, oldest first, and of its newest ones, newest first."""

    first: tuple[str, ...] = ()
    newest: tuple[str, ...] = ()


class SessionTurns:
    """Queries about the turns of one shard's sessions, answered from its file."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def of_words(self, owner: Owner, first: str) -> list[SaidTurn]:
        """Return the turns whose id is `first`, with or without a number after it."""
        return self._turns(_SAME_WORDS, (name_of(owner), first))

    def named(self, owner: Owner, event_id: str) -> SaidTurn | None:
        """Return the turn that has an id, or had it; None if there was none."""
        name = name_of(owner)
        if found := self._turns(f"{_TURN} and event_id=?2", (name, event_id)):
            return found[0]
        return SaidTurn(event_id) if self._connection.execute(_SPENT, (name, event_id)).fetchone()[0] else None

    def next_number(self, owner: Owner, first: str) -> int:
        """Return the next number for the id `first` that no turn has or had."""
        found = self._connection.execute(_NUMBERED, (name_of(owner), first)).fetchall()
        numbers = (one.removeprefix(first + ".").partition("#")[0] for (one,) in found)
        return max((int(number) for number in numbers if number.isdecimal()), default=0) + 1

    def ends(self, owner: Owner, session_id: str, agent_id: str | None, most: int) -> SessionEnds:
        """Return the first turns of a session with an agent, and at most `most` of its newest ones."""
        query = (
            "select event_id from observations where owner=? and session_id=? and agent_id is ? and turn is not null"
            " order by offset"
        )
        its = (name_of(owner), session_id, agent_id)
        first = self._connection.execute(f"{query} limit 2", its).fetchall()
        newest = self._connection.execute(f"{query} desc limit ?", (*its, most)).fetchall()
        return SessionEnds(tuple(i for (i,) in first), tuple(i for (i,) in newest))

    def request_of(self, owner: Owner, event_id: str) -> str | None:
        """Return the id of the request that published a turn, if it had one."""
        query = "select turn from observations where owner=? and event_id=?"
        (body,) = self._connection.execute(query, (name_of(owner), event_id)).fetchone()
        return codec.decode_as(body, TurnRecorded).envelope.correlation_id

    def _turns(self, query: str, of: Sequence[str]) -> list[SaidTurn]:
        rows = self._connection.execute(query, of).fetchall()
        return [SaidTurn(i, at, bytes(digest), datetime.fromisoformat(time)) for i, at, digest, time in rows]
