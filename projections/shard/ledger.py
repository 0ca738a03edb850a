"""The fold of the ledger into a shard: the decisions that count, and their changes."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from projections.shard.erased_users import ErasedUsers
from projections.shard.rows.damage import EXCHANGED, Damages
from projections.shard.rows.intimacies import IntimacyRows
from projections.shard.rows.memories import Vectors, decision_naming, decision_of_row, row_of_decision, row_of_memory
from projections.shard.rows.wakes import WakeChanges, WakeRows
from projections.shard.tables import COVERED, PROVISIONAL, REJECTED, name_of
from projections.shard.user_states import UserStates
from projections.state.evolve import (
    Unfit,
    after_item,
    counts,
    events_in,
    events_of,
    evolve,
    evolve_some,
    is_decided,
    item_key,
    link_of,
    unlike_appended,
)
from projections.turns import stepwise
from schemas import codec
from schemas.identity import Owner, partition_owner
from schemas.messages.chain import is_replaced_rightly
from schemas.messages.decision import MAX_CHANGES, Decision
from schemas.messages.erasure import MemoryErased, UserErased
from schemas.messages.events import (
    MEMORY_EVENTS,
    WAKE_EVENTS,
    IntimacyKept,
    MemoryFormed,
    MemoryImported,
    MemoryReinforced,
    MemoryRevised,
    TickApplied,
)
from schemas.messages.inbox import TICKS
from schemas.topics import INBOX, LEDGER

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
    from datetime import datetime

    from projections.shard.tables import ShardConnection
    from projections.state.memory import Memory, UserState
    from schemas.log import Record
    from schemas.messages.events import LedgerEvent

log = logging.getLogger("mnemolog.shard")
MANY_DECISIONS: Final = 2_000
"""The most decisions decoded one by one: this many, of an event or two each, take a tenth of a second."""
EVENTS_A_STEP: Final = 64
"""The events of a large decision that are folded in one step, which takes some milliseconds."""
_SINCE: Final = "from decisions where offset >= ?"
_OF_USERS: Final = (
    f"select owner, memory_id from memories where owner in (select owner {_SINCE}) order by owner, sequence"  # noqa: S608
)
_FEW: Final = f"select 1 {_SINCE} limit {MANY_DECISIONS}"
TICK_TYPES: Final = frozenset(tick.__name__ for tick in TICKS)

_ROWS_AT_ONCE: Final = 50
"""The number of decisions read from the file together: each may have 20 kB."""
_COVER: Final = (
    "insert into covered values(?,?,?,?) on conflict(owner, piece)"
    f" do update set rejected=iif(excluded.rejected={REJECTED}, covered.rejected, excluded.rejected),"
    " version=excluded.version where covered.rejected"
)
"""The first decision about a piece is final, unless it rejected the piece, or covered it provisionally."""


@dataclass(slots=True)
class Batch:
    """The changes of a run of decisions, gathered in memory before they are written."""

    states: dict[Owner, UserState] = field(default_factory=dict)
    before: dict[Owner, UserState] = field(default_factory=dict)
    memories: dict[Owner, dict[str, int]] = field(default_factory=dict)
    """The memories changed, each with its position in the order of forming."""
    memory_rows: list[tuple[str, str, int, bytes]] = field(default_factory=list)
    """The rows of these memories, built when all records are gathered."""
    vectors: list[tuple[str, str, bytes]] = field(default_factory=list)
    decisions: list[tuple[str, int, int, str, bytes]] = field(default_factory=list)
    items: list[tuple[str, bytes]] = field(default_factory=list)
    covered: list[tuple[str, str, int, int]] = field(default_factory=list)
    cited: list[tuple[str, str, str, int]] = field(default_factory=list)
    wakes: WakeChanges = field(default_factory=WakeChanges)
    intimacies: set[Owner] = field(default_factory=set)
    erased: dict[Owner, tuple[UserErased, tuple[str, int]]] = field(default_factory=dict)
    """Erasures, each with its cut of the inbox. The batch's other changes to the user were decided after it."""
    erased_memories: list[tuple[Owner, MemoryErased, Decision]] = field(default_factory=list)
    """Erasures of single memories, each with its decision."""
    removed: dict[Owner, set[str]] = field(default_factory=dict)
    """The memories that an erasure removed."""
    void: int = 0
    damages: dict[str, tuple[int, str]] = field(default_factory=dict)
    """By user, the offset of the first record that does not follow from the log before it, and the fault."""
    healed: set[str] = field(default_factory=set)
    """Users who were erased, so that a damaged history no longer counts."""

    def damage(self, name: str, offset: int, what: str) -> None:
        """Note the damage to a user's history."""
        self.damages.setdefault(name, (offset, what))

    def heal(self, name: str) -> None:
        """Note that a user's history begins anew."""
        self.healed.add(name)
        self.damages.pop(name, None)

    def indexed_changes(self) -> dict[Owner, list[str]]:
        """Return the memories whose index entries change. Decay and recalls change no index entry."""
        found: dict[Owner, list[str]] = {}
        for owner in dict.fromkeys([*self.removed, *self.memories]):
            before, after = self.before[owner].memories, self.states[owner].memories
            touched = self.memories.get(owner, ())
            others = (i for i in touched if _is_other(before.get(i), after.get(i)))
            if changed := {*self.removed.get(owner, ()), *others}:
                found[owner] = list(changed)
        return found

    def erase(self, owner: Owner, event: UserErased, inbox: tuple[str, int], known: Iterable[str]) -> None:
        """Drop the changes gathered for a user, and gather the erasure of the rest."""
        name = name_of(owner)
        self.removed.setdefault(owner, set()).update(known, self.memories.pop(owner, {}))
        for rows in (self.vectors, self.decisions, self.items, self.covered, self.cited):
            rows[:] = [row for row in rows if row[0] != name]  # type: ignore[misc]
        self.wakes.forget(owner)
        self.intimacies.discard(owner)
        self.erased[owner] = event, inbox
        self.erased_memories[:] = [one for one in self.erased_memories if one[0] != owner]

    def erase_memory(self, owner: Owner, event: MemoryErased, decision: Decision) -> None:
        """Gather the erasure of a memory, which is made in the tables after all other writes."""
        self.removed.setdefault(owner, set()).add(event.memory_id)
        self.memories.get(owner, {}).pop(event.memory_id, None)
        self.erased_memories.append((owner, event, decision))


class LedgerFold:  # noqa: PLR0904 - most of them look up
    """Folds the decisions of one shard's ledger, and answers queries about them."""

    def __init__(
        self,
        connection: ShardConnection,
        partition: int | None,
        belongs: Callable[[Owner], bool] = lambda _: True,
        topic: str = LEDGER.name,
    ) -> None:
        """Fold the decisions in `topic` of owners for whom `belongs` returns True; those of others are void."""
        self._connection = connection
        self._partition = partition
        self._belongs = belongs
        self.erased_users = ErasedUsers(connection)
        self.wakes = WakeRows(connection)
        self._intimacy = IntimacyRows(connection)
        self.states = UserStates(connection, self.wakes, self._intimacy)
        self.damages = Damages(connection, topic, partition or 0)
        self.void_decisions = 0
        """The number of decisions folded by this process that do not count; records of other kinds are left out."""

    def forget(self) -> None:
        """Empty the cache: the file was emptied."""
        self.states.forget()
        self.erased_users.forget()
        self.damages.forget()

    def state(self, owner: Owner) -> UserState:
        """Return a user's state; an unknown user has an empty one."""
        return self.states.state(owner)

    def vectors(self, owner: Owner) -> Vectors:
        """Return a user's vectors."""
        return Vectors(self._connection, name_of(owner))

    def owners(self) -> list[Owner]:
        """Return all users that have decisions, in order of their key; the reserved owners of ticks are left out."""
        found = self._connection.execute("select owner from users order by owner").fetchall()
        listed = [Owner.of_key(name.encode()) for (name,) in found]
        return [owner for owner in listed if not owner.is_partition]

    def erasures(self) -> list[tuple[Owner, str]]:
        """Return each erased user, with the item that erased the user last."""
        found = self._connection.execute("select owner from users where erased_at is not null").fetchall()
        owners = (Owner.of_key(name.encode()) for (name,) in found)
        # An erasure removes all earlier decisions, so it is the first.
        return [(owner, decision.item_id) for owner in owners for _, decision in self.decisions(owner, most=1)]

    def erased_memories(self) -> list[tuple[Owner, str, str]]:
        """Return the owner and the id of each erased memory, with the item that erased it."""
        found = self.erased_users.erased_memories()
        return [(Owner.of_key(name.encode()), memory_id, item_id) for name, memory_id, item_id in found]

    def erased_memory(self, memory_id: str) -> tuple[Owner, str] | None:
        """Return the owner of an erased memory, with the item that erased it; None for any other memory."""
        found = self.erased_users.erased_memory(memory_id)
        return None if found is None else (Owner.of_key(found[0].encode()), found[1])

    def is_erased(self, owner: Owner, event_id: str) -> bool:
        """Return whether an observation was erased with a memory: no record with its id counts any more."""
        return self.erased_users.has_source(name_of(owner), event_id)

    def memories_since(self, offset: int) -> dict[Owner, list[str]]:
        """Return the memories that were changed by counted decisions at that offset of the ledger or later.

        If these decisions are many, or this version cannot read one of them, returns all memories of their users.
        """
        named: list[tuple[str, str]] = []
        is_many = len(self._connection.execute(_FEW, (offset,)).fetchall()) == MANY_DECISIONS
        if not is_many:
            try:
                for name, body in self._connection.execute(f"select owner, body {_SINCE}", (offset,)):
                    events = events_of(decision_of_row(body))
                    named += [(name, event.memory_id) for event in events if isinstance(event, MEMORY_EVENTS)]
            except codec.Undecodable:
                is_many = True
        if is_many:
            named = self._connection.execute(_OF_USERS, (offset,)).fetchall()
        changed: dict[Owner, dict[str, None]] = {}
        for name, memory_id in named:
            changed.setdefault(Owner.of_key(name.encode()), {})[memory_id] = None
        return {owner: list(ids) for owner, ids in changed.items()}

    def count(self) -> int:
        """Return the number of decisions that count."""
        return int(self._connection.execute("select coalesce(sum(version), 0) from users").fetchone()[0])

    def statuses(self) -> dict[str, int]:
        """Return the number of memories by stored status; reads the whole table."""
        counted = "select json_extract(cast(body as text), '$.status'), count(*) from memories group by 1"
        return dict(self._connection.execute(counted).fetchall())

    def owners_of(self, memory_id: str) -> list[Owner]:
        """Return the owners of memories with that id."""
        found = self._connection.execute("select owner from memories where memory_id=?", (memory_id,)).fetchall()
        return [Owner.of_key(name.encode()) for (name,) in found]

    def decisions(self, owner: Owner, after: int = 0, most: int = -1) -> Iterator[tuple[int, Decision]]:
        """Yield a user's counted decisions after a version in order, each with its offset in the ledger."""
        for _, offset, body in self.decision_rows(owner, after, most):
            yield offset, decision_of_row(body)

    def decision_rows(self, owner: Owner, after: int, most: int) -> list[tuple[int, int, bytes]]:
        """Return the version, the offset and the row of a user's next counted decisions after a version."""
        query = "select version, offset, body from decisions where owner=? and version>? order by version limit ?"
        return self._connection.execute(query, (name_of(owner), after, most)).fetchall()

    def decisions_since(self, offset: int, most: int, owner: Owner | None = None) -> Iterator[tuple[int, Decision]]:
        """Yield counted decisions of an owner, or of all, at that offset of the ledger or later, in its order.

        Rows are read one at a time: nothing may be written until the last one has been read.
        """
        if owner is None:
            query = f"select offset, body {_SINCE} order by offset limit ?"
            rows = self._connection.execute(query, (offset, most))
        else:
            query = "select offset, body from decisions where owner=? and offset>=? order by version limit ?"
            rows = self._connection.execute(query, (name_of(owner), offset, most))
        for at, body in rows:
            yield at, decision_of_row(body)

    def decided(self, owner: Owner, item_id: str) -> list[Decision]:
        """Return the counted decisions about an item, one for each part."""
        # The index is named because SQLite would otherwise scan all decisions of the user.
        query = "select body from decisions indexed by decisions_by_item where owner=? and item_id=? order by version"
        rows = self._connection.execute(query, (name_of(owner), item_id)).fetchall()
        return [decision_of_row(body) for (body,) in rows]

    def tick_applied(self, partition: int, tick_id: str) -> TickApplied | None:
        """Return how a tick was closed, or None while it is open."""
        for decision in self.decided(partition_owner(partition), tick_id):
            for event in events_of(decision):
                if isinstance(event, TickApplied):
                    return event
        return None

    def gather(self, records: Sequence[Record]) -> Generator[None, None, Batch]:
        """Fold records in memory, in steps. Records that do not count are void; `batch.void` counts their decisions.

        Nothing may be folded meanwhile. Raises UnknownSchema for a record that only a newer version can read: it may
        count there.
        """
        batch = Batch()
        for record in records:
            yield
            is_decision = False
            try:
                decision = codec.decode_as(record.value, Decision)
                is_decision = True
                batch.void += not (yield from self._gather(batch, record, decision))
            except codec.UnknownSchema:
                raise
            except (codec.Undecodable, Unfit) as error:
                log.warning("the record at %s is void: %s", record.position, error)
                batch.void += is_decision
        yield from self._gather_memory_rows(batch)
        return batch

    def _gather(self, batch: Batch, record: Record, decision: Decision) -> Generator[None, None, bool]:
        """Fold one record; return whether it counts. Raises Undecodable, Unfit."""
        owner = decision.envelope.owner
        if not self._belongs(owner):
            return False
        state = batch.states.get(owner) or self.state(owner)
        owner = state.owner  # one object for all decisions of a user: dicts need not compare it
        is_new = counts(state, decision) and not self._is_closed(batch, decision)
        is_linked = decision.previous is not None or bool(state.tip)
        if is_linked and (is_new or decision.version > state.version + 1):  # a void decision proves nothing
            wrong = unlike_appended(state, decision) if is_replaced_rightly(record, decision) else EXCHANGED
            if wrong is not None:
                batch.damage(name_of(owner), record.position.offset, wrong)
                return False
        if not is_new:
            return False
        link = link_of(decision, record.value)
        if len(decision.events) <= EVENTS_A_STEP:
            events = events_of(decision)
            after = evolve(state, decision, events, link)
        else:
            events, after = yield from self._evolving(state, decision, link)
        batch.before.setdefault(owner, state)
        batch.states[owner] = after
        for event in events:
            if isinstance(event, UserErased):
                batch.erase(owner, event, (INBOX.name, decision.item_offset + 1), state.memories)
                batch.heal(name_of(owner))
            elif isinstance(event, MemoryErased):
                batch.erase_memory(owner, event, decision)
        _gather_rows(batch, owner, decision, events, record)
        return True

    @staticmethod
    def _evolving(
        state: UserState, decision: Decision, link: bytes
    ) -> Generator[None, None, tuple[tuple[LedgerEvent, ...], UserState]]:
        """Return the many events of a decision and the state after them, in steps. Raises Undecodable, Unfit."""
        events = list["LedgerEvent"]()
        after = after_item(state, decision, link)
        for begin in range(0, len(decision.events), EVENTS_A_STEP):
            some = events_in(decision.events[begin : begin + EVENTS_A_STEP])
            after = evolve_some(after, decision, some)
            events += some
            yield
        return tuple(events), after

    @staticmethod
    def _gather_memory_rows(batch: Batch) -> Generator[None, None, None]:
        """Build the rows of the memories that a batch changes, in steps."""
        for owner, ids in batch.memories.items():
            name, memories = name_of(owner), batch.states[owner].memories
            for some in stepwise(ids.items()):
                batch.memory_rows += [(name, i, sequence, row_of_memory(memories[i])) for i, sequence in some]
                yield

    def write(self, batch: Batch) -> None:
        """Write a batch into the file, in the caller's transaction. May be called again."""

        def run(statement: str, rows: Sequence[tuple[object, ...]]) -> None:
            if rows:
                self._connection.executemany(statement, rows)

        for owner, (event, inbox) in batch.erased.items():
            self.erased_users.erase(owner, event, inbox)
        run(
            "insert or replace into users values(?,?,?,?,?,?,?,?)",
            [(name_of(owner), *_row_of(state)) for owner, state in batch.states.items()],
        )
        run(
            "insert into memories values(?,?,?,?) on conflict(owner, memory_id) do update set body=excluded.body",
            batch.memory_rows,
        )
        run("insert or replace into vectors values(?,?,?)", batch.vectors)
        run("insert or replace into decisions values(?,?,?,?,?)", batch.decisions)
        run("insert or ignore into items values(?,?)", batch.items)
        run(_COVER, batch.covered)
        run("insert or ignore into cited values(?,?,?,?)", batch.cited)
        self.wakes.write(batch.wakes, batch.states)
        self._intimacy.write(batch.intimacies, batch.states)
        for owner, gone, decision in batch.erased_memories:
            self.erased_users.erase_memory(owner, gone, decision)
        self.damages.write([(name, *found) for name, found in batch.damages.items()], batch.healed)

    def keep(self, batch: Batch) -> None:
        """Cache the states of a batch that has been written. No unwritten state may be seen."""
        for owner, state in batch.states.items():
            self.states.keep(owner, state)
        self.void_decisions += batch.void
        if batch.damages or batch.healed:
            self.damages.forget()
            for name, (offset, what) in batch.damages.items():
                log.error("%s", self.damages.of(name) or f"{name} at {offset}: {what}")

    def _is_closed(self, batch: Batch, decision: Decision) -> bool:
        """Return whether a tick's decision comes after the tick's closing one."""
        if decision.item_type not in TICK_TYPES or self._partition is None or decision.envelope.owner.is_partition:
            return False
        closer = partition_owner(self._partition)
        return is_decided(batch.states.get(closer) or self.state(closer), decision.item_id)


def _row_of(state: UserState) -> tuple[object, ...]:
    """Return the columns of the table of users for a state, without the user's name."""
    last = state.last_item, state.last_offset, state.last_part, state.last_part_closed
    return (state.version, *last, _iso(state.erased_at), state.tip)


def _iso(instant: datetime | None) -> str | None:
    return None if instant is None else instant.isoformat()


_as_indexed = attrgetter(
    "text_version",
    "status",
    "content",
    "indexed_agent_id",
    "kind",
    "category",
    "memory_type",
    "source_type",
    "occurred_at",
    "embedding_model",
)
"""The attributes of a memory that its index entry depends on."""


def _is_other(before: Memory | None, after: Memory | None) -> bool:
    return before is None or after is None or _as_indexed(before) != _as_indexed(after)


def _gather_rows(batch: Batch, owner: Owner, decision: Decision, events: Sequence[LedgerEvent], record: Record) -> None:
    name = name_of(owner)
    vectors: list[bytes] = []
    batch.items.append((name, item_key(decision.item_id)))
    state = PROVISIONAL if decision.is_provisional else REJECTED if decision.rejected else COVERED
    batch.covered.extend((name, piece, state, decision.version) for piece in decision.covered)
    for number, event in enumerate(events):
        if not isinstance(event, MEMORY_EVENTS):
            if isinstance(event, WAKE_EVENTS):
                batch.wakes.gather(owner, decision, event, record.position.offset)
            elif isinstance(event, IntimacyKept):
                batch.intimacies.add(owner)
            continue
        # A row keeps the sequence with which it was inserted, whatever the sequence of later events about it.
        batch.memories.setdefault(owner, {}).setdefault(event.memory_id, decision.version * (MAX_CHANGES + 1) + number)
        if isinstance(event, (MemoryFormed, MemoryImported, MemoryRevised)) and event.vector is not None:
            vectors.append(event.vector.data)
            batch.vectors.append((name, event.memory_id, event.vector.data))
        if isinstance(event, (MemoryFormed, MemoryReinforced, MemoryRevised)):
            batch.cited.extend((name, source, event.memory_id, decision.version) for source in event.source_ids)
    value = record.value
    if decision.replaced is not None:  # the same row as `ErasedUsers.erase_memory` leaves for one folded earlier
        value = codec.encode(replace(decision, replaced=None))
    row = row_of_decision(value, vectors)
    batch.decisions.append((name, decision.version, record.position.offset, decision.item_id, row))


def decisions_in_steps(
    ledger: Callable[[], LedgerFold], owner: Owner, naming: str | None = None
) -> Generator[None, None, list[tuple[int, Decision]]]:
    """Return a user's counted decisions, or those that name a memory, each with its offset in the ledger, in steps.

    `ledger` returns the user's ledger, and its errors are passed on. Decisions that are folded between the steps are
    included.
    """
    found, after = list[tuple[int, Decision]](), 0
    while rows := ledger().decision_rows(owner, after, _ROWS_AT_ONCE):
        for version, offset, body in rows:
            decision = decision_of_row(body) if naming is None else decision_naming(body, naming)
            if decision is not None:
                found.append((offset, decision))
            after = version
            yield
    return found
