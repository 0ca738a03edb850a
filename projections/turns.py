"""Folds observations and the inbox into a shard: recent turns, and how far each observation has come."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

from projections.ledger_fold import name_of
from schemas import codec
from schemas.decision import Decision
from schemas.inbox import CandidatesExtracted, ExtractionRejected
from schemas.input_events import InvalidEvent
from schemas.log import Position
from schemas.observations import TurnRecorded
from schemas.pieces import is_extractable, piece_count
from schemas.reading import claimed, digest_of, observation_of_record

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Sequence

    from schemas.identity import Owner
    from schemas.log import Record
    from schemas.observations import Observation

KEPT_OBSERVATIONS: Final = 4096
OBSERVATIONS_AT_ONCE: Final = 250
WITHOUT_MEMORY: Final = frozenset({"nothing", "suppressed", "refused"})
"""Actions that leave no memory behind."""


@dataclass(frozen=True, slots=True)
class Seen:
    """The first record of an observation: later ones with the same id are repeats, or conflicts."""

    event_id: str
    position: Position
    digest: bytes
    kind: str
    pieces: int
    """0: nothing is extracted from it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far an observation has come; `waiting` is not known here."""

    state: str
    """accepted, extracted, remembered, nothing or rejected."""
    reason: str | None
    memory_ids: tuple[str, ...]
    decisions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn as it was published."""

    message: TurnRecorded
    recorded_at: datetime


class TurnsFold:
    """What a shard knows of the input topics and of the extractions in the inbox."""

    def __init__(
        self, connection: sqlite3.Connection, partition: int, belongs: Callable[[Owner], bool] = lambda _: True
    ) -> None:
        """`belongs` tells whether a user's partition is this one: what a foreign partitioner misplaced is not kept."""
        self._connection = connection
        self._partition = partition
        self._belongs = belongs
        self._latest: dict[tuple[str, str], Seen] = {}
        """Of the observations folded last, those whose first record it was: observe asks for each of them next."""

    def forget(self) -> None:
        """Keep nothing in memory: the file does not hold what was folded last."""
        self._latest.clear()

    def fold_inputs(self, records: Sequence[Record]) -> None:
        """Keep the first record of each observation; unreadable ones are observe's to put aside."""
        rows: list[tuple[object, ...]] = []
        folded: dict[tuple[str, str], Seen] = {}
        dead: list[tuple[str, str, str]] = []
        for record in records:
            try:
                message = observation_of_record(record)
            except (codec.Undecodable, InvalidEvent) as error:
                if (claim := claimed(record)) is not None:
                    dead.append((name_of(claim[0]), claim[1], str(error)))
                continue
            if not self._belongs(message.envelope.owner):
                continue
            name, event_id, kind = name_of(message.envelope.owner), message.envelope.event_id, type(message).__name__
            pieces = piece_count(message) if is_extractable(message) else 0
            folded[name, event_id] = seen = Seen(event_id, record.position, digest_of(message), kind, pieces)
            turn = message if isinstance(message, TurnRecorded) else None
            rows.append(
                (
                    name,
                    event_id,
                    record.position.topic,
                    record.position.offset,
                    seen.digest,
                    kind,
                    turn.session_id if turn else None,
                    message.envelope.agent_id,
                    pieces,
                    record.recorded_at.isoformat(),
                    _spelt(record, turn) if turn else None,
                )
            )
        inserting = "insert or ignore into observations values(?,?,?,?,?,?,?,?,?,?,?)"
        if self._connection.executemany(inserting, rows).rowcount == len(rows):  # all of them are first records
            if len(self._latest) + len(folded) > KEPT_OBSERVATIONS:
                self._latest.clear()
            self._latest.update(folded)
        self._connection.executemany("insert or ignore into dead values(?,?,?)", dead)

    def fold_inbox(self, records: Sequence[Record]) -> None:
        """Keep which pieces an extraction in the inbox covers; unreadable ones are remember's to put aside.

        Raises UnknownSchema for what only a newer version knows.
        """
        rows: list[tuple[str, str, str]] = []
        for record in records:
            try:
                item = codec.decode(record.value)
            except codec.UnknownSchema:
                raise
            except codec.Undecodable:
                continue
            codec.remember(record.value, item)  # remember decides on it next
            if isinstance(item, (CandidatesExtracted, ExtractionRejected)):
                name = name_of(item.envelope.owner)
                rows.extend((name, c.piece_id, item.envelope.event_id) for c in item.covered)
        self._connection.executemany("insert or ignore into extracted values(?,?,?)", rows)

    def extracted(self, owner: Owner, pieces: Iterable[str]) -> set[str]:
        """Return those of the pieces that an extraction in the inbox or a decision covers."""
        name, query = (
            name_of(owner),
            (
                "select exists(select 1 from extracted where owner=?1 and piece=?2)"
                " or exists(select 1 from covered where owner=?1 and piece=?2)"
            ),
        )
        return {piece for piece in pieces if self._connection.execute(query, (name, piece)).fetchone()[0]}

    def first(self, owner: Owner, event_id: str) -> Seen | None:
        """Return the first record of an observation, None when it is not known."""
        return self._latest.get((name_of(owner), event_id)) or self.seen(owner, [event_id]).get(event_id)

    def seen(self, owner: Owner, event_ids: Sequence[str]) -> dict[str, Seen]:
        """Return the first record of each of a user's observations that are known."""
        found = self.seen_of([(owner, event_id) for event_id in event_ids])
        return {event_id: seen for (_, event_id), seen in found.items()}

    def seen_of(self, names: Sequence[tuple[Owner, str]]) -> dict[tuple[Owner, str], Seen]:
        """Return the first record of each of the observations, named by user and id, that are known."""
        found = {}
        owners = {name_of(owner): owner for owner, _ in names}
        for begin in range(0, len(names), OBSERVATIONS_AT_ONCE):
            some = names[begin : begin + OBSERVATIONS_AT_ONCE]
            query = (  # a cross join: SQLite would otherwise read the whole table
                f"with asked(owner, event_id) as (values {','.join(['(?,?)'] * len(some))})"  # noqa: S608 - only marks
                " select owner, event_id, topic, offset, digest, kind, pieces"
                " from asked cross join observations using(owner, event_id)"
            )
            asked = [part for owner, event_id in some for part in (name_of(owner), event_id)]
            for name, event_id, topic, offset, digest, kind, pieces in self._connection.execute(query, asked):
                position = Position(topic, self._partition, offset)
                found[owners[name], event_id] = Seen(event_id, position, bytes(digest), kind, pieces)
        return found

    def dead(self, owner: Owner, event_id: str) -> str | None:
        """Return why the only records with this event id became dead letters, or None."""
        query = "select reason from dead where owner=? and event_id=?"
        found = self._connection.execute(query, (name_of(owner), event_id)).fetchone()
        return found[0] if found else None

    def progress(self, owner: Owner, seen: Seen) -> Progress:
        """Return how far an observation has come."""
        if seen.pieces == 0:
            return Progress(state="nothing", reason="nothing is extracted from it", memory_ids=(), decisions=())
        name, run = name_of(owner), self._connection.execute
        pieces = [f"{seen.event_id}#{n}" for n in range(seen.pieces)]
        marks = ",".join("?" * len(pieces))
        covered = run(
            f"select rejected, version from covered where owner=? and piece in ({marks})",  # noqa: S608 - only marks
            (name, *pieces),
        ).fetchall()
        if len(covered) < seen.pieces:
            known = self.extracted(owner, pieces)
            state = "extracted" if len(known) == seen.pieces else "accepted"
            return Progress(state=state, reason=None, memory_ids=(), decisions=())
        memories = run("select memory_id, version from cited where owner=? and event_id=?", (name, seen.event_id))
        cited = sorted(memories.fetchall(), key=lambda row: (row[1], row[0]))
        versions = sorted({version for _, version in covered} | {version for _, version in cited})
        decisions = [self._decision(name, version) for version in versions]
        state = "remembered" if cited else "rejected" if any(r for r, _ in covered) else "nothing"
        mine = {memory_id for memory_id, _ in cited}
        outcomes = [o for d in decisions for o in d.outcomes]
        if state == "remembered":
            reasons = [o.reason for o in outcomes if o.memory_id in mine]
        else:  # what came of other turns of the window is not said of this one
            reasons = [o.reason for o in outcomes if o.action in WITHOUT_MEMORY]
        return Progress(
            state=state,
            reason="; ".join(dict.fromkeys(reasons)) or "nothing in it is worth remembering",
            memory_ids=tuple(memory_id for memory_id, _ in cited),
            decisions=tuple(d.envelope.event_id for d in decisions),
        )

    def counts(self) -> dict[str, int]:
        """Return how many observations there are, and how many ended how; session ends are none."""
        states = """
            select count(*), sum(cited), sum(not cited and done and rejected), sum(not cited and done and not rejected)
            from (
                select
                    exists(select 1 from cited c where c.owner=o.owner and c.event_id=o.event_id) as cited,
                    o.pieces = 0 or v.piece is not null as done,
                    coalesce(v.rejected, 0) as rejected
                from observations o left join covered v on v.owner=o.owner and v.piece=o.event_id || '#0'
                where o.kind != 'SessionEnded')
        """
        total, remembered, rejected, nothing = self._connection.execute(states).fetchone()
        return {
            "observations": total,
            "remembered": remembered or 0,
            "nothing": nothing or 0,
            "rejected": rejected or 0,
        }

    def turns(self, owner: Owner, session_id: str, limit: int) -> list[Turn]:
        """Return a session's most recent turns, oldest first."""
        rows = self._connection.execute(
            "select turn, recorded_at from observations where owner=? and session_id=? and turn is not null "
            "order by offset desc limit ?",
            (name_of(owner), session_id, limit),
        ).fetchall()
        return [Turn(codec.decode_as(t, TurnRecorded), datetime.fromisoformat(at)) for t, at in reversed(rows)]

    def _decision(self, name: str, version: int) -> Decision:
        (body,) = self._connection.execute(
            "select body from decisions where owner=? and version=?", (name, version)
        ).fetchone()
        return codec.decode_as(body, Decision)


def _spelt(record: Record, message: Observation) -> bytes:
    """Return a message's bytes: the record's own, unless they are JSON."""
    return record.value if record.value.startswith(codec.MARKER) else codec.encode(message)
