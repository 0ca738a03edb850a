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

    `answer` is the beginning of what it said instead; no log has it, as it may quote the texts.
    """

    def __init__(self, reason: str, answer: str | None = None) -> None:
        super().__init__(reason)
        self.answer = answer


class EmbedderFailed(EmbedderUnavailable):
    """The endpoint broke off, or answered without vectors: perhaps one of the texts is the reason."""


class EmbedderRefused(Exception):
    """The endpoint refused these very texts, and asking again will not help: leave them out.

    `places` are those of the texts that are to blame among those that were asked for; empty where that is not known.
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

    async def embed(self, texts: Sequence[str], *, urgent: bool = False) -> Vectors | Sequence[Vectors]:
        """Return float32 unit vectors, shape (texts, dimensions). Raises EmbedderUnavailable or EmbedderRefused.

        Vectors of several lengths come as a list; only those of one length are compared.

        `urgent`: these texts are questions, and a caller waits: they go before those of background work, and get what
        the model wants before a question.
        """
        ...


class ClosableEmbedder(Embedder, Protocol):
    """An embedder with what its maker ends."""

    async def close(self) -> None:
        """End its process, or close its connections."""
        ...


class Encoder(Protocol):
    """An embedder whose vectors are all equally long, with what its maker ends."""

    @property
    def model(self) -> str:
        """As of Embedder."""
        ...

    async def embed(self, texts: Sequence[str], *, urgent: bool = False) -> Vectors:
        """As of Embedder."""
        ...

    async def close(self) -> None:
        """End its process, or close its connections."""
        ...


def unit_vectors(rows: ArrayLike) -> Vectors:
    """Return rows, shape (n, dimensions), as float32 of length 1; a row of zeros becomes the first axis.

    Raises ValueError when they are not a table of finite numbers.
    """
    table = np.array(rows, dtype=np.float64, ndmin=2)
    if table.ndim != 2 or not table.shape[1]:  # noqa: PLR2004  (a table has two axes)
        raise ValueError("vectors are not a table of finite numbers")
    lengths = np.sqrt(np.add.reduce(table * table, axis=1, keepdims=True))  # as np.linalg.norm has them
    # What is not finite has no finite length; each number is looked at only then, for squares may be too large.
    if not np.isfinite(lengths).all() and not np.isfinite(table).all():
        raise ValueError("vectors are not a table of finite numbers")
    if not lengths.all():
        table[:, :1] += lengths == 0
        lengths[lengths == 0] = 1
    unit: Vectors = (table / lengths).astype(np.float32)
    return unit
