"""Queries about observations: their first record, their progress, and the memories that cite them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import orjson

from projections.shard.rows.memories import decision_of_row
from projections.shard.tables import PROVISIONAL, REJECTED, name_of
from projections.state.lifetime import sql_instant
from schemas.identity import Owner
from schemas.log import Position

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from datetime import datetime

    from projections.shard.dead_letters import DeadLettersFold
    from schemas.messages.decision import Decision, Outcome

MAX_RECENT: Final = 4096
"""The most first records kept in memory."""
OBSERVATIONS_AT_ONCE: Final = 250
NOT_WORTH_REMEMBERING: Final = "nothing in it is worth remembering"
MET_AGAIN: Final = frozenset({"reinforced", "revised"})
"""Actions of the outcomes of candidates that an existing memory already states."""
KNOWN: Final = "known"
"""The beginning of the reason of an outcome whose candidate is known already and changes nothing."""
WITHOUT_MEMORY: Final = frozenset({"nothing", "suppressed", "refused", "forgotten"})
"""Actions that leave no memory."""

_OWNERS: Final = {
    table: f"with recursive found(owner) as (select min(owner) from {table} union all"  # noqa: S608 - our own tables
    f" select (select min(owner) from {table} as t where t.owner > found.owner) from found where owner is not null)"
    " select owner from found where owner is not null"
    for table in ("observations", "dead")
}
"""Queries that take one step for each user, however many rows each has."""


@dataclass(frozen=True, slots=True)
class Seen:
    """The first record of an observation: later ones with the same id are repeats, or conflicts."""

    event_id: str
    position: Position
    digest: bytes
    kind: str
    pieces: int
    """The number of pieces; 0 if nothing is extracted from it."""


@dataclass(frozen=True, slots=True)
class Answered:
    """A piece for which the inbox holds an answer."""

    event_id: str
    position: Position
    piece_id: str
    item_id: str
    item_offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The progress of an observation; only the extraction knows whether it is `waiting`."""

    state: str
    """One of accepted, extracted, remembered, nothing, rejected and dead."""
    reason: str | None
    memory_ids: tuple[str, ...]
    decisions: tuple[str, ...]
    known_ids: tuple[str, ...] = ()
    """The memories that it repeats: they were known before."""
    is_provisional: bool = False
    """Whether the rules answered in place of the model."""
    is_reextractable: bool = False
    """Whether a piece was rejected, or answered provisionally, so that an operator can start another extraction."""


class ObservationLookup:
    """Queries about the observations of one shard, answered from its file."""

    def __init__(self, connection: sqlite3.Connection, partition: int, letters: DeadLettersFold) -> None:
        self._connection = connection
        self._partition = partition
        self._letters = letters
        self._recent: dict[tuple[str, str], Seen] = {}
        """The latest folded records that were the first of their observation: observe looks up each of them next."""
        self._heard: dict[str, None] = {}
        """Owners, as named in the tables, of observations that came since the last `take_heard`."""
        self.removals = 0
        """How often observations may have been removed: a result read before the last time may be stale."""

    def remember_recent(self, folded: Mapping[tuple[str, str], Seen]) -> None:
        """Keep first records in memory, by owner's name and event id."""
        if len(self._recent) + len(folded) > MAX_RECENT:
            self._recent.clear()
        self._recent.update(folded)
        self._heard.update((name, None) for name, _ in folded)

    def take_heard(self) -> dict[Owner, None]:
        """Return the users of observations that came since the last call."""
        heard, self._heard = self._heard, {}
        return {Owner.of_key(name.encode()): None for name in heard}

    def forget_recent(self) -> None:
        """Empty the cache: the file no longer holds the records that were folded last."""
        self._recent.clear()
        self.removals += 1

    def extracted(self, owner: Owner, pieces: Iterable[str]) -> set[str]:
        """Return the pieces that an extraction in the inbox or a decision covers."""
        name, query = (
            name_of(owner),
            (
                "select exists(select 1 from extracted where owner=?1 and piece=?2)"
                " or exists(select 1 from covered where owner=?1 and piece=?2)"
            ),
        )
        return {piece for piece in pieces if self._connection.execute(query, (name, piece)).fetchone()[0]}

    def first(self, owner: Owner, event_id: str) -> Seen | None:
        """Return the first record of an observation, or None if it is unknown."""
        return self.seen(owner, [event_id]).get(event_id)

    def seen(self, owner: Owner, event_ids: Sequence[str]) -> dict[str, Seen]:
        """Return the first record of each of a user's observations that are known."""
        name = name_of(owner)
        recent = {i: seen for i in event_ids if (seen := self._recent.get((name, i))) is not None}
        found = self.seen_of([(owner, event_id) for event_id in event_ids if event_id not in recent])
        return recent | {event_id: seen for (_, event_id), seen in found.items()}

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

    def of_agents(self, owner: Owner, event_ids: Iterable[str], agents: Collection[str]) -> set[str]:
        """Return those of a user's observations that belong to one of some agents."""
        query = "select agent_id from observations where owner=? and event_id=?"
        found = {i: self._connection.execute(query, (name_of(owner), i)).fetchone() for i in event_ids}
        return {event_id for event_id, row in found.items() if row and row[0] in agents}

    def dead(self, owner: Owner, event_id: str) -> str | None:
        """Return why the only records with this event id became dead letters, or None."""
        query = "select reason from dead where owner=? and event_id=? order by topic, offset limit 1"
        found = self._connection.execute(query, (name_of(owner), event_id)).fetchone()
        return found[0] if found else None

    def progress(self, owner: Owner, seen: Seen) -> Progress:
        """Return the progress of an observation."""
        if seen.pieces == 0:
            return Progress(state="nothing", reason="nothing is extracted from it", memory_ids=(), decisions=())
        name, run = name_of(owner), self._connection.execute
        pieces = [f"{seen.event_id}#{n}" for n in range(seen.pieces)]
        marks = ",".join("?" * len(pieces))
        covered = run(
            f"select piece, rejected, version from covered where owner=? and piece in ({marks})",  # noqa: S608 - only marks
            (name, *pieces),
        ).fetchall()
        undecided = set(pieces).difference(piece for piece, _, _ in covered)
        given_up = self._letters.given_up(owner, sorted(undecided))
        if len(given_up) < len(undecided):
            known = self.extracted(owner, pieces)
            state = "extracted" if len(known) == seen.pieces else "accepted"
            return Progress(state=state, reason=None, memory_ids=(), decisions=())
        memories = run("select memory_id, version from cited where owner=? and event_id=?", (name, seen.event_id))
        cited = sorted(memories.fetchall(), key=lambda row: (row[1], row[0]))
        versions = sorted({version for _, _, version in covered} | {version for _, version in cited})
        decisions = [self._decision(name, version) for version in versions]
        answers = {answer for _, answer, _ in covered}
        state = "remembered" if cited else "rejected" if REJECTED in answers else "nothing"
        mine = {memory_id for memory_id, _ in cited}
        outcomes = self._outcomes(name, pieces, decisions)
        if given_up:
            state, reasons = "dead", list(given_up.values())
        elif mine:
            reasons = [o.reason for o in outcomes if o.memory_id in mine]
        else:
            reasons = [o.reason for o in outcomes if o.action in WITHOUT_MEMORY]
        return Progress(
            state=state,
            reason="; ".join(dict.fromkeys(reasons)) or NOT_WORTH_REMEMBERING,
            memory_ids=tuple(memory_id for memory_id, _ in cited),
            decisions=tuple(d.envelope.event_id for d in decisions),
            known_ids=_known(outcomes),
            is_provisional=PROVISIONAL in answers,
            is_reextractable=bool(answers & {REJECTED, PROVISIONAL}),
        )

    def _outcomes(self, name: str, pieces: Sequence[str], decisions: Sequence[Decision]) -> list[Outcome]:
        """Return the outcomes of the candidates that cite a piece, or of all candidates of its windows if none does.

        For a window that was extracted again, these are the outcomes of the valid answer, once it is decided on.
        """
        marks = ",".join("?" * len(pieces))
        query = f"select item_id, cited_by from extracted where owner=? and piece in ({marks})"  # noqa: S608 - only marks
        standing = self._connection.execute(query, (name, *pieces)).fetchall()
        subjects = {(item_id, subject) for item_id, cited_by in standing for subject in cited_by.split()}
        items = {item_id for item_id, _ in standing}
        decided = [d for d in decisions if d.item_id in items] or decisions
        cited = [o for d in decided for o in d.outcomes if (d.item_id, o.subject) in subjects]
        return cited or [o for d in decided for o in d.outcomes]

    def answered(self, owner: Owner) -> list[Answered]:
        """Return the pieces of a user's observations that are answered but not yet decided on, in the log's order."""
        query = """
            select o.event_id, o.topic, o.offset, e.piece, e.item_id, e.offset
            from extracted e join observations o on o.owner = e.owner
                and o.event_id = substr(e.piece, 1, length(rtrim(e.piece, '0123456789')) - 1)
            where e.owner = ?1 and not exists(select 1 from covered c where c.owner = ?1 and c.piece = e.piece)
                and not exists(select 1 from given_up g where g.owner = ?1 and g.piece = e.piece)
            order by o.topic, o.offset, e.piece
        """
        found = self._connection.execute(query, (name_of(owner),)).fetchall()
        return [
            Answered(event_id, Position(topic, self._partition, offset), piece, item_id, inbox_offset)
            for event_id, topic, offset, piece, item_id, inbox_offset in found
        ]

    def owners(self) -> list[Owner]:
        """Return the owners of all observations here, and of records that claim to be one."""
        found = {name for query in _OWNERS.values() for (name,) in self._connection.execute(query)}
        return [Owner.of_key(name.encode()) for name in sorted(found)]

    def count_of(self, owner: Owner) -> int:
        """Return the number of a user's observations that are held."""
        query = "select count(*) from observations where owner=?"
        return int(self._connection.execute(query, (name_of(owner),)).fetchone()[0])

    def counts(self) -> dict[str, int]:
        """Return the number of observations, and of those in each final state of `progress`, without session ends."""
        states = """
            with recursive numbers(n) as (
                select 0 union all select n + 1 from numbers where n + 1 < (select max(pieces) from observations)
            ), pieces as (
                select o.owner, o.event_id, v.piece is not null as decided, coalesce(v.rejected = 1, 0) as rejected,
                    v.piece is null and o.pieces > 0 and exists(
                        select 1 from given_up g where g.owner = o.owner and g.piece = o.event_id || '#' || n
                    ) as dead,
                    o.pieces = 0 as empty
                from observations o
                left join numbers on n < o.pieces
                left join covered v on v.owner = o.owner and v.piece = o.event_id || '#' || n
                where o.kind != 'SessionEnded'
            ), ends as (
                select owner, event_id, max(rejected) as rejected, max(dead) as dead,
                    min(decided or dead or empty) as ended
                from pieces group by owner, event_id
            ), states as (
                select ended, rejected, dead,
                    exists(select 1 from cited c where c.owner = ends.owner and c.event_id = ends.event_id) as cited
                from ends
            )
            select count(*), sum(ended and not dead and cited), sum(ended and not dead and not cited and rejected),
                sum(ended and not dead and not cited and not rejected), sum(ended and dead)
            from states
        """
        total, *ended = self._connection.execute(states).fetchone()
        remembered, rejected, nothing, dead = (number or 0 for number in ended)
        return {
            "observations": total,
            "remembered": remembered,
            "nothing": nothing,
            "rejected": rejected,
            "dead": dead,
        }

    def tokens_since(self, owner: Owner, instant: datetime) -> int:
        """Return the number of model tokens used for a user since an instant, by the log's time."""
        query = "select coalesce(sum(tokens_in + tokens_out), 0) from model_calls where owner = ? and at >= ?"
        return int(self._connection.execute(query, (name_of(owner), sql_instant(instant))).fetchone()[0])

    def citing(self, owner: Owner, event_id: str) -> list[str]:
        """Return the memories that cite an observation, in the order of their ids."""
        query = "select memory_id from cited where owner=? and event_id=? order by memory_id"
        return [i for (i,) in self._connection.execute(query, (name_of(owner), event_id)).fetchall()]

    def citing_each(self, owner: Owner, event_ids: Sequence[str]) -> dict[str, list[str]]:
        """Return the memories that cite each of the observations."""
        query = "select event_id, memory_id from cited where owner=? and event_id in (select value from json_each(?))"
        found: dict[str, list[str]] = {event_id: [] for event_id in event_ids}
        for event_id, memory_id in self._connection.execute(
            query, (name_of(owner), orjson.dumps(event_ids).decode())
        ).fetchall():
            found[event_id].append(memory_id)
        return found

    def _decision(self, name: str, version: int) -> Decision:
        (body,) = self._connection.execute(
            "select body from decisions where owner=? and version=?", (name, version)
        ).fetchone()
        return decision_of_row(body)


def _known(outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    """Return the memories that the outcomes repeat, without those that one of them formed."""
    formed = {o.memory_id for o in outcomes if o.action == "formed"}
    again = (o.memory_id for o in outcomes if o.action in MET_AGAIN or o.reason.startswith(KNOWN))
    return tuple(dict.fromkeys(memory_id for memory_id in again if memory_id and memory_id not in formed))
