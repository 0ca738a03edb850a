"""One user's active memories in arrays, which a search reads."""

from __future__ import annotations

from array import array
from itertools import repeat
from typing import TYPE_CHECKING, Final

import numpy as np

from projections.index.embedded.bm25 import Bm25
from projections.index.embedded.vector_block import VectorBlock
from projections.index.protocol import NO_VECTORS, SCORE_DIGITS, Leg, Legs, VectorRows
from schemas import telemetry
from schemas.instant import microseconds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from projections.embedding.embedder import Vectors
    from projections.index.embedded.bm25 import Mask, Scores
    from projections.index.protocol import Hit, IndexEntry, IndexQuery

_FIRST_ROWS = 16
_COLUMNS = ("agent_id", "kind", "category", "memory_type", "source_type")
_BYTES_OF_A_ROW = 400
"""The memory of a row without vector and postings: its id, its entries in dict and lists, its columns (measured)."""
_ROUNDED: Final = 10.0**-SCORE_DIGITS
"""An upper bound on the change of a score by rounding."""


class UserTable:
    """A table to which rows are only appended. A memory's newer version is a new row; the old one stays, but dead."""

    def __init__(self, expected_rows: int = 0) -> None:
        self._expected_rows = expected_rows
        self._row_of: dict[str, int] = {}
        self._ids: list[str] = []
        self._versions: array[int] = array("q")
        self._times: array[int] = array("q")
        self._columns: dict[str, array[int]] = {name: array("I") for name in _COLUMNS}
        self._codes: dict[str | None, int] = {None: 0}
        self._blocks: dict[tuple[str, int], VectorBlock] = {}
        self._bm25 = Bm25()

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def nbytes(self) -> int:
        """The estimated memory in use."""
        vectors = sum(block.nbytes for block in self._blocks.values())
        return vectors + self._bm25.nbytes + _BYTES_OF_A_ROW * len(self._ids)

    @property
    def is_worn(self) -> bool:
        """Whether more rows are dead than alive, so that the table should be built again."""
        return len(self._ids) > 2 * len(self._row_of) + _FIRST_ROWS

    def put(self, entry: IndexEntry) -> None:
        """Store the entry, unless the same memory is held at the same or a later version."""
        held = self._row_of.get(entry.memory_id)
        if held is not None:
            if self._versions[held] >= entry.version:
                return
            self._bm25.remove(held)
        row = self._row_of[entry.memory_id] = len(self._ids)
        self._ids.append(entry.memory_id)
        self._versions.append(entry.version)
        self._times.append(microseconds(entry.occurred_at))
        for name, column in self._columns.items():
            column.append(self._codes.setdefault(getattr(entry, name), len(self._codes)))
        self._bm25.add(entry.tokens)
        self._block(entry.embedding_model, len(entry.vector)).append(row, entry.vector)

    def remove(self, memory_id: str, version: int) -> None:
        """Remove a memory unless it is held at a later version; an unknown id is not an error."""
        row = self._row_of.get(memory_id)
        if row is not None and self._versions[row] <= version:
            del self._row_of[memory_id]
            self._bm25.remove(row)

    def pack(self) -> None:
        """Reduce the memory in use; to be called when the table is loaded, and after changes."""
        for block in self._blocks.values():
            block.pack()

    def search(self, query: IndexQuery) -> Legs:
        """Return both legs over the rows that pass the filters."""
        visible = self._visible(query)
        semantic, vectors = self._semantic(query, visible)
        return Legs(keyword=self._keyword(query, visible), semantic=semantic, vectors=vectors)

    def _keyword(self, query: IndexQuery, visible: Mask) -> Sequence[Hit]:
        if not query.tokens:
            return ()
        with telemetry.span("keyword"):
            keyword = self._bm25.scores(query.tokens)
            rows = np.flatnonzero((keyword > 0) & visible)
            return self._leg(*self._best(rows, keyword[rows], query.limit))

    def _semantic(self, query: IndexQuery, visible: Mask) -> tuple[Sequence[Hit], Mapping[str, Vectors]]:
        if query.vector is None or query.embedding_model is None:
            return (), NO_VECTORS
        block = self._blocks.get((query.embedding_model, len(query.vector)))
        if block is None:
            return (), NO_VECTORS
        with telemetry.span("vector"):
            rows = np.frombuffer(block.rows, dtype=np.int64)
            vectors = block.vectors()
            cosines = vectors @ query.vector.astype(np.float32, copy=False)
            places = None if visible.all() else np.flatnonzero(visible[rows])
            if places is not None:
                cosines = cosines[places]
            if len(cosines) > query.limit:  # scores that rounding cannot move into the best are not rounded
                least = np.partition(cosines, len(cosines) - query.limit)[len(cosines) - query.limit]
                near = np.flatnonzero(cosines >= least - 2 * _ROUNDED)
                cosines = cosines[near]
                places = near if places is None else places[near]
            if places is not None:
                rows = rows[places]
            # Rounded, because equal vectors may differ in the last bit of their product, and ties are broken by id.
            best, scores = self._best(rows, np.round(cosines, SCORE_DIGITS), query.limit)
            leg = self._leg(best, scores)
            # A block's rows ascend, because a table's rows are only appended.
            places = np.searchsorted(np.frombuffer(block.rows, dtype=np.int64), best)
            return leg, VectorRows(leg.ids, vectors, places, query.embedding_model)

    def _visible(self, query: IndexQuery) -> Mask:
        visible = self._bm25.live()
        for name in _COLUMNS:
            wanted = getattr(query, name)
            if wanted is None:
                continue
            column = np.frombuffer(self._columns[name], dtype=np.uint32)
            matches = column == self._codes.get(wanted, len(self._codes))
            visible &= (matches | (column == self._codes[None])) if name == "agent_id" else matches
        times = np.frombuffer(self._times, dtype=np.int64)
        if query.since is not None:
            visible &= times >= microseconds(query.since)
        if query.until is not None:
            visible &= times <= microseconds(query.until)
        if query.among is not None:
            named = np.zeros(len(visible), dtype=np.bool_)
            rows = np.fromiter(map(self._row_of.get, query.among, repeat(-1)), np.int64, len(query.among))
            named[rows[rows >= 0]] = True
            visible &= named
        return visible

    def _best(self, rows: NDArray[np.int64], scores: Scores, limit: int) -> tuple[NDArray[np.int64], Scores]:
        """Return the best rows by score, then memory_id, and their scores, unordered."""
        if len(rows) <= limit:
            return rows, scores
        least = np.partition(scores, len(scores) - limit)[len(scores) - limit]
        kept = np.flatnonzero(scores >= least)
        if len(kept) > limit:  # ties at the limit are broken by id
            equal = scores[kept] == least
            better, tied = kept[~equal], kept[equal].tolist()
            ids = map(self._ids.__getitem__, rows[tied].tolist())
            first = [place for _, place in sorted(zip(ids, tied, strict=True))]
            kept = np.concatenate((better, np.array(first[: limit - len(better)], np.intp)))
        return rows[kept], scores[kept]

    def _leg(self, rows: NDArray[np.int64], scores: Scores) -> Leg:
        ids = list(map(self._ids.__getitem__, rows.tolist()))
        return Leg(ids, np.frombuffer(self._versions, dtype=np.int64)[rows], scores.astype(np.float64))

    def _block(self, model: str, dimensions: int) -> VectorBlock:
        block = self._blocks.get((model, dimensions))
        if block is None:
            block = self._blocks[model, dimensions] = VectorBlock(dimensions, self._expected_rows)
        return block
