"""Endings: which of the statements that are known are no longer so because of what is said now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from projections.embedding.heads import LaterStatement, Statements
from projections.text.analyser import tokens
from schemas.bounded_cache import BoundedCache
from streams.extraction.own_words.cues import is_ended, is_instead, words_of
from streams.extraction.own_words.splitting import parts_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from numpy.typing import NDArray

    from projections.embedding.embedder import Vectors
    from projections.embedding.heads import Heads

NEAREST: Final = 3
"""Known statements that one may end: those nearest to it."""
ENDED: Final = 0.55
"""How surely a statement ends another one that it ends."""
ALIKE: Final = 0.5
"""The share of common tokens among all from which on two statements are alike but for a value.

"Saw 2 deer" and "Saw 5 deer", "the atlas ships in May" and "the comet ships in May": which of such pairs is a change
only a key tells, or a word of the later one: "now", of which all 16 such pairs in `tests/data/heads` are changes, or a
word for an end, of which 12 of 13 are, and those that the pair model is sure of. Of other endings in weeks of talk none
were so alike.
"""
OF_MENDED: Final = 0.5
"""The least cosine of a sentence of which a word is taken back, and the memory of it."""
MOST_KEPT: Final = 2_048
"""Known texts of which vector and words are kept, some 6 MB: the same memories are near to many turns of a user."""


def measured(
    words: set[str], parts: Statements, known: Statements, words_known: Sequence[set[str]]
) -> tuple[LaterStatement, NDArray[np.intp]]:
    """Return what tells whether a text ends the statements nearest to it, and the places of these among all known.

    `parts` are what the heads tell of the text's `parts_of`. A known text is as near as it is to the whole text, or to
    the part that is surest.
    """
    surest = parts.vectors[parts.over.argmax()]
    cosines = np.maximum(known.vectors @ parts.vectors[0], known.vectors @ surest)
    nearest = np.argsort(-cosines, kind="stable")[:NEAREST]
    shared = np.array([len(words & words_known[place]) for place in nearest])
    return LaterStatement(parts, cosines[nearest], shared), nearest


class Endings:
    """Tells what a statement ends by what it says, and by how near others are to it."""

    def __init__(self, embed: Callable[[Sequence[str]], Awaitable[Vectors]], heads: Heads) -> None:
        """`embed` is the built-in encoder's."""
        self._embed = embed
        self._heads = heads
        self._kept: BoundedCache[str, _Read] = BoundedCache(MOST_KEPT)

    async def of(self, said: Sequence[str], known: Sequence[str]) -> list[NDArray[np.bool_]]:
        """Return for each statement which of the known texts it ends. Raises EmbedderUnavailable."""
        before, words_known = await self._read(known)
        parts = [parts_of(text) for text in said]
        words = [[words_of(part) for part in those] for those in parts]
        every = [part for those in parts for part in those]
        read = self._heads.statements(every, await self._embed(every), [len(one) for those in words for one in those])
        found, place = [], 0
        for text, its_words in zip(said, words, strict=True):
            of_parts = read.at(np.arange(place, place + len(its_words)))
            place += len(its_words)
            later, nearest = measured(its_words[0], of_parts, before, words_known)
            surely = self._heads.scores_of_endings(later, before.at(nearest)) >= ENDED
            ended = np.zeros(len(known), np.bool_)
            for other, is_sure in zip(nearest, surely, strict=True):
                if _is_alike(text, known[other]):
                    ended[other] = _replaces(text, known[other]) or (is_sure and _ends(text, known[other]))
                else:
                    ended[other] = is_sure
            found.append(ended)
        return found

    async def mended(self, before: Sequence[str], known: Sequence[str]) -> list[NDArray[np.bool_]]:
        """Return for each sentence of which a word is taken back which known text is its own. Raises as `of`."""
        read, _ = await self._read(known)
        cosines = [read.vectors @ vector for vector in await self._embed(before)] if before else []
        return [(near >= OF_MENDED) & (near == near.max()) for near in cosines]

    async def _read(self, texts: Sequence[str]) -> tuple[Statements, list[set[str]]]:
        """Return what the heads tell of known texts, and their words; those of the last ones from memory."""
        distinct = dict.fromkeys(texts)
        read = {text: kept for text in distinct if (kept := self._kept.get(text)) is not None}
        if missing := [text for text in distinct if text not in read]:
            vectors, words = await self._embed(missing), [words_of(text) for text in missing]
            of_missing = self._heads.statements(missing, vectors, [len(one) for one in words])
            rows = zip(vectors, of_missing.over.tolist(), of_missing.lasting.tolist(), words, strict=True)
            for text, row in zip(missing, rows, strict=True):
                read[text] = _Read(*row)
                self._kept.put(text, read[text])
        found = [read[text] for text in texts]
        vectors = np.stack([one.vector for one in found])
        over, lasting = np.array([one.over for one in found]), np.array([one.lasting for one in found])
        counts = np.array([len(one.words) for one in found], np.intp)
        return Statements(vectors, over, lasting, counts), [one.words for one in found]


class _Read(NamedTuple):
    """What is kept of a known text."""

    vector: NDArray[np.floating[Any]]
    over: float
    lasting: float
    words: set[str]


def _replaces(text: str, known: str) -> bool:
    """Return whether a statement says of itself that it is so now, other than one which is alike."""
    return is_instead(text) and not is_instead(known)


def _ends(text: str, known: str) -> bool:
    """Return whether a statement has a word for an end, and one which is alike has none."""
    return is_ended(text) and not is_ended(known)


def _is_alike(one: str, other: str) -> bool:
    words, others = set(tokens(one)), set(tokens(other))
    return len(words & others) >= ALIKE * max(1, len(words | others))
