"""The embedder protocol: texts go in, unit vectors come out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike


Vectors: TypeAlias = NDArray[np.float32]


class EmbedderUnavailable(Exception):
    """The embedding endpoint cannot be reached or is busy: wait and ask again.

    `answer` is the beginning of its answer; it is never logged, because it may quote the texts.
    """

    def __init__(self, reason: str, answer: str | None = None) -> None:
        super().__init__(reason)
        self.answer = answer


class EmbedderFailed(EmbedderUnavailable):
    """The endpoint broke off, or answered without vectors: one of the texts may be the reason."""


class EmbedderRefused(Exception):
    """The endpoint refused these texts, and asking again will not help: leave them out.

    `places` are the indexes of the texts to blame in the request; empty if unknown.
    """

    def __init__(self, reason: str, places: frozenset[int] = frozenset(), answer: str | None = None) -> None:
        super().__init__(reason)
        self.places = places
        self.answer = answer


class Embedder(Protocol):
    """Turns texts into vectors. Vectors of different models are never compared."""

    @property
    def model(self) -> str:
        """The model's name; travels with every vector."""
        ...

    async def embed(self, texts: Sequence[str], *, urgent: bool = False) -> Vectors:
        """Return float32 unit vectors, shape (texts, dimensions). Raises EmbedderUnavailable or EmbedderRefused.

        `urgent` means that these texts are questions for which a caller waits: they precede background work, and get
        the model's prefix for questions.
        """
        ...


class ClosableEmbedder(Embedder, Protocol):
    """An embedder that its creator must close."""

    async def close(self) -> None:
        """End its process, or close its connections."""
        ...


def unit_vectors(rows: ArrayLike) -> Vectors:
    """Return rows, shape (n, dimensions), as float32 of length 1; a row of zeros becomes the first axis.

    Raises ValueError if they are not a table of finite numbers.
    """
    table = np.array(rows, dtype=np.float64, ndmin=2)
    if table.ndim != 2 or not table.shape[1]:  # noqa: PLR2004  (a table has two axes)
        raise ValueError("vectors are not a table of finite numbers")
    lengths = np.sqrt(np.add.reduce(table * table, axis=1, keepdims=True))  # like np.linalg.norm
    # A row that is not finite has no finite length. Numbers are checked only then, because squares may overflow.
    if not np.isfinite(lengths).all() and not np.isfinite(table).all():
        raise ValueError("vectors are not a table of finite numbers")
    if not lengths.all():
        table[:, :1] += lengths == 0
        lengths[lengths == 0] = 1
    unit: Vectors = (table / lengths).astype(np.float32)
    return unit
