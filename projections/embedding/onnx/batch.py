"""Whether a model computes a text by itself, or lets the other texts of a run have a say in its vector."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from projections.embedding.embedder import unit_vectors

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike

_TEXTS: Final = ("tea", "Every morning she walks to the harbour, 早上她走到港口, and counts 37 ships!")
_NOISE: Final = 1e-5
"""A larger difference is not due to rounding. That of a dynamically quantised model is above 1e-3."""


def mixes_texts(encode: Callable[[Sequence[str]], ArrayLike]) -> bool:
    """Return whether a text's vector depends on the other texts, as a dynamically quantised model takes its scale."""
    [alone], [with_another, _] = unit_vectors(encode(_TEXTS[:1])), unit_vectors(encode(_TEXTS))
    return not np.allclose(alone, with_another, rtol=0, atol=_NOISE)
