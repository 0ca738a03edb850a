"""The centre of what a search finds: what memories have in common does not tell which of them is meant.

A memory that lies near the centre of a user's memories is near to every question (a hub). How much nearer it is than
others is taken off its cosine (Suzuki et al., Centering Similarity Measures to Reduce Hubs, 2013).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from projections.index.protocol import SCORE_DIGITS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from projections.embedding.embedder import Vectors


@dataclass(frozen=True, slots=True)
class Centre:
    """The mean of some vectors, and how much nearer to it each is than they are on average."""

    vector: Vectors
    hubness: Mapping[str, float]
    """By memory id: its product with the mean, less the mean's with itself; 0 on average."""


def centre_of(memory_ids: Sequence[str], vectors: Vectors) -> Centre:
    """Return the centre of at least one vector, shape (memory_ids, dimensions)."""
    mean = vectors.mean(axis=0, dtype=np.float64).astype(np.float32)
    hubness = np.round(vectors @ mean - mean @ mean, SCORE_DIGITS)
    return Centre(mean, dict(zip(memory_ids, hubness.tolist(), strict=True)))
