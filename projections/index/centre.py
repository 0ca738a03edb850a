"""The centre of a user's memories: what they have in common does not show which of them a question means.

A memory that lies near the centre is near to every question (a hub). The amount by which it is nearer than the average
is subtracted from its cosine (Suzuki et al., Centering Similarity Measures to Reduce Hubs, 2013).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from projections.index.protocol import SCORE_DIGITS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from projections.embedding.embedder import Vectors


@dataclass(frozen=True, slots=True)
class Centre:
    """The mean of some vectors, and the hubness of each: how much nearer to the mean it is than the average."""

    vector: Vectors
    hubness: NDArray[np.float64]
    """The product of each vector with the mean, minus that of the mean with itself; on average 0."""


def centre_of(vectors: Vectors) -> Centre:
    """Return the centre of at least one vector, shape (vectors, dimensions)."""
    mean = np.full(len(vectors), 1 / len(vectors), np.float32) @ vectors
    hubness = np.round(vectors @ mean - mean @ mean, SCORE_DIGITS)
    return Centre(mean, hubness.astype(np.float64))
