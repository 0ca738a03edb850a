"""BM25 over one user's own memories, so that ranks and cost depend on no other user."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from projections.index.embedded.postings import Postings

if TYPE_CHECKING:
    from collections.abc import Sequence

K1 = 1.2
B = 0.75

Scores: TypeAlias = NDArray[np.float32]
Mask: TypeAlias = NDArray[np.bool_]

_BYTES_OF_A_SATURATION = 8
"""The memory of one row's saturation."""


class Bm25:
    """BM25 over numbered rows, from 0 in the order of adding; a removed row keeps its number and scores 0.

    score = sum over the query's different tokens of idf x tf x (K1 + 1) / (tf + K1 x (1 - B + B x length / mean)),
    idf = ln(1 + (n - df + 0.5) / (df + 0.5)), with n, df and the mean length over the rows that remain (Robertson and
    Zaragoza 2009; the idf as in Lucene, which is never negative).
    """

    def __init__(self) -> None:
        self._postings = Postings()
        self._lengths: array[int] = array("I")
        self._live: array[int] = array("B")
        self._rows = 0
        self._tokens = 0
        self._saturated: NDArray[np.float64] | None = None
        """The saturations of all rows, until one is added or removed."""

    @property
    def nbytes(self) -> int:
        """The estimated memory in use."""
        return self._postings.nbytes + _BYTES_OF_A_SATURATION * len(self._live)

    def add(self, tokens: Sequence[str]) -> None:
        """Add the next row."""
        self._postings.add(len(self._live), Counter(tokens))
        self._lengths.append(len(tokens))
        self._live.append(1)
        self._rows += 1
        self._tokens += len(tokens)
        self._saturated = None

    def remove(self, row: int) -> None:
        """Leave a row out of every score, count and mean from now on. Raises ValueError if it is removed already."""
        if not self._live[row]:
            raise ValueError(f"row {row} is removed already")
        self._live[row] = 0
        self._rows -= 1
        self._tokens -= self._lengths[row]
        self._saturated = None

    def live(self) -> Mask:
        """Return which rows remain, shape (rows ever added,); a copy."""
        return np.frombuffer(self._live, dtype=np.bool_).copy()

    def weight(self, token: str) -> float:
        """Return a token's idf, which is greatest for a token in no row."""
        return _idf(self._rows, sum(map(len, self._postings.of((token,)))) // 2)

    def scores(self, tokens: Sequence[str]) -> Scores:
        """Return each row's score, shape (rows ever added,); 0 for a row without a token of the query."""
        count = len(self._live)
        found = self._postings.of(dict.fromkeys(tokens))
        if not self._rows or not found:
            return np.zeros(count, dtype=np.float32)
        # Rows and counts alternate in each posting. All tokens at once: a token's few rows take less than a call.
        pairs = np.concatenate(found)
        rows, counts = pairs[::2].astype(np.intp), pairs[1::2].astype(np.float64)
        holding = np.fromiter(map(len, found), np.intp, len(found)) // 2
        if self._rows < count:
            live = np.frombuffer(self._live, dtype=np.bool_)[rows]
            of = np.repeat(np.arange(len(found)), holding)[live]
            rows, counts, holding = rows[live], counts[live], np.bincount(of, minlength=len(found))
        weights = np.array([_idf(self._rows, held) for held in holding.tolist()])
        impacts = np.repeat(weights, holding) * ((K1 + 1) * counts / (counts + self._saturations()[rows]))
        return np.bincount(rows, impacts, count).astype(np.float32)

    def _saturations(self) -> NDArray[np.float64]:
        """Return, by row, the number of occurrences of a token that score half of the maximum."""
        if self._saturated is None:
            mean = max(self._tokens / self._rows, 1.0)
            lengths = np.frombuffer(self._lengths, dtype=np.uint32).astype(np.float64)
            self._saturated = K1 * (1 - B + B / mean * lengths)
        return self._saturated


class RowsOfTokens:
    """The rows that have a token, without scores and removals."""

    def __init__(self) -> None:
        self._postings = Postings()
        self._count = 0

    @property
    def nbytes(self) -> int:
        """The estimated memory in use."""
        return self._postings.nbytes

    def add(self, tokens: Sequence[str]) -> None:
        """Add the next row."""
        self._postings.add(self._count, dict.fromkeys(tokens, 1))
        self._count += 1

    def holding(self, tokens: Sequence[str]) -> Mask:
        """Return which rows have one of the tokens."""
        held = np.zeros(self._count, dtype=np.bool_)
        if found := self._postings.of(tokens):
            held[np.concatenate(found)[::2]] = True
        return held

    def holding_all(self, tokens: Sequence[str]) -> Mask:
        """Return which rows have every one of the tokens."""
        held = np.ones(self._count, dtype=np.bool_)
        for token in dict.fromkeys(tokens):
            held &= self.holding((token,))
        return held


def _idf(rows: int, holding: int) -> float:
    return math.log(1 + (rows - holding + 0.5) / (holding + 0.5))
