"""A user's turns as vectors, beside the words by which they are searched (`turn_index.UserWords`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from projections.embedding.embedder import Vectors

    Rows: TypeAlias = NDArray[np.int64]
    Cosines: TypeAlias = NDArray[np.float32]

_BYTES_OF_A_ROW: Final = 300


@dataclass(slots=True)
class UserMeanings:
    """One user's turns as vectors, in the order in which they came here."""

    model: str
    rows: list[int] = field(default_factory=list)
    vectors: list[Vectors] = field(default_factory=list)
    replies: dict[int, int] = field(default_factory=dict)
    """By row: the row of the reply that the vector has, -1 where it has none."""
    _places: dict[int, int] = field(default_factory=dict)

    @property
    def nbytes(self) -> int:
        """Estimate of the memory in use."""
        return len(self.vectors) * (_BYTES_OF_A_ROW + self.vectors[0].nbytes) if self.vectors else 0

    def add(self, row: int, reply: int, vector: Vectors) -> None:
        """Take a row's vector, in the place of the one that it had."""
        self.replies[row] = reply
        if (place := self._places.get(row)) is not None:
            self.vectors[place] = vector
            return
        self._places[row] = len(self.rows)
        self.rows.append(row)
        self.vectors.append(vector)

    def lacking(self, wanted: Mapping[int, int]) -> list[int]:
        """Return those of some rows, with their replies, that have no vector, or one without the reply."""
        return [row for row, reply in wanted.items() if self.replies.get(row) != reply]

    def near(self, wanted: Rows, vector: Vectors) -> tuple[Rows, Cosines, Cosines]:
        """Return those of some rows that have a vector, their cosines, and these less what they have in common.

        That is as with memories (`projections/index/centre.py`), but all of it.
        """
        places = [self._places[row] for row in wanted.tolist() if row in self._places]
        rows = np.array([self.rows[place] for place in places], dtype=np.int64)
        if not places:
            return rows, np.empty(0, np.float32), np.empty(0, np.float32)
        table = np.stack([self.vectors[place] for place in places])
        cosines = table @ vector
        mean = table.mean(axis=0, dtype=np.float64).astype(np.float32)
        return rows, cosines, cosines - (table @ mean - mean @ mean)
