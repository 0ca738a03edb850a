"""Repeats of observations: kept until the first record is dropped from the log, because then one takes its place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from projections.shard.turn_statistics import drop_said, say_again

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

_KEEP_REPEAT: Final = """
    insert or ignore into repeats select ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?
    where not exists(select 1 from observations where owner = ? and event_id = ? and topic = ? and offset = ?)
"""
_FIRST_REPEAT: Final = """
    from repeats where owner = ?1 and event_id = ?2 and (topic, offset) =
        (select topic, offset from repeats where owner = ?1 and event_id = ?2 order by topic, offset limit 1)
"""
_PUT_REPEAT: Final = f"insert into observations select * {_FIRST_REPEAT}"
_TAKE_REPEAT: Final = f"delete {_FIRST_REPEAT}"


@dataclass(frozen=True, slots=True)
class Dropped:
    """How many observations a step forgot, and after which owner and event the next begins; None when all is done."""

    dropped: int
    following: tuple[str, str] | None


def keep_repeats(connection: sqlite3.Connection, rows: Sequence[tuple[object, ...]]) -> None:
    """Keep those rows of observations that are not the first of their event."""
    connection.executemany(_KEEP_REPEAT, [(*row, *row[:4]) for row in rows])


def drop_before(
    connection: sqlite3.Connection, topic: str, earliest: int, after: tuple[str, str], rows: int
) -> Dropped:
    """Forget a topic's observations before an offset, of the next `rows` by owner and id.

    Where an event was repeated, the first repeat that is left takes its place.
    """
    run = connection.execute
    some = run(
        "select owner, event_id, topic = ? and offset < ? from observations "
        "where (owner, event_id) > (?, ?) order by owner, event_id limit ?",
        (topic, earliest, *after, rows),
    ).fetchall()
    gone = [(owner, event_id) for owner, event_id, is_old in some if is_old]
    connection.executemany("delete from observations where owner=? and event_id=?", gone)
    drop_said(connection, gone)
    if after == ("", ""):  # they are few
        run("delete from repeats where topic=? and offset<?", (topic, earliest))
        run("delete from dead where topic=? and offset<?", (topic, earliest))
    for place in gone if run("select exists(select 1 from repeats)").fetchone()[0] else ():
        run(_PUT_REPEAT, place)
        run(_TAKE_REPEAT, place)
        say_again(connection, place)
    return Dropped(len(gone), (some[-1][0], some[-1][1]) if len(some) == rows else None)
