"""Keeps of each turn what is counted: when the user spoke, how long the sentences were, how close the two were.

Counted are the turns that the log still holds: what retention drops from it no longer counts, so that a live shard is
what a rebuilt one would be. The last intimacy is kept by the ledger (`closeness`) before its turn is dropped.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from projections.profile.habits import Usage, hour_of, measured
from projections.shard.tables import name_of
from projections.state.intimacy import Intimacy
from schemas import codec
from schemas.identity import Owner
from schemas.inputs.decoding import effective_time
from schemas.messages.observations import TurnRecorded

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence

SPEAKS: Final = "user"
MOST_KEPT: Final = 2_000
"""Users whose counts are kept in memory."""
_KEEP: Final = """
    insert or ignore into said select ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10
    where exists(select 1 from observations where owner = ?1 and event_id = ?2 and offset = ?3 and turn is not null)
"""
_MINE: Final = "owner = ?1 and (?2 is null or agent_id is null or agent_id = ?2) and (?3 is null or at <= ?3)"


def said_row(
    owner: str, message: TurnRecorded, offset: int, recorded_at: datetime
) -> tuple[str, str, int, str | None, float, int | None, int, int, bool, float | None] | None:
    """Return what is kept of a turn, or None when nothing of it is counted."""
    intimacy = message.context.intimacy if message.context else None
    by_user = message.role == SPEAKS
    if not by_user and intimacy is None:
        return None
    at, said = effective_time(message, recorded_at), measured(message.content)
    hour = hour_of(at, message.metadata) if by_user else None
    envelope = message.envelope
    counted = (said.sentences, said.words, said.is_chinese) if by_user else (0, 0, False)
    return (owner, envelope.event_id, offset, envelope.agent_id, at.timestamp(), hour, *counted, intimacy)


class SaidFold:
    """The counts of one shard's users."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._usage: dict[tuple[str, str | None], Usage] = {}

    def forget(self) -> None:
        """Keep nothing in memory: the file does not hold what was folded last."""
        self._usage.clear()

    def fold(self, rows: Sequence[tuple[object, ...]]) -> None:
        """Keep the rows of `said_row`, of turns that are the first record of their event."""
        if rows:
            self._connection.executemany(_KEEP, rows)
            owners = {row[0] for row in rows}
            self._usage = {asked: usage for asked, usage in self._usage.items() if asked[0] not in owners}

    def usage(self, owner: Owner, agent_id: str | None, as_of: datetime | None = None) -> Usage:
        """Return the counts of a user's turns with an agent, or with all; up to an effective time."""
        asked = (name_of(owner), agent_id)
        if as_of is None and asked in self._usage:
            return self._usage[asked]
        rows = self._connection.execute(
            "select hour, count(*), sum(sentences), sum(words), sum(chinese) from said "  # noqa: S608 - our own words
            f"where {_MINE} and hour is not null group by hour order by hour",
            (*asked, _seconds(as_of)),
        ).fetchall()
        usage = Usage({row[0]: row[1] for row in rows}, *(sum(column) for column in list(zip(*rows, strict=True))[2:]))
        if as_of is None:
            if len(self._usage) >= MOST_KEPT:
                self._usage.clear()
            self._usage[asked] = usage
        return usage

    def closeness(self, owner: Owner, agent_id: str | None) -> Intimacy | None:
        """Return the intimacy that the last turn carried which carried one; the last by effective time."""
        row = self._connection.execute(
            f"select at, intimacy from said where {_MINE} and intimacy is not null "  # noqa: S608 - our own words
            "order by at desc, offset desc limit 1",
            (name_of(owner), agent_id, None),
        ).fetchone()
        return None if row is None else _closeness(*row)

    def close_to(self, owner: Owner) -> dict[str | None, Intimacy]:
        """Return the last intimacy that a turn with each agent carried."""
        query = "select agent_id, at, intimacy from said where owner=? and intimacy is not null order by at, offset"
        return {agent: _closeness(*said) for agent, *said in self._connection.execute(query, (name_of(owner),))}

    def carriers(self, after: Owner | None, most: int) -> list[Owner]:
        """Return the next users after one, in order of their names, of whom a turn carried an intimacy."""
        query = "select owner from said where intimacy is not null and owner > ? order by owner limit 1"
        found, name = list[Owner](), name_of(after) if after else ""
        while len(found) < most and (row := self._connection.execute(query, (name,)).fetchone()):
            (name,) = row
            found.append(Owner.of_key(name.encode()))
        return found

    def intimacies(self, owner: Owner, agent_id: str | None, as_of: datetime) -> dict[str, float]:
        """Return the last intimacy of each month (`YYYY-MM`, UTC), oldest first."""
        rows = self._connection.execute(
            f"select at, intimacy from said where {_MINE} and intimacy is not null order by at, offset",  # noqa: S608 - our own words
            (name_of(owner), agent_id, _seconds(as_of)),
        )
        return {datetime.fromtimestamp(at, UTC).strftime("%Y-%m"): float(intimacy) for at, intimacy in rows}


def drop_said(connection: sqlite3.Connection, dropped: Iterable[tuple[str, str]]) -> None:
    """Drop what was counted of events that the log holds no more."""
    connection.executemany("delete from said where owner=? and event_id=?", dropped)


def say_again(connection: sqlite3.Connection, place: tuple[str, str]) -> None:
    """Count a turn again, of which a repeat took the place of its first record."""
    found = connection.execute(
        "select turn, offset, recorded_at from observations where owner=? and event_id=? and turn is not null", place
    ).fetchone()
    if found is not None:
        message = codec.decode_as(found[0], TurnRecorded)
        row = said_row(place[0], message, found[1], datetime.fromisoformat(found[2]))
        if row is not None:
            connection.execute(_KEEP, row)


def _closeness(at: float, intimacy: float) -> Intimacy:
    return Intimacy(datetime.fromtimestamp(at, UTC), float(intimacy))


def _seconds(moment: datetime | None) -> float | None:
    return None if moment is None else moment.timestamp()
