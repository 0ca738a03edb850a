"""An encoder for each language: a memory has its language's vector and the multilingual one, in one vector.

A text's language is told by its script. The vector of a memory in a language that has an encoder is that encoder's and
the multilingual one beside each other, weighted; every other memory has the multilingual one. Each language's vectors
have a length of their own, and vectors of one length only are compared: so a question is asked once in each space
(`View`), by both encoders among the memories of its own language, by the multilingual one among the others. What
different encoders call near differs: the anchors tell how far, and their cosines are brought to the multilingual one's.
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
"""Of the multilingual encoder among memories of the question's own language (docs/evidence/quality.md, Encoders)."""
_OWN: Final = np.float32((1 - SHARED_WEIGHT) ** 0.5)
_SHARED: Final = np.float32(SHARED_WEIGHT**0.5)
_HAN_FOR_A_WORD: Final = 2
_LATIN_FOR_A_WORD: Final = 5


@dataclass(frozen=True, slots=True)
class View:
    """How a question is asked in one space: a unit vector, and `scale` x cosine + `shift` as the score."""

    model: str
    vector: Vectors
    scale: float = 1.0
    shift: float = 0.0
    part: slice | None = None
    """Where the vector may be other than 0; None: everywhere."""

    def score(self, cosine: float) -> float:
        """Return a hit's score, at most 1."""
        return min(1.0, self.scale * cosine + self.shift)


def language_of(text: str) -> str:
    """Return zh, en, or nothing for another script: whichever has more words, by their usual lengths.

    Kana make a text Japanese, whatever else is in it.
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
    """Vectors of several lengths: one for each language that has an encoder, and one for all others."""

    def __init__(self, encoders: Mapping[str, Encoder], shared: Encoder) -> None:
        """Put `encoders`, by language, beside `shared`, the multilingual one. All are closed with this one."""
        self._encoders = dict(sorted(encoders.items()))
        self.shared = shared
        """The multilingual encoder."""
        self._padding = dict(zip(LANGUAGES, count()))
        self._scales: dict[str, tuple[float, float]] = {}
        self._lengths: dict[str, int] = {}
        self._measuring = asyncio.Lock()

    @property
    def model(self) -> str:
        """The names of all encoders; travels with every vector."""
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
        """Return how a question is asked among the memories of each language. Raises as `embed`."""
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
        # Zeros, so that two languages whose encoders have equally many dimensions have spaces of their own.
        padding = np.zeros((len(texts), self._padding[language]), np.float32)
        return np.concatenate([_OWN * own, _SHARED * shared, padding], axis=1)

    async def _measure(self) -> None:
        """Find out, once, which of the multilingual encoder's cosines mean what those of the language's own do.

        By a line through two points: what has nothing to do with each other, and a question with what answers it. The
        multilingual encoder is asked across languages, because that is how its cosines stand beside the others.
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
    """Return the mean beside the diagonal and on it."""
    mine = np.eye(len(cosines), dtype=bool)
    return float(cosines[~mine].mean()), float(cosines[mine].mean())
