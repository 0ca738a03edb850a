"""Unit length: what every vector has before it enters the log or the index."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from projections.embedder import Vectors


def unit_vectors(rows: ArrayLike) -> Vectors:
    """Return rows, shape (n, dimensions), as float32 of length 1; a row of zeros becomes the first axis.

    Raises ValueError when they are not a table of finite numbers.
    """
    table = np.array(rows, dtype=np.float64, ndmin=2)
    if table.ndim != 2 or not table.shape[1] or not np.isfinite(table).all():  # noqa: PLR2004  (a table has two axes)
        raise ValueError("vectors are not a table of finite numbers")
    lengths = np.linalg.norm(table, axis=1, keepdims=True)
    table[:, :1] += lengths == 0
    lengths[lengths == 0] = 1
    unit: Vectors = (table / lengths).astype(np.float32)
    return unit
