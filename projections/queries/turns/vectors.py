"""The vectors of a user's turns, which complement the searchable words (`index.UserWords`)."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from projections.embedding.heads import Heads, load

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from projections.embedding.embedder import Vectors
    from projections.index.embedded.bm25 import Mask

    Rows: TypeAlias = NDArray[np.int64]
    Cosines: TypeAlias = NDArray[np.float32]

BUILTIN: Final = "builtin"
"""The encoder whose vectors the heads understand."""
_BYTES_OF_A_ROW: Final = 150
_ROOM: Final = 16


@dataclass(slots=True)
class UserMeanings:
    """The vectors of one user's turns, in the order in which they were added."""

    model: str
    _rows: array[int] = field(default_factory=lambda: array("q"))
    _table: Vectors = field(default_factory=lambda: np.empty((0, 0), np.float32))
    """One vector for each entry of `_rows`, and room for more."""
    _places: dict[int, int] = field(default_factory=dict)
    _lasting: Cosines | None = None
    """The probability of lasting value for each entry of `_rows`; None until it is computed again."""

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def nbytes(self) -> int:
        """An estimate of the memory in use, in bytes."""
        return self._table.nbytes + _BYTES_OF_A_ROW * len(self._rows)

    def put(self, row: int, vector: Vectors) -> None:
        """Set the vector of a row, replacing any earlier one."""
        self._lasting = None
        place = self._places.setdefault(row, len(self._rows))
        if place == len(self._rows):
            self._rows.append(row)
            if place == len(self._table):
                grown = np.empty((place * 3 // 2 + _ROOM, len(vector)), np.float32)
                grown[:place] = self._table if place else grown[:0]
                self._table = grown
        self._table[place] = vector

    def remove(self, row: int) -> None:
        """Overwrite a row's vector with zeros, which are not near any question."""
        if (place := self._places.get(row)) is not None:
            self._table[place] = 0.0

    def write_lasting(self, found: NDArray[np.float64]) -> None:
        """Write into `found`, by row, the probability of lasting value, as far as the vectors tell."""
        if self.model != BUILTIN or not len(self._rows):  # the heads understand no other vectors
            return
        if self._lasting is None:
            self._lasting = _heads().scores("lasting", self._table[: len(self._rows)])
        found[np.frombuffer(self._rows, np.int64)] = self._lasting

    def cosines(self, vector: Vectors, count: int) -> Cosines:
        """Return the cosine of each of the user's `count` rows; NaN for rows without a vector."""
        found = np.full(count, np.nan, np.float32)
        if len(self._rows):
            found[np.frombuffer(self._rows, np.int64)] = self._table[: len(self._rows)] @ vector
        return found

    def nearest(self, rows: Sequence[int], vector: Vectors) -> float | None:
        """Return the greatest product of the rows' vectors with `vector`; None if no row has a vector."""
        places = [place for row in rows if (place := self._places.get(row)) is not None]
        return float((self._table[places] @ vector).max()) if places else None

    def centred(self, wanted: Mask, cosines: Cosines) -> Cosines:
        """Return the cosines of the wanted rows minus the part that they have in common; NaN for all others.

        Memories are treated likewise (`projections/index/centre.py`), but there only a fraction is subtracted.
        """
        found = np.full(len(cosines), np.nan, np.float32)
        rows: Rows = np.frombuffer(self._rows, np.int64)
        places = np.flatnonzero(wanted[rows])
        if len(places):
            table, rows = self._table[places], rows[places]
            mean = table.mean(axis=0, dtype=np.float64).astype(np.float32)
            found[rows] = cosines[rows] - (table @ mean - mean @ mean)
        return found


@cache
def _heads() -> Heads:
    return load()
