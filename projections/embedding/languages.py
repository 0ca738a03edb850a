"""An encoder for each language: a memory's vector combines that of its language and the multilingual one.

The script of a text determines its language. The vector of a memory in a language with an encoder is the weighted
concatenation of that encoder's vector and the multilingual one; every other memory has only the multilingual one. The
vectors of each language have their own length, and only vectors of the same length are compared. A question is
therefore asked once in each space (`View`): by both encoders among the memories of its own language, by the
multilingual one among the others. Cosines of equally near texts differ between encoders: the anchors measure by how
much, and the cosines are mapped to those of the multilingual encoder.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Final

import numpy as np

from projections.embedding.anchors import LANGUAGES, QUESTIONS, STATEMENTS
from projections.embedding.embedder import EmbedderRefused

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from projections.embedding.embedder import Encoder, Vectors

SHARED_WEIGHT: Final = 0.1
"""The weight of the multilingual encoder among memories of the question's language (docs/evidence/quality.md)."""
_OWN: Final = np.float32((1 - SHARED_WEIGHT) ** 0.5)
_SHARED: Final = np.float32(SHARED_WEIGHT**0.5)
_HAN_FOR_A_WORD: Final = 2
_LATIN_FOR_A_WORD: Final = 5


@dataclass(frozen=True, slots=True)
class View:
    """A question in one space: its unit vector, and `scale` x cosine + `shift` as the score."""

    model: str
    vector: Vectors
    scale: float = 1.0
    shift: float = 0.0
    part: slice | None = None
    """The part of the vector that may differ from 0; None means all of it."""

    def score(self, cosine: float) -> float:
        """Return a hit's score, at most 1."""
        return min(1.0, self.scale * cosine + self.shift)


def language_of(text: str) -> str:
    """Return `zh`, `en`, or an empty text for other scripts: whichever has the most words, by their usual lengths.

    Kana make a text Japanese, whatever else it contains.
    """
    if text.isascii():
        return "en" if any(map(str.isalpha, text)) else ""
    han = latin = other = 0
    for letter in text:
        if "a" <= letter <= "z" or "A" <= letter <= "Z" or "\u00c0" <= letter <= "\u024f":
            latin += 1
        elif "\u4e00" <= letter <= "\u9fff" or "\u3400" <= letter <= "\u4dbf":
            han += 1
        elif "\u3040" <= letter <= "\u30ff":
            return ""
        elif letter.isalpha():
            other += 1
    words = {"zh": han / _HAN_FOR_A_WORD, "en": latin / _LATIN_FOR_A_WORD, "": other / _LATIN_FOR_A_WORD}
    return max(words, key=lambda language: words[language]) if any(words.values()) else ""


class LanguageEmbedder:
    """An embedder with vectors of several lengths: one for each language with an encoder, and one for all others."""

    def __init__(self, encoders: Mapping[str, Encoder], shared: Encoder) -> None:
        """Combine `encoders`, by language, with `shared`, the multilingual one. `close` closes all of them."""
        self._encoders = dict(sorted(encoders.items()))
        self.shared = shared
        """The multilingual encoder."""
        self._padding = dict(zip(LANGUAGES, count()))
        self._scales: dict[str, tuple[float, float]] = {}
        self._lengths: dict[str, int] = {}
        self._measuring = asyncio.Lock()

    @property
    def model(self) -> str:
        """The names of all encoders, which accompany every vector."""
        own = [f"{language}={encoder.model}" for language, encoder in self._encoders.items()]
        return ",".join([*own, self.shared.model])

    async def embed(self, texts: Sequence[str], *, urgent: bool = False) -> list[Vectors]:
        """Return a unit vector for each text, of its language's length. Raises EmbedderUnavailable, EmbedderRefused."""
        found: dict[int, Vectors] = {}
        for language in ("", *self._encoders):
            mine = [n for n, text in enumerate(texts) if self._served(text) == language]
            if not mine:
                continue
            try:
                found |= zip(mine, await self._in(language, [texts[n] for n in mine], urgent=urgent), strict=True)
            except EmbedderRefused as error:
                raise EmbedderRefused(str(error), frozenset(mine[place] for place in error.places)) from error
        return [found[n] for n in range(len(texts))]

    async def views(self, question: str) -> list[View]:
        """Return the view of a question for the memories of each language. Raises the same errors as `embed`."""
        await self._measure()
        language = self._served(question)
        shared = (await self.shared.embed([question], urgent=True))[0]
        found = [View(self.model, shared)]
        for other, length in self._lengths.items():
            if other == language:
                [vector] = await self._in(language, [question], urgent=True)
                found.append(View(self.model, vector, *self._scales[language]))
            else:
                vector = np.zeros(length, np.float32)
                end = length - self._padding[other]
                part = slice(end - len(shared), end)
                vector[part] = shared
                found.append(View(self.model, vector, scale=float(1 / _SHARED), part=part))
        return found

    @property
    def encoders(self) -> list[Encoder]:
        """All encoders, the multilingual one first."""
        return [self.shared, *self._encoders.values()]

    async def close(self) -> None:
        """Close all encoders."""
        async with AsyncExitStack() as closing:
            for encoder in self.encoders:
                closing.push_async_callback(encoder.close)

    def _served(self, text: str) -> str:
        language = language_of(text)
        return language if language in self._encoders else ""

    async def _in(self, language: str, texts: Sequence[str], *, urgent: bool) -> Vectors:
        """Return the vectors of texts of one language."""
        if not language:
            return await self.shared.embed(texts, urgent=urgent)
        own, shared = await asyncio.gather(
            self._encoders[language].embed(texts, urgent=urgent), self.shared.embed(texts, urgent=urgent)
        )
        # Zeros, so that two languages whose encoders have the same number of dimensions get separate spaces.
        padding = np.zeros((len(texts), self._padding[language]), np.float32)
        return np.concatenate([_OWN * own, _SHARED * shared, padding], axis=1)

    async def _measure(self) -> None:
        """Measure once how cosines in each language's space map to those of the multilingual encoder.

        The map is linear through two points: unrelated texts, and a question with its answer. The multilingual encoder
        is measured across languages, because its cosines compete with the others only there.
        """
        async with self._measuring:
            for language in self._encoders.keys() - self._scales.keys():
                other = next(one for one in LANGUAGES if one != language)
                statements = await self._in(language, STATEMENTS[language], urgent=False)
                questions = await self._in(language, QUESTIONS[language], urgent=True)
                between = (
                    await self.shared.embed(QUESTIONS[language], urgent=True),
                    await self.shared.embed(STATEMENTS[other]),
                )
                far, near = far_and_near(questions @ statements.T)
                shared_far, shared_near = far_and_near(between[0] @ between[1].T)
                scale = (shared_near - shared_far) / max(near - far, 0.01)
                self._scales[language] = scale, shared_far - scale * far
                self._lengths[language] = statements.shape[1]


def far_and_near(cosines: Vectors) -> tuple[float, float]:
    """Return the means off the diagonal and on it."""
    mine = np.eye(len(cosines), dtype=bool)
    return float(cosines[~mine].mean()), float(cosines[mine].mean())
