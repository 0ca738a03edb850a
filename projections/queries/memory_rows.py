"""What searches read of a user's memories, as columns: so that one of hundreds of hits is touched by itself in none."""

from __future__ import annotations

from itertools import chain, compress, count, repeat
from operator import is_not
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from projections.index.embedded.table import microseconds
from projections.state.lifetime import are_over
from projections.state.memory import ACTIVE
from projections.state.provenance import provenance_of
from projections.turns import ITEMS_A_STEP
from projections.user_cache import UserCache
from schemas.vocabulary.words import DOCUMENT, SHOWN

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence
    from datetime import datetime

    from numpy.typing import NDArray

    from projections.queries.filters import Filters
    from projections.queries.turns.index import TurnMatches
    from projections.state.memory import Memory, UserState
    from schemas.identity import Owner

    Rows: TypeAlias = NDArray[np.intp]
    Mask: TypeAlias = NDArray[np.bool_]
    Shares: TypeAlias = NDArray[np.float64]
    Citing: TypeAlias = Callable[[Owner, Sequence[str]], Mapping[str, Sequence[str]]]
    """Returns the memories that cite each of some of a user's observations."""

SMALL_BYTES: Final = 8 << 20
MAX_BYTES: Final = 64 << 20
_BYTES_OF_A_USER: Final = 1_000
_BYTES_OF_A_ROW: Final = 2_200
"""Its places in dict, list and table, some 200, and the memory, which the cache of states may have dropped."""
_FIRST_ROWS: Final = 64
_NAMES: Final = ("kind", "memory_type", "category", "source_type", "stated")
"""Of a memory; a filter names the same, but for what is stated: its attribute."""
_NEVER: Final = np.iinfo(np.int64).max
_NONE: Final = -1
_UNREAD: Final = -2
_SCREENS: Final = frozenset(SHOWN.values())


def sees_all(_memory: Memory) -> bool:
    """Return that a memory is seen: nothing is hidden."""
    return True


class _Table:
    """The columns of memories; they grow by half where there is no room."""

    def __init__(self) -> None:
        self.room = _FIRST_ROWS
        self.versions: NDArray[np.int64] = np.zeros(self.room, np.int64)
        """Of their texts."""
        self.ends: NDArray[np.int64] = np.zeros(self.room, np.int64)
        """In microseconds."""
        self.importance: Shares = np.zeros(self.room, np.float64)
        self.looked_at: NDArray[np.int64] = np.zeros(self.room, np.int64)
        """The number of the state for which each was read, or found unchanged."""
        self.occurred: NDArray[np.int64] = np.zeros(self.room, np.int64)
        """In microseconds."""
        self.agents: NDArray[np.int32] = np.zeros(self.room, np.int32)
        """By a number, as all names are."""
        self.provenance: NDArray[np.int32] = np.zeros(self.room, np.int32)
        self.session_id: NDArray[np.int32] = np.zeros(self.room, np.int32)
        self.kind: NDArray[np.int32] = np.zeros(self.room, np.int32)
        self.memory_type: NDArray[np.int32] = np.zeros(self.room, np.int32)
        self.category: NDArray[np.int32] = np.zeros(self.room, np.int32)
        self.source_type: NDArray[np.int32] = np.zeros(self.room, np.int32)
        self.stated: NDArray[np.int32] = np.zeros(self.room, np.int32)
        self.turns: NDArray[np.int32] = np.zeros(self.room, np.int32)
        """The row of the turn that a memory came from, among the words that were asked about last."""
        self.are_active: Mask = np.zeros(self.room, np.bool_)
        self.are_documents: Mask = np.zeros(self.room, np.bool_)
        self.met_elsewhere: Mask = np.zeros(self.room, np.bool_)
        self.are_shared: Mask = np.zeros(self.room, np.bool_)
        self.are_screens: Mask = np.zeros(self.room, np.bool_)
        self.have_several: Mask = np.zeros(self.room, np.bool_)
        """More than one observation that they came from."""

    def grow(self) -> None:
        """Make room."""
        for name, column in vars(self).items():
            if name != "room":
                setattr(self, name, np.concatenate((column, np.zeros(self.room // 2, column.dtype))))
        self.room += self.room // 2


class MemoryRows:
    """The memories of one user that searches have met, a row each; one that has changed since is read anew."""

    def __init__(self) -> None:
        self._memories: list[Memory] = []
        self._row_of: dict[str, int] = {}
        self._table = _Table()
        self._codes: dict[str | None, int] = {None: 0}
        self.of_memories = 0
        """How many memories the user had when last asked about."""
        self._state: UserState | None = None
        self._state_number = 0
        self._citing: dict[str, tuple[str, ...]] = {}
        """By observation, the memories that cite it; as decided up to that state."""
        self._words = _NONE
        self._turns = 0
        """The words that the table's turns are of, and how many there were."""

    def __len__(self) -> int:
        """Return how many rows there are."""
        return len(self._memories)

    @property
    def nbytes(self) -> int:
        """Estimate of the memory in use."""
        return _BYTES_OF_A_USER + _BYTES_OF_A_ROW * len(self._memories)

    def rows(self, state: UserState, ids: Sequence[str]) -> Rows:
        """Return the rows of memories as they are in a state; -1 for those that it has not."""
        self._follow(state)
        rows = np.array(list(map(self._row_of.get, ids, repeat(_NONE))), np.intp)
        looked_at = self._table.looked_at
        unsure = np.flatnonzero((looked_at[rows] != self._state_number) | (rows == _NONE))
        if not len(unsure):
            return rows
        before = rows[unsure]
        now = list(map(state.memories.get, map(ids.__getitem__, unsure.tolist())))
        held = map(self._memories.__getitem__, before.tolist()) if self._memories else repeat(None)
        changed = list(compress(count(), map(is_not, now, held)))
        looked_at[before[before != _NONE]] = self._state_number
        for place in changed:
            if (memory := now[place]) is not None:
                rows[unsure[place]] = self._set(memory)
            elif (row := before[place]) != _NONE:
                rows[unsure[place]] = looked_at[row] = _NONE
        return rows

    def rows_in_steps(self, state: UserState, ids: Sequence[str]) -> Generator[None, None, Rows]:
        """Return what `rows` does; what is to be read anew is read in steps."""
        for begin in range(0, len(ids), ITEMS_A_STEP):
            self.rows(state, ids[begin : begin + ITEMS_A_STEP])
            yield
        return self.rows(state, ids)  # another search may have asked about another state in between

    def citing(self, state: UserState, event_ids: Sequence[str], read: Citing) -> Rows:
        """Return the rows of the memories that cite one of some observations; what is not known is read."""
        self._follow(state)
        known = self._citing
        if unknown := [event_id for event_id in event_ids if event_id not in known]:
            known |= {event_id: tuple(ids) for event_id, ids in read(state.owner, unknown).items()}
        return self.rows(state, list(chain.from_iterable(map(known.__getitem__, event_ids))))

    def _follow(self, state: UserState) -> None:
        """Take another state for the one that is known: whatever was decided about the user, it is another one."""
        if state is not self._state:
            self._state, self._citing = state, {}
            self._state_number += 1

    def memories(self, rows: Rows) -> list[Memory]:
        """Return the memories of some rows."""
        return list(map(self._memories.__getitem__, rows.tolist()))

    def right(self, rows: Rows, versions: NDArray[np.int64]) -> Mask:
        """Return which hits are what the shard has: an active memory, whose text is of that version."""
        right: Mask = (self._table.versions[rows] == versions) & self._table.are_active[rows]
        right &= rows != _NONE
        return right

    def active(self, rows: Rows, at: datetime) -> Mask:
        """Return which are active at an instant."""
        active: Mask = self._table.are_active[rows]
        active &= ~are_over(self._table.ends[rows], microseconds(at))
        return active

    def shown(
        self, rows: Rows, owner: Owner, at: datetime, filters: Filters, *, sees: Callable[[Memory], bool] = sees_all
    ) -> Rows:
        """Return those of some rows that are active at an instant, pass, and are seen."""
        rows = rows[self.active(rows, at) & self.accepted(rows, filters)]
        if filters.condition is None and filters.session_id is None and sees is sees_all:
            return rows
        passing = (filters.fits(memory, owner, at) and sees(memory) for memory in self.memories(rows))
        return rows[np.fromiter(passing, np.bool_, len(rows))]

    def accepted(self, rows: Rows, filters: Filters) -> Mask:
        """Return which pass every filter but the condition, as `Filters.accept` says; of a session those that may."""
        table, accepted = self._table, np.ones(len(rows), np.bool_)
        if filters.kind != DOCUMENT:  # only who asks for documents is shown any
            accepted &= ~table.are_documents[rows]
        for name in _NAMES:
            wanted = filters.attribute if name == "stated" else getattr(filters, name)
            if wanted is not None:
                accepted &= getattr(table, name)[rows] == self._codes.get(wanted, _NONE)
        if filters.session_id is not None:
            of_session = table.session_id[rows] == self._codes.get(filters.session_id, _NONE)
            accepted &= of_session | table.met_elsewhere[rows]
        if filters.exclude_sources:
            excluded = [self._codes.get(source, _NONE) for source in filters.exclude_sources]
            accepted &= ~np.isin(table.provenance[rows], excluded)
        if filters.agent_id is not None:
            accepted &= self.known_to(rows, filters.agent_id)
        if filters.since is not None:
            accepted &= table.occurred[rows] >= microseconds(filters.since)
        if filters.until is not None:
            accepted &= table.occurred[rows] <= microseconds(filters.until)
        if filters.min_importance is not None:
            accepted &= table.importance[rows] >= filters.min_importance
        return accepted

    def known_to(self, rows: Rows, agent_id: str) -> Mask:
        """Return which an agent knows: its own, those shared with it, and those of no agent."""
        agents = self._table.agents[rows]
        known: Mask = (agents == self._codes[None]) | (agents == self._codes.get(agent_id, _NONE))
        for place in np.flatnonzero(self._table.are_shared[rows] & ~known).tolist():
            known[place] = self._memories[rows[place]].known_to(agent_id)
        return known

    def importance(self, rows: Rows) -> Shares:
        """Return how important they are, 0 to 1."""
        return self._table.importance[rows]

    def screens(self, rows: Rows) -> Mask:
        """Return which came from screenshots or articles."""
        return self._table.are_screens[rows]

    def evidence(self, rows: Rows, turns: TurnMatches) -> Shares:
        """Return how well the best of the turns matches that each memory came from, with what was answered to it.

        NaN for those that came from no turn: turns that retention has removed, and observations of other kinds, are
        unknown.
        """
        self._read_turns(rows, turns)
        places = self._table.turns[rows]
        found: Shares = np.append(turns.answered, np.nan)[places].astype(np.float64)  # the last one's place is -1
        for place in np.flatnonzero(self._table.have_several[rows]).tolist():
            cited = map(turns.words.row, self._memories[rows[place]].source_ids)
            matches = [turns.answered[row] for row in cited if row is not None and row < len(turns.answered)]
            found[place] = max(matches, default=np.nan)
        return found

    def _read_turns(self, rows: Rows, turns: TurnMatches) -> None:
        """Look up the turns that rows came from, where that was not done since there were others."""
        turn, words, many = self._table.turns, turns.words, len(turns.answered)
        if self._words != words.number or many < self._turns:
            turn[:] = _UNREAD
        elif self._turns != many:
            turn[turn == _NONE] = _UNREAD
        self._words, self._turns = words.number, many
        for row in rows[turn[rows] == _UNREAD].tolist():
            sources = self._memories[row].source_ids
            found = words.row(sources[0]) if sources else None
            turn[row] = _NONE if found is None or found >= many else found

    def _set(self, memory: Memory) -> int:
        """Take in a memory that is new or has changed; return its row."""
        row = self._row_of.get(memory.memory_id)
        if row is None:
            row = self._row_of[memory.memory_id] = len(self._memories)
            self._memories.append(memory)
            if row == self._table.room:
                self._table.grow()
        else:
            self._memories[row] = memory
        table = self._table
        table.looked_at[row] = self._state_number
        table.versions[row] = memory.text_version
        table.ends[row] = _NEVER if (end := memory.ends_at) is None else microseconds(end)
        table.importance[row] = memory.importance
        table.occurred[row] = microseconds(memory.occurred_at)
        table.agents[row] = self._code(memory.agent_id)
        table.provenance[row] = self._code(provenance_of(memory))
        table.session_id[row] = self._code(memory.session_id)
        table.met_elsewhere[row] = bool(memory.met_in)
        for name in _NAMES:
            getattr(table, name)[row] = self._code(getattr(memory, name))
        table.turns[row] = _UNREAD
        table.are_active[row] = memory.status == ACTIVE
        table.are_documents[row] = memory.kind == DOCUMENT
        table.are_shared[row] = bool(memory.shared_with)
        table.are_screens[row] = memory.source_type in _SCREENS
        table.have_several[row] = len(memory.source_ids) > 1
        return row

    def _code(self, name: str | None) -> int:
        return self._codes.setdefault(name, len(self._codes))


class MemoryRowsByUser:
    """The rows of the users that were searched last."""

    def __init__(self, small_bytes: int = SMALL_BYTES, max_bytes: int = MAX_BYTES) -> None:
        self._users: UserCache[Owner, MemoryRows] = UserCache(small_bytes, max_bytes)

    def of(self, state: UserState) -> MemoryRows:
        """Return the rows of a user's present state.

        Where memories are gone, as by an erasure, new ones are begun: nothing is kept here of what they said.
        """
        rows = self._users.get(state.owner)
        if rows is None or len(state.memories) < rows.of_memories:
            rows = MemoryRows()
            self._users.put(state.owner, rows, rows.nbytes)
        rows.of_memories = len(state.memories)
        return rows

    def count(self, owner: Owner, rows: MemoryRows) -> None:
        """Count what a user's rows take, to which some were added."""
        if self._users.peek(owner) is rows:
            self._users.resize(owner, rows.nbytes)
