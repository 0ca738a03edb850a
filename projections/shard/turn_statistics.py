"""Statistics of turns: the hours at which the user spoke, the length of the sentences, and the intimacy of the turns.

Only turns that the log still holds count: retention removes the others here too, so that a live shard equals a rebuilt
one. The ledger keeps the last intimacy (`IntimacyKept`) before its turn is removed.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from projections.shard.tables import name_of
from projections.state.intimacy import Intimacy
from projections.text.measure import hour_of, measure
from schemas import codec
from schemas.identity import Owner
from schemas.inputs.decoding import effective_time
from schemas.messages.observations import TurnRecorded

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Mapping, Sequence

USER_ROLE: Final = "user"
MAX_CACHED_USERS: Final = 2_000
_INSERT: Final = """
    insert or ignore into said select ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10
    where exists(select 1 from observations where owner = ?1 and event_id = ?2 and offset = ?3 and turn is not null)
"""
_OF_AGENT: Final = "owner = ?1 and (?2 is null or agent_id is null or agent_id = ?2) and (?3 is null or at <= ?3)"


@dataclass(frozen=True, slots=True)
class Usage:
    """The statistics of a user's turns."""

    turns_by_hour: Mapping[int, int]
    """The number of turns by hour of the day, UTC unless a turn names its time zone."""
    sentences: int = 0
    words: int = 0
    chinese_turns: int = 0

    @property
    def turns(self) -> int:
        """The number of turns counted."""
        return sum(self.turns_by_hour.values())


def statistics_row(
    owner: str, message: TurnRecorded, offset: int, recorded_at: datetime
) -> tuple[str, str, int, str | None, float, int | None, int, int, bool, float | None] | None:
    """Return the row of a turn, or None if it is not counted: it is not the user's, and has no intimacy."""
    intimacy = message.context.intimacy if message.context else None
    by_user = message.role == USER_ROLE
    if not by_user and intimacy is None:
        return None
    at = effective_time(message, recorded_at)
    counts = measure(message.content)
    hour = hour_of(at, message.metadata) if by_user else None
    envelope = message.envelope
    counted = (counts.sentences, counts.words, counts.is_chinese) if by_user else (0, 0, False)
    return (owner, envelope.event_id, offset, envelope.agent_id, at.timestamp(), hour, *counted, intimacy)


class TurnStatistics:
    """The statistics of the turns of one shard's users."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._usage: dict[tuple[str, str | None], Usage] = {}

    def forget(self) -> None:
        """Empty the cache: the file no longer holds the records that were folded last."""
        self._usage.clear()

    def fold(self, rows: Sequence[tuple[object, ...]]) -> None:
        """Write rows of `statistics_row`, except those of turns that are not the first record of their event."""
        if rows:
            self._connection.executemany(_INSERT, rows)
            owners = {row[0] for row in rows}
            self._usage = {key: usage for key, usage in self._usage.items() if key[0] not in owners}

    def usage(self, owner: Owner, agent_id: str | None, as_of: datetime | None = None) -> Usage:
        """Return the statistics of a user's turns with an agent, or with all, up to an effective time."""
        key = (name_of(owner), agent_id)
        if as_of is None and key in self._usage:
            return self._usage[key]
        rows = self._connection.execute(
            "select hour, count(*), sum(sentences), sum(words), sum(chinese) from said "  # noqa: S608 - our own words
            f"where {_OF_AGENT} and hour is not null group by hour order by hour",
            (*key, _seconds(as_of)),
        ).fetchall()
        usage = Usage({row[0]: row[1] for row in rows}, *(sum(column) for column in list(zip(*rows, strict=True))[2:]))
        if as_of is None:
            if len(self._usage) >= MAX_CACHED_USERS:
                self._usage.clear()
            self._usage[key] = usage
        return usage

    def last_intimacy(self, owner: Owner, agent_id: str | None) -> Intimacy | None:
        """Return the intimacy of the last turn, by effective time, that has one."""
        row = self._connection.execute(
            f"select at, intimacy from said where {_OF_AGENT} and intimacy is not null "  # noqa: S608 - our own words
            "order by at desc, offset desc limit 1",
            (name_of(owner), agent_id, None),
        ).fetchone()
        return None if row is None else _intimacy(*row)

    def last_intimacies(self, owner: Owner) -> dict[str | None, Intimacy]:
        """Return the last intimacy of a turn with each agent."""
        query = "select agent_id, at, intimacy from said where owner=? and intimacy is not null order by at, offset"
        return {agent: _intimacy(*said) for agent, *said in self._connection.execute(query, (name_of(owner),))}

    def owners_with_intimacy(self, after: Owner | None, most: int) -> list[Owner]:
        """Return the next users after `after`, in order of their names, who have a turn with an intimacy."""
        query = "select owner from said where intimacy is not null and owner > ? order by owner limit 1"
        found, name = list[Owner](), name_of(after) if after else ""
        while len(found) < most and (row := self._connection.execute(query, (name,)).fetchone()):
            (name,) = row
            found.append(Owner.of_key(name.encode()))
        return found

    def intimacies(self, owner: Owner, agent_id: str | None, as_of: datetime) -> dict[str, float]:
        """Return the last intimacy of each month (`YYYY-MM`, UTC), oldest first."""
        rows = self._connection.execute(
            f"select at, intimacy from said where {_OF_AGENT} and intimacy is not null order by at, offset",  # noqa: S608 - our own words
            (name_of(owner), agent_id, _seconds(as_of)),
        )
        return {datetime.fromtimestamp(at, UTC).strftime("%Y-%m"): float(intimacy) for at, intimacy in rows}


def remove_statistics(connection: sqlite3.Connection, dropped: Iterable[tuple[str, str]]) -> None:
    """Remove the rows of events (owner, event_id) that the log no longer holds."""
    connection.executemany("delete from said where owner=? and event_id=?", dropped)


def restore_statistics(connection: sqlite3.Connection, place: tuple[str, str]) -> None:
    """Write the row of a turn again after a repeat has replaced its first record."""
    observation = connection.execute(
        "select turn, offset, recorded_at from observations where owner=? and event_id=? and turn is not null", place
    ).fetchone()
    if observation is not None:
        message = codec.decode_as(observation[0], TurnRecorded)
        row = statistics_row(place[0], message, observation[1], datetime.fromisoformat(observation[2]))
        if row is not None:
            connection.execute(_INSERT, row)


def _intimacy(at: float, intimacy: float) -> Intimacy:
    return Intimacy(datetime.fromtimestamp(at, UTC), float(intimacy))


def _seconds(moment: datetime | None) -> float | None:
    return None if moment is None else moment.timestamp()
