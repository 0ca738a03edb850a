"""The vectors of one model and length among a user's memories."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from projections.embedding.embedder import Vectors

FEW_VECTORS: Final = 128
"""The most vectors that are computed from bytes for each search, which takes some 25 us."""
_ROOM: Final = 16
_LARGEST: Final = 127
_AT_ONCE: Final = 32
"""The number of vectors converted in one step, which fit the processor's cache."""


class VectorBlock:
    """Vectors that are appended, each for a row of the table; `rows` has their numbers.

    Most users have few memories, and vectors are most of their size. So few vectors are held as they are stored, a byte
    a dimension (`stored_vector`), and computed for each search, exact to the last bit; those appended since the last
    packing are held as floats. Vectors that cannot be restored exactly stay as they are.
    """

    __slots__ = ("_bytes", "_exact", "_lengths", "rows")

    def __init__(self, dimensions: int, expected: int) -> None:
        self.rows: array[int] = array("q")
        self._bytes: NDArray[np.int8] = np.empty((0, dimensions), np.int8)
        """The bytes of the first vectors."""
        self._lengths: Vectors = np.empty((0, 1), np.float32)
        self._exact: Vectors = np.empty((max(_ROOM, expected), dimensions), np.float32)
        """The floats of the others, and room for more."""

    @property
    def nbytes(self) -> int:
        """The memory that the vectors take."""
        return self._bytes.nbytes + self._lengths.nbytes + self._exact.nbytes

    def append(self, row: int, vector: Vectors) -> None:
        """Append the vector of a row."""
        place = len(self.rows) - len(self._bytes)
        if place == len(self._exact):
            self._make_room(place * 3 // 2 + _ROOM)
        self._exact[place] = vector
        self.rows.append(row)

    def vectors(self) -> Vectors:
        """Return all vectors, in the order of `rows`. The caller must not write to them."""
        packed = len(self._bytes)
        if not packed:
            return self._exact[: len(self.rows)]
        found = np.empty((len(self.rows), self._exact.shape[1]), np.float32)
        np.divide(self._bytes, self._lengths, out=found[:packed])
        found[packed:] = self._exact[: len(self.rows) - packed]
        return found

    def pack(self) -> None:
        """Convert few vectors to bytes, unless only some are not yet; convert many back to floats."""
        count, packed = len(self.rows), len(self._bytes)
        if count > FEW_VECTORS and packed:
            self._exact, self._bytes, self._lengths = self.vectors(), self._bytes[:0], self._lengths[:0]
        if count > FEW_VECTORS or (packed and count - packed < _ROOM):
            return
        vectors = self.vectors()
        whole, lengths = np.empty(vectors.shape, np.int8), np.empty((count, 1), np.float32)
        for begin in range(0, count, _AT_ONCE):
            some = slice(begin, begin + _AT_ONCE)
            if (found := _packed(vectors[some])) is None:
                return
            whole[some], lengths[some] = found
        self._bytes, self._lengths = whole, lengths
        self._exact = self._exact[:0].copy()

    def _make_room(self, count: int) -> None:
        grown = np.empty((count, self._exact.shape[1]), np.float32)
        grown[: len(self._exact)] = self._exact
        self._exact = grown


def _packed(vectors: Vectors) -> tuple[NDArray[np.int8], Vectors] | None:
    """Return vectors as whole numbers, and the lengths of these; None if that would not be exact."""
    largest = np.maximum(vectors.max(axis=1, initial=0.0), -vectors.min(axis=1, initial=0.0))
    if not largest.all():  # one without a direction
        return None
    whole = vectors * (_LARGEST / largest)[:, None]
    np.rint(whole, out=whole)
    lengths = np.sqrt(np.einsum("ij,ij->i", whole, whole, dtype=np.float64)).astype(np.float32)[:, None]
    found = whole.astype(np.int8)
    whole /= lengths
    return (found, lengths) if np.array_equal(whole, vectors) else None
