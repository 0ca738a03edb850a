"""Endings: which of the statements that are known are no longer so because of what is said now."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from projections.embedding.heads import LaterStatement
from projections.text.analyser import tokens
from streams.extraction.own_words.cues import is_instead, words_of
from streams.extraction.own_words.splitting import parts_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from numpy.typing import NDArray

    from projections.embedding.embedder import Vectors
    from projections.embedding.heads import Heads

NEAREST: Final = 3
"""Known statements that one may end: those nearest to it."""
ENDED: Final = 0.65
"""How surely a statement ends another one that it ends."""
ALIKE: Final = 0.5
"""The share of common tokens among all from which on two statements are alike but for a value.

"Saw 2 deer" and "Saw 5 deer", "the atlas ships in May" and "the comet ships in May": which of such pairs is a change
only a key tells, or the word "now" in the later one. Of endings in weeks of talk none were so alike, and of the 16
pairs in `tests/data/heads` whose later statement has such a word each is a change.
"""
OF_MENDED: Final = 0.5
"""The least cosine of a sentence of which a word is taken back, and the memory of it."""
MOST_KEPT: Final = 2_048
"""Known texts of which vector and words are kept, some 6 MB: the same memories are near to many turns of a user."""


def measured(
    text: str,
    of_parts: NDArray[np.floating[Any]],
    over: NDArray[np.floating[Any]],
    of_known: NDArray[np.floating[Any]],
    words_known: Sequence[set[str]],
) -> tuple[LaterStatement, NDArray[np.intp]]:
    """Return what tells whether a text ends the statements nearest to it, and the places of these among all known.

    `of_parts` are the vectors of the text's `parts_of`, `over` their scores. A known text is as near as it is to the
    whole text, or to the part that is surest.
    """
    surest = of_parts[over.argmax()]
    cosines = np.maximum(of_known @ of_parts[0], of_known @ surest)
    nearest = np.argsort(-cosines, kind="stable")[:NEAREST]
    words = words_of(text)
    shared = np.array([len(words & words_known[place]) for place in nearest])
    return LaterStatement(float(over.max()), surest, cosines[nearest], shared), nearest


class Endings:
    """Tells what a statement ends by what it says, and by how near others are to it."""

    def __init__(self, embed: Callable[[Sequence[str]], Awaitable[Vectors]], heads: Heads) -> None:
        """`embed` is the built-in encoder's."""
        self._embed = embed
        self._heads = heads
        self._kept: OrderedDict[str, tuple[NDArray[np.float32], set[str]]] = OrderedDict()

    async def of(self, said: Sequence[str], known: Sequence[str]) -> list[NDArray[np.bool_]]:
        """Return for each statement which of the known texts it ends. Raises EmbedderUnavailable."""
        of_known, words_known = await self._read(known)
        parts = [parts_of(text) for text in said]
        vectors = await self._embed([part for those in parts for part in those])
        found, place = [], 0
        for text, those in zip(said, parts, strict=True):
            of_parts = vectors[place : place + len(those)]
            place += len(those)
            over = self._heads.scores_of_over(those, of_parts)
            later, nearest = measured(text, of_parts, over, of_known, words_known)
            surely = self._heads.scores_of_endings(later, of_known[nearest]) >= ENDED
            ended = np.zeros(len(known), np.bool_)
            for other, is_sure in zip(nearest, surely, strict=True):
                ended[other] = _replaces(text, known[other]) if _is_alike(text, known[other]) else is_sure
            found.append(ended)
        return found

    async def mended(self, before: Sequence[str], known: Sequence[str]) -> list[NDArray[np.bool_]]:
        """Return for each sentence of which a word is taken back which known text is its own. Raises as `of`."""
        of_known, _ = await self._read(known)
        cosines = [of_known @ vector for vector in await self._embed(before)] if before else []
        return [(near >= OF_MENDED) & (near == near.max()) for near in cosines]

    async def _read(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], list[set[str]]]:
        """Return the vectors and the words of known texts, those of the last ones from memory."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._kept]
        vectors = await self._embed(missing) if missing else ()
        read = {text: (vector, words_of(text)) for text, vector in zip(missing, vectors, strict=True)}
        found = [read.get(text) or self._kept[text] for text in texts]
        self._kept.update(read)
        for text in texts:
            self._kept.move_to_end(text)
        while len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)
        return np.stack([vector for vector, _ in found]), [words for _, words in found]


def _replaces(text: str, known: str) -> bool:
    """Return whether a statement says of itself that it is so now, other than one which is alike."""
    return is_instead(text) and not is_instead(known)


def _is_alike(one: str, other: str) -> bool:
    words, others = set(tokens(one)), set(tokens(other))
    return len(words & others) >= ALIKE * max(1, len(words | others))
