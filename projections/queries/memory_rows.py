"""The fields of a user's memories that searches read, as columns, so that hundreds of hits are handled at once."""

from __future__ import annotations

from itertools import chain, compress, count, repeat
from operator import is_not
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from projections.state.lifetime import are_over
from projections.state.memory import ACTIVE
from projections.state.provenance import provenance_of
from projections.turns import ITEMS_A_STEP
from projections.user_cache import UserCache
from schemas.instant import microseconds
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
    """A function that returns the ids of the memories that cite each of the given observations of a user."""

SMALL_BYTES: Final = 8 << 20
MAX_BYTES: Final = 64 << 20
_BYTES_OF_A_USER: Final = 1_000
_BYTES_OF_A_ROW: Final = 2_200
"""About 200 bytes in dict, list and table, and the memory itself, which the cache of states may have dropped."""
_FIRST_ROWS: Final = 64
_NAMES: Final = ("kind", "memory_type", "category", "source_type", "stated")
"""Fields of a memory. Filters have the same names, except that `attribute` filters `stated`."""
_NEVER: Final = np.iinfo(np.int64).max
_NONE: Final = -1
_UNREAD: Final = -2
_SCREENS: Final = frozenset(SHOWN.values())


def sees_all(_memory: Memory) -> bool:
    """Return True: nothing is hidden."""
    return True


class _Table:
    """The columns of memories; they grow by half when they are full."""

    def __init__(self) -> None:
        self.room = _FIRST_ROWS
        self.versions: NDArray[np.int64] = np.zeros(self.room, np.int64)
        """Of their texts."""
        self.ends: NDArray[np.int64] = np.zeros(self.room, np.int64)
        """In microseconds."""
        self.importance: Shares = np.zeros(self.room, np.float64)
        self.looked_at: NDArray[np.int64] = np.zeros(self.room, np.int64)
        """The number of the state for which each row was last read or found unchanged."""
        self.occurred: NDArray[np.int64] = np.zeros(self.room, np.int64)
        """In microseconds."""
        self.agents: NDArray[np.int32] = np.zeros(self.room, np.int32)
        """The code of the agent; all names are stored as codes."""
        self.provenance: NDArray[np.int32] = np.zeros(self.room, np.int32)
        self.session_id: NDArray[np.int32] = np.zeros(self.room, np.int32)
        self.kind: NDArray[np.int32] = np.zeros(self.room, np.int32)
        self.memory_type: NDArray[np.int32] = np.zeros(self.room, np.int32)
        self.category: NDArray[np.int32] = np.zeros(self.room, np.int32)
        self.source_type: NDArray[np.int32] = np.zeros(self.room, np.int32)
        self.stated: NDArray[np.int32] = np.zeros(self.room, np.int32)
        self.turns: NDArray[np.int32] = np.zeros(self.room, np.int32)
        """The row of a memory's source turn in the words of the last question."""
        self.are_active: Mask = np.zeros(self.room, np.bool_)
        self.are_documents: Mask = np.zeros(self.room, np.bool_)
        self.met_elsewhere: Mask = np.zeros(self.room, np.bool_)
        self.are_shared: Mask = np.zeros(self.room, np.bool_)
        self.are_screens: Mask = np.zeros(self.room, np.bool_)
        self.have_several: Mask = np.zeros(self.room, np.bool_)
        """Whether a memory has more than one source observation."""

    def grow(self) -> None:
        """Add room for more rows."""
        for name, column in vars(self).items():
            if name != "room":
                setattr(self, name, np.concatenate((column, np.zeros(self.room // 2, column.dtype))))
        self.room += self.room // 2


class MemoryRows:
    """The memories of one user that searches have found, one row each; a changed memory is read again."""

    def __init__(self) -> None:
        self._memories: list[Memory] = []
        self._row_of: dict[str, int] = {}
        self._table = _Table()
        self._codes: dict[str | None, int] = {None: 0}
        self.of_memories = 0
        """The number of the user's memories at the last question."""
        self._state: UserState | None = None
        self._state_number = 0
        self._citing: dict[str, tuple[str, ...]] = {}
        """The ids of the memories that cite each observation, as of `_state`."""
        self._words = _NONE
        self._turns = 0
        """The number of the words to which the column `turns` refers (`_words`), and the count of turns then."""

    def __len__(self) -> int:
        return len(self._memories)

    @property
    def nbytes(self) -> int:
        """An estimate of the memory in use, in bytes."""
        return _BYTES_OF_A_USER + _BYTES_OF_A_ROW * len(self._memories)

    def rows(self, state: UserState, ids: Sequence[str]) -> Rows:
        """Return the rows of memories as they are in a state; -1 for ids that the state does not have."""
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
        """Return the same as `rows`, reading in steps."""
        for begin in range(0, len(ids), ITEMS_A_STEP):
            self.rows(state, ids[begin : begin + ITEMS_A_STEP])
            yield
        return self.rows(state, ids)  # another search may have moved to another state meanwhile

    def citing(self, state: UserState, event_ids: Sequence[str], read: Citing) -> Rows:
        """Return the rows of the memories that cite the given observations; `read` looks up the unknown ones."""
        self._follow(state)
        known = self._citing
        if unknown := [event_id for event_id in event_ids if event_id not in known]:
            known |= {event_id: tuple(ids) for event_id, ids in read(state.owner, unknown).items()}
        return self.rows(state, list(chain.from_iterable(map(known.__getitem__, event_ids))))

    def _follow(self, state: UserState) -> None:
        """Move to a state if it is not the known one: every decision about the user makes a new state object."""
        if state is not self._state:
            self._state, self._citing = state, {}
            self._state_number += 1

    def memories(self, rows: Rows) -> list[Memory]:
        """Return the memories of the rows."""
        return list(map(self._memories.__getitem__, rows.tolist()))

    def right(self, rows: Rows, versions: NDArray[np.int64]) -> Mask:
        """Return which hits match the shard: the memory is active and its text has the hit's version."""
        right: Mask = (self._table.versions[rows] == versions) & self._table.are_active[rows]
        right &= rows != _NONE
        return right

    def active(self, rows: Rows, at: datetime) -> Mask:
        """Return which rows are active at an instant."""
        active: Mask = self._table.are_active[rows]
        active &= ~are_over(self._table.ends[rows], microseconds(at))
        return active

    def shown(
        self, rows: Rows, owner: Owner, at: datetime, filters: Filters, *, sees: Callable[[Memory], bool] = sees_all
    ) -> Rows:
        """Return the rows that are active at an instant, pass the filters, and are visible."""
        rows = rows[self.active(rows, at) & self.accepted(rows, filters)]
        if filters.condition is None and filters.session_id is None and sees is sees_all:
            return rows
        passing = (filters.fits(memory, owner, at) and sees(memory) for memory in self.memories(rows))
        return rows[np.fromiter(passing, np.bool_, len(rows))]

    def accepted(self, rows: Rows, filters: Filters) -> Mask:
        """Return which rows pass every filter but the condition, as in `Filters.accept`.

        The session filter is approximate: it also accepts memories that were met in other places.
        """
        table, accepted = self._table, np.ones(len(rows), np.bool_)
        if filters.kind != DOCUMENT:  # documents must be asked for
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
        """Return which rows an agent knows: its own, those shared with it, and those without an agent."""
        agents = self._table.agents[rows]
        known: Mask = (agents == self._codes[None]) | (agents == self._codes.get(agent_id, _NONE))
        for place in np.flatnonzero(self._table.are_shared[rows] & ~known).tolist():
            known[place] = self._memories[rows[place]].known_to(agent_id)
        return known

    def importance(self, rows: Rows) -> Shares:
        """Return the importance of the rows, 0 to 1."""
        return self._table.importance[rows]

    def screens(self, rows: Rows) -> Mask:
        """Return which rows came from screenshots or articles."""
        return self._table.are_screens[rows]

    def evidence(self, rows: Rows, turns: TurnMatches) -> Shares:
        """Return the match of the best source turn of each memory; the answer to a turn counts with it.

        NaN for memories without a known source turn: turns that retention has removed, and other observations, are
        unknown.
        """
        self._read_turns(rows, turns)
        places = self._table.turns[rows]
        found: Shares = np.append(turns.answered, np.nan)[places].astype(np.float64)  # -1 selects the NaN at the end
        for place in np.flatnonzero(self._table.have_several[rows]).tolist():
            cited = map(turns.words.row, self._memories[rows[place]].source_ids)
            matches = [turns.answered[row] for row in cited if row is not None and row < len(turns.answered)]
            found[place] = max(matches, default=np.nan)
        return found

    def _read_turns(self, rows: Rows, turns: TurnMatches) -> None:
        """Look up the source turns of rows that have not been looked up since the turns changed."""
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
        """Write a new or changed memory, and return its row."""
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
    """A cache of the rows of the users that were searched last."""

    def __init__(self, small_bytes: int = SMALL_BYTES, max_bytes: int = MAX_BYTES) -> None:
        self._users: UserCache[Owner, MemoryRows] = UserCache(small_bytes, max_bytes)

    def of(self, state: UserState) -> MemoryRows:
        """Return the rows of a user's current state.

        If memories are gone, as after an erasure, the rows start empty, so that nothing of the old texts is kept here.
        """
        rows = self._users.get(state.owner)
        if rows is None or len(state.memories) < rows.of_memories:
            rows = MemoryRows()
            self._users.put(state.owner, rows, rows.nbytes)
        rows.of_memories = len(state.memories)
        return rows

    def count(self, owner: Owner, rows: MemoryRows) -> None:
        """Update the memory account of a user whose rows have grown."""
        if self._users.peek(owner) is rows:
            self._users.resize(owner, rows.nbytes)
