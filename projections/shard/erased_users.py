"""The users of a shard that were erased: what is left of them is the cut before which nothing of them counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from projections.shard.tables import name_of
from schemas.topics import DEAD_LETTERS

if TYPE_CHECKING:
    from projections.shard.tables import ShardConnection
    from schemas.identity import Owner
    from schemas.log import Position
    from schemas.messages.erasure import UserErased

_OF_LEDGER: Final = (
    "memories", "vectors", "decisions", "items", "covered", "cited", "closeness",
    "wakes", "reminders", "shown", "raised",
)  # fmt: skip
"""Tables that the ledger alone fills: the fold of an erasure finds in them what was decided before it, and no more."""
_BY_TOPIC: Final = ("observations", "shown_texts", "repeats", "dead")
_BY_INBOX: Final = ("extracted", "model_calls")


class ErasedUsers:
    """Deletes a user's rows, and keeps what is folded later, and stems from before the cut, out.

    The topics of a shard are folded one after the other, so that an observation may come to a new shard before or after
    the erasure of its user. Either way it is held against the cut.
    """

    def __init__(self, connection: ShardConnection) -> None:
        self._connection = connection
        self._cuts: dict[tuple[str, str], int] | None = None

    def forget(self) -> None:
        """Read the cuts again: the file does not hold what was folded last."""
        self._cuts = None

    def drops(self, name: str, position: Position) -> bool:
        """Return whether a record of an owner, by the name in the tables, stems from before the owner's erasure."""
        cuts = self._read()
        return bool(cuts) and position.offset < cuts.get((name, position.topic), 0)

    def erase(self, owner: Owner, event: UserErased, inbox: tuple[str, int]) -> None:
        """Delete all rows that stem from before the cut; `inbox` is its topic and offset. The caller commits."""
        name, run = name_of(owner), self._connection.execute
        for table in _OF_LEDGER:
            run(f"delete from {table} where owner=?", (name,))  # noqa: S608 - our own tables
        for cut in event.cut:
            for table in _BY_TOPIC:
                run(f"delete from {table} where owner=? and topic=? and offset<?", (name, cut.topic, cut.before))  # noqa: S608
        for table in _BY_INBOX:
            run(f"delete from {table} where owner=? and offset<?", (name, inbox[1]))  # noqa: S608
        run(
            "delete from said where owner=? and not exists(select 1 from observations as o"
            " where o.owner=said.owner and o.event_id=said.event_id and o.offset=said.offset)",
            (name,),
        )
        letters = next((cut.before for cut in event.cut if cut.topic == DEAD_LETTERS.name), 0)
        old = "select letter from given_up where owner=? and offset<?"
        run(f"delete from letters where pieces > 0 and letter in ({old})", (name, letters))  # noqa: S608
        run("delete from given_up where owner=? and offset<?", (name, letters))
        for topic, before in [*((cut.topic, cut.before) for cut in event.cut), inbox]:
            run("insert or replace into erasures values(?,?,?)", (name, topic, before))
        self._cuts = None

    def _read(self) -> dict[tuple[str, str], int]:
        if self._cuts is None:
            rows = self._connection.execute("select owner, topic, before from erasures").fetchall()
            self._cuts = {(name, topic): before for name, topic, before in rows}
        return self._cuts
