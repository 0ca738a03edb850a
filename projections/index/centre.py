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
    from numpy.typing import NDArray

    from projections.embedding.embedder import Vectors
    from projections.embedding.languages import View


@dataclass(frozen=True, slots=True)
class Centre:
    """The mean of some vectors, and how much nearer to it each is than they are on average."""

    vector: Vectors
    """The mean, of the part that the view sees."""
    hubness: NDArray[np.float64]
    """Of each: its product with the mean, less the mean's with itself, as the view scores it; 0 on average."""


def centre_of(vectors: Vectors, view: View) -> Centre:
    """Return the centre of at least one vector, shape (vectors, dimensions), as a view sees them.

    A view of a part of the space, as that of a question in another language is, sees that part of each, with length 1.
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
