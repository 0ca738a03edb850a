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
    from projections.embedding.languages import View


@dataclass(frozen=True, slots=True)
class Centre:
    """The mean of some vectors, and the hubness of each: how much nearer to the mean it is than the average."""

    vector: Vectors
    """The mean, in the part of the space that the view sees."""
    hubness: NDArray[np.float64]
    """The product of each vector with the mean, minus that of the mean with itself, scaled as in the view; on average
    0."""


def centre_of(vectors: Vectors, view: View) -> Centre:
    """Return the centre of at least one vector, shape (vectors, dimensions), as a view sees them.

    A view of a part of the space, such as that for a question in another language, sees that part of each vector,
    scaled to length 1.
    """
    scale = view.scale
    if view.part is not None:
        vectors = vectors[:, view.part]
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        scale *= float(lengths.mean())
        vectors = vectors / np.maximum(lengths, np.float32(1e-9))
    mean = np.full(len(vectors), 1 / len(vectors), np.float32) @ vectors
    hubness = np.round(scale * (vectors @ mean - mean @ mean), SCORE_DIGITS)
    return Centre(mean, hubness.astype(np.float64))
