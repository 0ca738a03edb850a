"""Columns: a user's memories field by field, so that each distinct value is compared with a condition only once."""

from __future__ import annotations

from array import array
from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import compress
from operator import is_not
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import orjson

from projections.queries.conditions.fading import Fading
from projections.queries.conditions.fields import STRENGTH, Subject
from projections.queries.conditions.operators import EQ, IN, NE, NIN, each
from projections.state.memory import ACTIVE
from projections.state.places import as_met
from schemas.bounded_cache import BoundedCache

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, MutableMapping

    from projections.queries.conditions.condition import Condition, Mask
    from projections.queries.conditions.fields import Field
    from projections.state.memory import Memory, UserState
    from schemas.identity import Owner

MOST_MEMORIES: Final = 100_000
"""The most memories of all cached users, each user counting as one more; then the least recently used are evicted."""
MOST_COLUMNS: Final = 16
"""The most columns of a user; then the least recently used one is dropped."""
FEW: Final = 8
"""The columns are updated in place if at most one in FEW memories changed, and rebuilt otherwise."""
MOST_COMPARED: Final = 8
"""The most comparisons of a column whose outcomes are cached; then the least recently used one is dropped."""
_OF_NUMBERS: Final[Mapping[str, np.ufunc]] = {
    "gt": np.greater,
    "gte": np.greater_equal,
    "lt": np.less,
    "lte": np.less_equal,
}


@dataclass(slots=True)
class _Column:
    """The distinct values of a field, and for each row the index of the memory's value."""

    of: Field
    codes: array[int] = field(default_factory=lambda: array("q"))
    values: list[Any] = field(default_factory=list)
    code_of: dict[Hashable, int] = field(default_factory=dict)
    compared: BoundedCache[tuple[str, Hashable], bytearray] = field(default_factory=lambda: BoundedCache(MOST_COMPARED))
    """The outcomes for each of `values`, by operator and wanted value. They stay valid: values are only appended."""

    def set(self, row: int, value: Any) -> None:  # noqa: ANN401 - whatever JSON holds
        """Set a memory's value; `row` is an existing row or the next one."""
        key = _key(value)
        code = self.code_of.get(key)
        if code is None:
            code = self.code_of[key] = len(self.values)
            self.values.append(value)
        if row == len(self.codes):
            self.codes.append(code)
        else:
            self.codes[row] = code

    def mask(self, operator: str, wanted: Any) -> Mask:  # noqa: ANN401 - whatever JSON holds
        """Return for each row whether the comparison holds."""
        codes = np.frombuffer(self.codes, dtype=np.int64)
        if operator in (EQ, NE, IN, NIN):
            found = self._codes_of(wanted.values if operator in (IN, NIN) else (wanted,))
            if found is not None:
                met = np.zeros(len(self.values), dtype=np.bool_)
                met[found] = True
                return met[codes] if operator in (EQ, IN) else ~met[codes]
        by_value: Mask = np.frombuffer(bytes(self._compared(operator, wanted)), dtype=np.bool_)
        return by_value[codes]

    def _compared(self, operator: str, wanted: Any) -> bytearray:  # noqa: ANN401 - whatever JSON holds
        """Return for each distinct value whether the comparison holds; only values that are new since are compared."""
        if isinstance(wanted, list | dict | tuple):
            return self._compared_from(0, operator, wanted)
        key = operator, _key(wanted)
        known = self.compared.get(key) or bytearray()
        known += self._compared_from(len(known), operator, wanted)
        self.compared.put(key, known)
        return known

    def _compared_from(self, first: int, operator: str, wanted: Any) -> bytearray:  # noqa: ANN401 - whatever JSON holds
        nothing = self.code_of.get(_key(None))
        nothing = None if nothing is None or nothing < first else nothing - first
        return bytearray(each(operator, self.of.kind, self.values[first:], nothing, wanted))

    def _codes_of(self, wanted: Iterable[Any]) -> list[int] | None:
        """Return the indexes of the values that equal one of `wanted`; None if all values must be compared."""
        keys: list[Hashable] = []
        for one in wanted:
            if isinstance(one, list | dict):
                return None  # [1] equals [1.0]
            is_number = isinstance(one, int | float) and not isinstance(one, bool)
            keys += [(int, one), (float, one)] if is_number else [_key(one)]
        return [code for key in keys if (code := self.code_of.get(key)) is not None]


class Columns:
    """The fields of one user's memories that conditions have named, in step with the state."""

    def __init__(self, state: UserState) -> None:
        self._at = datetime.min.replace(tzinfo=UTC)
        """The instant of the current question."""
        self._state = state
        self._values = list(state.memories.values())
        """The memories in the order of the state, which differs from the order of the rows."""
        self._memories = list(self._values)
        self._ids = [memory.memory_id for memory in self._memories]
        self._row_of = {memory.memory_id: row for row, memory in enumerate(self._memories)}
        self._elsewhere: dict[str, list[int]] = {}
        """The further rows of the memories that were met in several places, one for each place."""
        self._active = bytearray(memory.status == ACTIVE for memory in self._memories)
        self._columns: OrderedDict[str, _Column] = OrderedDict()
        self._momentary: dict[str, _Column] = {}
        """The columns of fields that depend on the instant; they are dropped after each question."""
        self._fading: Fading | None = None
        for memory in self._values:
            if memory.met_in:
                self._set(memory)

    def follow(self, state: UserState) -> bool:
        """Move to another state of the same user; only changed memories are read again.

        Returns False if so much has changed that the columns must be rebuilt.
        """
        if state is self._state:
            return True
        values = list(state.memories.values())
        changed = self._replaced(values)
        if changed is None:
            changed = [
                m for m in values if (row := self._row_of.get(m.memory_id)) is None or self._memories[row] is not m
            ]
            new = sum(m.memory_id not in self._row_of for m in changed)
            if FEW * len(changed) > len(self._row_of) or len(values) != len(self._row_of) + new:
                return False
        self._state, self._values = state, values
        for memory in changed:
            self._set(memory)
        return True

    def _replaced(self, values: list[Memory]) -> list[Memory] | None:
        """Return the changed memories if both states hold the same ids in the same order; else None."""
        if len(values) != len(self._values):
            return None
        changed = list(compress(zip(values, self._values, strict=True), map(is_not, values, self._values)))
        if FEW * len(changed) > len(values) or any(new.memory_id != old.memory_id for new, old in changed):
            return None
        return [new for new, _ in changed]

    def _set(self, memory: Memory) -> None:
        """Write a memory into its row or a new one, and its form in each further place into a row of its own."""
        row = self._row_of.setdefault(memory.memory_id, len(self._memories))
        self._put(row, memory)
        further = self._elsewhere.get(memory.memory_id, [])
        for number, one in enumerate(as_met(memory)[1:]):
            if number == len(further):
                further = self._elsewhere.setdefault(memory.memory_id, further)
                further.append(len(self._memories))
            self._put(further[number], one)
        for left in further[len(memory.met_in) :]:
            self._active[left] = False

    def _put(self, row: int, memory: Memory) -> None:
        if row == len(self._memories):
            self._memories.append(memory)
            self._ids.append(memory.memory_id)
            self._active.append(memory.status == ACTIVE)
        else:
            self._memories[row] = memory
            self._active[row] = memory.status == ACTIVE
        subject = self._subject(memory)
        for column in self._columns.values():
            column.set(row, subject.value(column.of))
        if self._fading is not None:
            self._fading.set(row, memory)

    def meeting(self, condition: Condition, at: datetime) -> frozenset[str] | None:
        """Return the ids of the active memories that meet a condition at an instant; None if all of them do."""
        self._at = at
        fields = {asked.name: asked for asked in condition.fields() if not asked.changes_by_itself}
        self._read([asked for name, asked in fields.items() if name not in self._columns], self._columns)
        active = np.frombuffer(self._active, dtype=np.bool_).copy()
        met = active & condition.mask(self)
        self._momentary.clear()
        while len(self._columns) > MOST_COLUMNS:
            self._columns.popitem(last=False)
        if np.array_equal(met, active):
            return None
        return frozenset(compress(self._ids, met.tobytes()))

    # -- the protocol `Rows` of conditions

    def everything(self) -> Mask:
        """Return a mask of all rows."""
        return np.ones(len(self._memories), dtype=np.bool_)

    def compare(self, asked: Field, operator: str, wanted: Any) -> Mask:  # noqa: ANN401 - whatever JSON holds
        """Return for each row whether the comparison with the memory's value of a field holds."""
        if asked.name == STRENGTH and operator in _OF_NUMBERS:
            if self._fading is None:
                self._fading = Fading(self._memories)
            met: Mask = _OF_NUMBERS[operator](self._fading.strengths(self._at, self._memories), wanted)
            return met
        if asked.changes_by_itself:
            if asked.name not in self._momentary:
                self._read([asked], self._momentary)
            return self._momentary[asked.name].mask(operator, wanted)
        self._columns.move_to_end(asked.name)
        return self._columns[asked.name].mask(operator, wanted)

    def _read(self, fields: Iterable[Field], kept: MutableMapping[str, _Column]) -> None:
        """Read fields of every memory, memory by memory."""
        new = [_Column(asked) for asked in fields]
        for row, memory in enumerate(self._memories if new else ()):
            subject = self._subject(memory)
            for column in new:
                column.set(row, subject.value(column.of))
        kept.update((column.of.name, column) for column in new)

    def _subject(self, memory: Memory) -> Subject:
        return Subject(memory, self._state.owner.user_id, self._at)


class ColumnsByUser:
    """A cache of the users asked about last. Eviction is always safe: the next question reads the fields again."""

    def __init__(self, most_memories: int = MOST_MEMORIES) -> None:
        self._users: BoundedCache[Owner, Columns] = BoundedCache(most_memories)

    def of(self, state: UserState) -> Columns:
        """Return the columns of a user's current state."""
        known = self._users.get(state.owner)
        if known is None or not known.follow(state):
            known = Columns(state)
        self._users.put(state.owner, known, 1 + len(state.memories))
        return known


def _key(value: Any) -> Hashable:  # noqa: ANN401 - whatever JSON holds
    """Return a key that only identical values share: 1, 1.0 and true have three different keys."""
    if isinstance(value, list | dict):
        return list, orjson.dumps(value)
    return value.__class__, value
