"""Vectors of a caller's own embedder, stored with the items of a LangGraph store and compared in the client."""

from __future__ import annotations

from base64 import b64decode, b64encode
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from langgraph.store.base import ensure_embeddings, get_text_at_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from langgraph.store.base import IndexConfig
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Texts:
    """Texts to embed: those of items, or one query."""

    texts: tuple[str, ...]
    is_query: bool = False


class OwnVectors:
    """The caller's own embedder, configured by LangGraph's `IndexConfig`."""

    def __init__(self, index: IndexConfig) -> None:
        """Use `embed` of the config (a function, an Embeddings or its name) and `dims`, the length of its vectors."""
        self.embeddings = ensure_embeddings(index["embed"])
        self._dims = index["dims"]

    def of(self, wanted: Texts) -> list[str]:
        """Return the vectors of texts in their stored form. Raises any error of the embedder, and ValueError."""
        if wanted.is_query:
            return self._spelt([self.embeddings.embed_query(wanted.texts[0])])
        return self._spelt(self.embeddings.embed_documents(list(wanted.texts)))

    async def aof(self, wanted: Texts) -> list[str]:
        """Return the vectors like `of`, without blocking."""
        if wanted.is_query:
            return self._spelt([await self.embeddings.aembed_query(wanted.texts[0])])
        return self._spelt(await self.embeddings.aembed_documents(list(wanted.texts)))

    def _spelt(self, vectors: Iterable[Sequence[float]]) -> list[str]:
        """Return vectors as base64 of little-endian 4-byte floats, each normalised to length 1, or all zeros."""
        spelt = []
        for vector in vectors:
            numbers = np.asarray(vector, dtype=np.float64)
            if numbers.shape != (self._dims,) or not np.isfinite(numbers).all():
                raise ValueError(f"the embedder returned no vector of {self._dims} finite numbers, which `dims` says")
            length = np.linalg.norm(numbers)
            spelt.append(b64encode((numbers / (length or 1.0)).astype("<f4").tobytes()).decode())
        return spelt


def texts_at(value: Mapping[str, Any], paths: Sequence[str]) -> tuple[str, ...]:
    """Return the distinct texts at paths of an item's value, without blank ones."""
    found = (text for path in paths for text in get_text_at_path(dict(value), path) if text.strip())
    return tuple(dict.fromkeys(found))


def likeness(query: str, kept: Sequence[str] | None) -> float | None:
    """Return the cosine of a query and the nearest vector of an item; None if no vector has the query's length."""
    asked = _read(query)
    cosines = [float(asked @ one) for one in map(_read, kept or ()) if len(one) == len(asked)]
    return max(cosines, default=None)


def _read(spelt: str) -> Vector:
    return np.frombuffer(b64decode(spelt), dtype="<f4")
