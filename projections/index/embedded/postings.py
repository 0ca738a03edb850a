"""Postings: the rows that have a token, and how often. Few rows are in three arrays, many in an array per token."""

from __future__ import annotations

from array import array
from itertools import repeat
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

Pairs: TypeAlias = "NDArray[np.uint8] | NDArray[np.uint32]"
"""Alternating rows and counts, the rows ascending."""

FEW_ROWS: Final = 256
_MOST: Final = 0xFF
"""The most occurrences of a token in one of a few rows."""
_BYTES_OF_A_TOKEN: Final = 260
"""The memory of a token of many rows without its pairs: its hash, its dict entry, an array object (measured)."""
_NO_HASHES: Final = np.empty(0, np.int64)
_STARTS: Final = np.zeros(1, np.uint32)
_NO_PAIRS: Final = np.empty((0, 2), np.uint8)


class Postings:
    """The postings of rows added in ascending order. Tokens are kept as hashes of 64 bits, without their text.

    Most users have few memories, and most of their tokens occur in one or two: nearly all of the memory would go to an
    array object and a dict entry for each token. So few rows are held in arrays shared by all tokens, sorted at the
    next lookup: eight bytes a token, four for its place, and two for each row that has it.
    """

    __slots__ = ("_grown", "_hashes", "_many", "_new_hashes", "_new_pairs", "_pairs", "_starts")

    def __init__(self) -> None:
        self._hashes: NDArray[np.int64] = _NO_HASHES
        """The hashes of the different tokens, ascending."""
        self._starts: NDArray[np.uint32] = _STARTS
        """The place in `_pairs` where the pairs of each token begin, and where those of the last one end."""
        self._pairs: NDArray[np.uint8] = _NO_PAIRS
        self._new_hashes: array[int] = array("q")
        """The hash of each pair added since the last lookup."""
        self._new_pairs: array[int] = array("B")
        self._many: dict[int, array[int]] | None = None
        """The pairs of each token, if there are more than a few rows."""
        self._grown = 0
        """The estimated bytes of `_many`."""

    @property
    def nbytes(self) -> int:
        """The estimated memory in use."""
        sorted_bytes = self._hashes.nbytes + self._starts.nbytes + self._pairs.nbytes
        return sorted_bytes + 10 * len(self._new_hashes) + self._grown

    def add(self, row: int, counts: Mapping[str, int]) -> None:
        """Add the next row, with the count of each of its tokens."""
        if self._many is None:
            if row < FEW_ROWS and max(counts.values(), default=0) <= _MOST:
                self._new_hashes.extend(map(hash, counts))
                for count in counts.values():
                    self._new_pairs.append(row)
                    self._new_pairs.append(count)
                return
            self._many = self._spread()
        self._grown += _append(self._many, map(hash, counts), repeat(row), counts.values())

    def of(self, tokens: Iterable[str]) -> list[Pairs]:
        """Return the pairs of each token that occurs in a row, in the order of the tokens."""
        hashes = map(hash, tokens)
        if self._many is not None:
            found = [held for one in hashes if (held := self._many.get(one)) is not None]
            return [np.frombuffer(held, dtype=np.uint32) for held in found]
        if self._new_hashes:
            self._sort()
        if not len(self._hashes):
            return []
        wanted = np.fromiter(hashes, np.int64)
        places = np.minimum(np.searchsorted(self._hashes, wanted), len(self._hashes) - 1)
        places = places[self._hashes[places] == wanted]
        bounds = zip(self._starts[places].tolist(), self._starts[places + 1].tolist(), strict=True)
        return [self._pairs[start:end].ravel() for start, end in bounds]

    def _sort(self) -> None:
        """Merge the pairs added since the last lookup."""
        hashes = np.concatenate((self._all_hashes(), np.frombuffer(self._new_hashes, np.int64)))
        pairs = np.concatenate((self._pairs, np.frombuffer(self._new_pairs, np.uint8).reshape(-1, 2)))
        order = hashes.argsort(kind="stable")  # so that rows still ascend
        self._pairs = pairs[order]
        hashes = hashes[order]
        begins = np.ones(len(hashes) + 1, np.bool_)
        np.not_equal(hashes[1:], hashes[:-1], out=begins[1:-1])
        self._starts = begins.nonzero()[0].astype(np.uint32)
        self._hashes = hashes[self._starts[:-1]]
        self._new_hashes, self._new_pairs = array("q"), array("B")

    def _spread(self) -> dict[int, array[int]]:
        """Return an array for each token, and empty the sorted ones."""
        if self._new_hashes:
            self._sort()
        many: dict[int, array[int]] = {}
        rows, counts = self._pairs.T.tolist() if len(self._pairs) else ([], [])
        self._grown += _append(many, self._all_hashes().tolist(), rows, counts)
        self._hashes, self._starts, self._pairs = _NO_HASHES, _STARTS, _NO_PAIRS
        return many

    def _all_hashes(self) -> NDArray[np.int64]:
        return self._hashes.repeat(np.diff(self._starts))


def _append(many: dict[int, array[int]], hashes: Iterable[int], rows: Iterable[int], counts: Iterable[int]) -> int:
    """Add pairs to those of their tokens; return the estimated bytes that this takes."""
    tokens, pairs = len(many), 0
    for one, row, count in zip(hashes, rows, counts, strict=False):
        held = many.get(one)
        if held is None:
            held = many[one] = array("I")
        held.append(row)
        held.append(count)
        pairs += 1
    return 8 * pairs + _BYTES_OF_A_TOKEN * (len(many) - tokens)
