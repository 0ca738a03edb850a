"""A shard's records of erased users and memories, and the deletion of their rows.

For a user it keeps the cut, before which nothing counts; for a memory, the ids that must not be folded again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from projections.shard.rows.memories import decision_of_row, row_of_decision
from projections.shard.tables import name_of
from projections.shard.turn_vectors import remove_turn_vectors
from projections.state.erased_words import ErasedWords
from schemas import codec
from schemas.topics import DEAD_LETTERS

if TYPE_CHECKING:
    from projections.shard.tables import ShardConnection
    from schemas.identity import Owner
    from schemas.log import Position
    from schemas.messages.decision import Decision
    from schemas.messages.erasure import MemoryErased, UserErased

_OF_LEDGER: Final = (
    "memories", "vectors", "decisions", "items", "covered", "cited", "closeness",
    "wakes", "reminders", "shown", "raised",
)  # fmt: skip
"""The tables that only the ledger fills. When an erasure is folded, their rows are those decided before it."""
_BY_TOPIC: Final = ("observations", "shown_texts", "repeats", "dead")
_OF_OBSERVATIONS: Final = ("observations", "shown_texts", "repeats", "said", "dead")


class ErasedUsers:
    """Deletes the rows of erased users, and rejects records that are folded later but date from before the cut.

    A shard folds its topics one after the other, so it may fold an observation before or after its user's erasure.
    Either way the observation's position is compared with the cut.
    """

    def __init__(self, connection: ShardConnection) -> None:
        self._connection = connection
        self._cuts: dict[tuple[str, str], int] | None = None
        self._sources: set[tuple[str, str]] | None = None

    def forget(self) -> None:
        """Read the cuts and the ids from the file again, after a rollback or a fold by another process."""
        self._cuts = self._sources = None

    def drops(self, name: str, position: Position) -> bool:
        """Return whether a record of an owner (as named in the tables) dates from before the owner's erasure."""
        cuts = self._read()
        return bool(cuts) and position.offset < cuts.get((name, position.topic), 0)

    def has_source(self, name: str, source: str) -> bool:
        """Return whether an owner's observation or dead letter was erased with a memory."""
        if self._sources is None:
            self._sources = set(self._connection.execute("select owner, id from erased_sources").fetchall())
        return (name, source) in self._sources

    def erased_memory(self, memory_id: str) -> tuple[str, str] | None:
        """Return the owner's name in the tables and the item that erased a memory; None if it was not erased."""
        query = "select owner, item_id from erased_memories where memory_id=?"
        found: tuple[str, str] | None = self._connection.execute(query, (memory_id,)).fetchone()
        return found

    def erased_memories(self) -> list[tuple[str, str, str]]:
        """Return the owner's name, the id and the item of each memory that was erased."""
        return self._connection.execute("select owner, memory_id, item_id from erased_memories").fetchall()

    def erase(self, owner: Owner, event: UserErased, inbox: tuple[str, int]) -> None:
        """Delete all rows from before the cut; `inbox` is the inbox's topic and cut. The caller commits."""
        name, run = name_of(owner), self._connection.execute
        for table in _OF_LEDGER:
            run(f"delete from {table} where owner=?", (name,))  # noqa: S608 - our own tables
        for cut in event.cut:
            for table in _BY_TOPIC:
                run(f"delete from {table} where owner=? and topic=? and offset<?", (name, cut.topic, cut.before))  # noqa: S608
            run("delete from extracted where owner=? and topic=? and place<?", (name, cut.topic, cut.before))
        run("delete from extracted where owner=? and topic is null and offset<?", (name, inbox[1]))
        run("delete from model_calls where owner=? and offset<?", (name, inbox[1]))
        run(
            "delete from said where owner=? and not exists(select 1 from observations as o"
            " where o.owner=said.owner and o.event_id=said.event_id and o.offset=said.offset)",
            (name,),
        )
        run("delete from turn_vectors where owner=?", (name,))  # those of later turns are computed again
        letters = next((cut.before for cut in event.cut if cut.topic == DEAD_LETTERS.name), 0)
        old = "select letter from given_up where owner=? and offset<?"
        run(f"delete from letters where pieces > 0 and letter in ({old})", (name, letters))  # noqa: S608
        run("delete from given_up where owner=? and offset<?", (name, letters))
        for topic, before in [*((cut.topic, cut.before) for cut in event.cut), inbox]:
            run("insert or replace into erasures values(?,?,?)", (name, topic, before))
        run("delete from erased_memories where owner=?", (name,))
        run("delete from erased_sources where owner=?", (name,))
        self.forget()

    def erase_memory(self, owner: Owner, event: MemoryErased, decision: Decision) -> None:
        """Delete the rows of a memory and of its observations, and its words from decisions up to this one.

        The caller commits.
        """
        name, run = name_of(owner), self._connection.execute
        for table in ("memories", "vectors", "cited", "shown"):
            run(f"delete from {table} where owner=? and memory_id=?", (name, event.memory_id))  # noqa: S608 - our own tables
        for event_id in event.event_ids:
            for table in _OF_OBSERVATIONS:
                run(f"delete from {table} where owner=? and event_id=?", (name, event_id))  # noqa: S608
        remove_turn_vectors(self._connection, [(name, event_id) for event_id in event.event_ids])
        for letter in event.letters:
            run("delete from letters where letter=?", (letter,))
            run("delete from given_up where letter=?", (letter,))
        words = ErasedWords(frozenset({event.memory_id}), frozenset(event.event_ids))
        until = "select version, body from decisions where owner=? and version<=?"
        for version, body in run(until, (name, decision.version)).fetchall():
            former = decision_of_row(body)
            if (without := words.without(former)) is not former:
                row = row_of_decision(codec.encode(without), ())
                run("update decisions set body=? where owner=? and version=?", (row, name, version))
        run("insert or replace into erased_memories values(?,?,?)", (name, event.memory_id, decision.item_id))
        sources = [(name, source) for source in (*event.event_ids, *event.letters)]
        self._connection.executemany("insert or ignore into erased_sources values(?,?)", sources)
        self.forget()

    def _read(self) -> dict[tuple[str, str], int]:
        if self._cuts is None:
            rows = self._connection.execute("select owner, topic, before from erasures").fetchall()
            self._cuts = {(name, topic): before for name, topic, before in rows}
        return self._cuts
