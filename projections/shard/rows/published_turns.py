"""Queries about turns, screenshots and articles as they were published, and the parts that the user allows to keep."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from itertools import takewhile
from typing import TYPE_CHECKING, Final

from projections.shard.tables import name_of
from projections.shard.turn_statistics import USER_ROLE
from projections.text.wishes import kept_of, wishes_of
from schemas import codec
from schemas.inputs.zone import zone_in
from schemas.messages.observations import TIMEZONE, TurnRecorded

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence
    from datetime import tzinfo

    from schemas.identity import Owner

TURNS_FOR_A_ZONE: Final = 50
"""The number of a user's newest turns that are searched for the user's time zone."""
_NEAR: Final = 4
"""The turns around one that show whether the user took it back, or whether it answers a turn that is not kept."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn as it was published."""

    message: TurnRecorded
    recorded_at: datetime
    withholds: bool = False
    """Whether the user asked not to keep a part, which the message lacks."""


class PublishedTurns:
    """Queries about the turns of one shard's users, answered from its file."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._zones: dict[Owner, tzinfo | None] = {}
        """The time zones that were read since the connection changed a row last: a search asks for one many times."""
        self._changes = connection.total_changes

    def of_session(self, owner: Owner, session_id: str, limit: int, agent_id: str | None = None) -> list[Turn]:
        """Return the kept parts of a session's most recent turns, with an agent or with all, oldest first."""
        rows = self._connection.execute(
            "select turn, recorded_at from observations where owner=? and session_id=? and turn is not null "
            "and agent_id is coalesce(?, agent_id) order by offset desc limit ?",
            (name_of(owner), session_id, agent_id, limit + _NEAR),
        ).fetchall()
        turns = [_turn_of(t, at) for t, at in reversed(rows)]
        kept = _kept(turns)
        return [turn for turn in kept[max(0, len(kept) - limit) :] if turn is not None]

    def after(self, owner: Owner, offset: int, limit: int) -> list[tuple[int, Turn]]:
        """Return a user's next turns after an offset in all sessions, oldest first, each with its offset.

        Each has only the parts that its own wishes allow to keep; only `kept` sees whether the next turn takes it back.
        """
        rows = self._connection.execute(
            "select offset, turn, recorded_at from observations where owner=? and offset>? and turn is not null "
            "order by offset limit ?",
            (name_of(owner), offset, limit),
        ).fetchall()
        turns = [_turn_of(t, at) for _, t, at in rows]
        return [
            (place, _with_words(turn, wishes_of(turn.message.content).told) if turn.message.role == "user" else turn)
            for (place, _, _), turn in zip(rows, turns, strict=True)
        ]

    def forget_zones(self) -> None:
        """Read time zones again: another process has folded, or a transaction was rolled back."""
        self._zones.clear()

    def last_zone(self, owner: Owner) -> tzinfo | None:
        """Return the time zone named by the newest of the user's own recent turns that names one."""
        if self._changes != self._connection.total_changes:
            self._changes = self._connection.total_changes
            self._zones.clear()
        if owner not in self._zones:
            self._zones[owner] = self._last_zone(owner)
        return self._zones[owner]

    def _last_zone(self, owner: Owner) -> tzinfo | None:
        rows = self._connection.execute(
            "select turn from (select turn, offset from observations where owner=? and turn is not null "
            "order by offset desc limit ?) where instr(turn, cast(? as blob)) order by offset desc",
            (name_of(owner), TURNS_FOR_A_ZONE, TIMEZONE),
        ).fetchall()
        turns = (codec.decode_as(turn, TurnRecorded) for (turn,) in rows)
        return next((zone for turn in turns if turn.role == USER_ROLE and (zone := zone_in(turn.metadata))), None)

    def offset_of_newest(self, owner: Owner, count: int) -> int:
        """Return the offset after which a user has at most `count` turns; -1 if the user has no more than that."""
        found = self._connection.execute(
            "select offset from observations where owner=? and turn is not null order by offset desc limit 1 offset ?",
            (name_of(owner), count),
        ).fetchone()
        return -1 if found is None else int(found[0])

    def shown_after(self, owner: Owner, topic: str, offset: int, limit: int) -> list[tuple[int, Turn]]:
        """Return a user's next screenshots or articles of a topic after an offset, as turns, each with its offset."""
        rows = self._connection.execute(
            "select offset, turn, recorded_at from shown_texts where owner=? and topic=? and offset>? "
            "order by offset limit ?",
            (name_of(owner), topic, offset, limit),
        ).fetchall()
        return [(place, _turn_of(t, at)) for place, t, at in rows]

    def turn(self, owner: Owner, event_id: str) -> Turn | None:
        """Return a turn, screenshot or article by its id, as a turn; None if it is not known, or no longer."""
        found = self._connection.execute(
            "select turn, recorded_at from observations where owner=?1 and event_id=?2 and turn is not null"
            " union all select turn, recorded_at from shown_texts where owner=?1 and event_id=?2",
            (name_of(owner), event_id),
        ).fetchone()
        return found and _turn_of(*found)

    def kept(self, owner: Owner, event_id: str) -> Turn | None:
        """Return the kept part of a turn, screenshot or article; None if nothing of it is kept."""
        turn = self.turn(owner, event_id)
        if turn is None or turn.message.role not in ("user", "assistant"):
            return turn
        session = (name_of(owner), turn.message.session_id, turn.message.envelope.agent_id, event_id)
        found: list[tuple[str, Turn]] = []
        for compared, order in (("<=", "desc"), (">", "asc")):
            rows = self._connection.execute(
                "select event_id, turn, recorded_at from observations"  # noqa: S608 - our own words
                " where owner=?1 and session_id=?2 and agent_id is ?3 and turn is not null"
                f" and offset {compared} (select offset from observations where owner=?1 and event_id=?4)"
                f" order by offset {order} limit {_NEAR + 1}",
                session,
            ).fetchall()
            read = [(i, _turn_of(t, at)) for i, t, at in rows]
            found += read[::-1] if order == "desc" else read
        kept = _kept([one for _, one in found])
        return next((one for (i, _), one in zip(found, kept, strict=True) if i == event_id), turn)

    def before(
        self, owner: Owner, session_id: str, agent_id: str | None, offset: int, most: int
    ) -> list[tuple[str, int]]:
        """Return the ids and offsets of the last turns of a session before an offset, newest first."""
        rows = self._connection.execute(
            "select event_id, offset from observations where owner=? and session_id=? and agent_id is ?"
            " and turn is not null and offset<? order by offset desc limit ?",
            (name_of(owner), session_id, agent_id, offset, most),
        ).fetchall()
        return [(event_id, at) for event_id, at in rows]

    def opening(self, owner: Owner, session_id: str, agent_id: str | None, offset: int, most: int) -> list[Turn]:
        """Return the turns of a session's first window that stand before an offset, oldest first, at most `most`.

        They are those that one answer covers; the first turn alone while it has none.
        """
        rows = self._connection.execute(
            "select o.turn, o.recorded_at, e.item_id from observations o"
            " left join extracted e on e.owner = o.owner and e.piece = o.event_id || '#0'"
            " where o.owner=? and o.session_id=? and o.agent_id is ? and o.turn is not null and o.offset<?"
            " order by o.offset limit ?",
            (name_of(owner), session_id, agent_id, offset, most),
        ).fetchall()
        of_window = takewhile(lambda row: row[2] is not None and row[2] == rows[0][2], rows)
        return [_turn_of(turn, at) for turn, at, _ in list(of_window) or rows[:1]]


def _turn_of(body: bytes, recorded_at: str) -> Turn:
    return Turn(codec.decode_as(body, TurnRecorded), datetime.fromisoformat(recorded_at))


def _kept(turns: Sequence[Turn]) -> list[Turn | None]:
    """Return the kept parts of consecutive turns, None for a turn of which nothing is kept.

    A sentence that asks to forget something is not among them, because it says once more what is to be forgotten.
    """
    texts = kept_of([(turn.message.role == "user", turn.message.content) for turn in turns])
    shown = [
        wishes_of(text).told if turn.message.role == "user" else text for turn, text in zip(turns, texts, strict=True)
    ]
    return [
        None if not text and turn.message.content else _with_words(turn, text)
        for turn, text in zip(turns, shown, strict=True)
    ]


def _with_words(turn: Turn, text: str) -> Turn:
    """Return a turn with `text` in place of its published words."""
    if text == turn.message.content:
        return turn
    return replace(turn, message=replace(turn.message, content=text), withholds=True)
