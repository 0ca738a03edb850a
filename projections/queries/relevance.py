"""Relevance: how likely a result is about the question, on one scale for all users, languages and kinds of result.

The order of results is made within what one user has: its best is near 1, however far it is. Relevance is told by what
does not depend on the others: how near the meaning is, which share of the question's words stands there, and whether it
names whom the question names. A logistic function of these is fitted by `tools/fit_relevance.py` to labelled pairs: its
value is the share of such results that are about the question.

What different encoders call near differs, and the anchors tell how far. As between the languages of one index
(`languages.py`): by a line through what has nothing to do with each other, and a question with what answers it, an
encoder's cosines are brought to the built-in one's.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import numpy as np
import orjson

from projections.embedding.anchors import LANGUAGES, QUESTIONS, STATEMENTS
from projections.embedding.embedder import EmbedderRefused, EmbedderUnavailable
from projections.embedding.languages import far_and_near

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from projections.embedding.embedder import Embedder, Vectors

    Evidence: TypeAlias = Literal["strong", "weak", "none"]
    Scored: TypeAlias = NDArray[np.float64]

FILE: Final = Path(__file__).with_name("relevance.json")
CASES: Final = ("within", "between", "plain_within", "plain_between", "words")
"""Which model tells: text and question in one language, or in two; the same for the vectors of another encoder than the
built-in one; or the meaning is not known."""
FEATURES: Final = ("near", "share", "missed", "unnamed", "texts")
SPEAKS_FOR: Final = ("near", "share")
SLOT_RELEVANCE: Final = 0.9
"""At least, of what fills the slot that a question asks for: so often the rules for questions are right."""
NO_ANSWER: Final = 0.01
"""At most, of a turn that only asks, and of a plan that has passed where what lies ahead is asked for."""
DIGITS: Final = 4
DIRECTION_SCALE: Final = 100
"""The file has the weights of directions, times this, as integers."""
_MEAN_TEXTS: Final = 8.0
BUILTIN: Final = "builtin"
FAR: Final = 0.066
NEAR: Final = 0.452
"""Of the built-in encoder's cosines, on average of both languages."""
_LEAST: Final = 0.01


@dataclass(frozen=True, slots=True)
class Measured:
    """What tells the relevance of some results, a row each."""

    near: Scored
    """How near the nearest of its texts is to the question (`Relevance.asking`); NaN where no meaning is known."""
    shares: Scored
    """What of the weight of the question's words stands in it, 0 to 1."""
    is_between: NDArray[np.bool_]
    """Whether it is in another language than the question."""
    missed: Scored
    """1 where the question names somebody, or a relation, whom it does not name; else 0."""
    texts: int
    """How many the user has."""
    is_unnamed: bool = False
    """Whether the question is about somebody whom it does not name."""
    is_plain: bool = False
    """Whether `near` is a plain cosine, of another encoder than the built-in one."""
    slots: Scored | None = None
    """How well each fills the slot that the question asks for, 0 to 1; None where it asks for none."""
    answers_nothing: NDArray[np.bool_] | None = None
    """Whether each is no answer, however near: it only asks itself, or what it says has passed."""

    def features(self) -> Scored:
        """Return the features, shape (results, FEATURES)."""
        count = len(self.near)
        return np.column_stack(
            [
                self.near,
                self.shares,
                self.missed,
                np.full(count, float(self.is_unnamed)),
                np.full(count, np.log2(max(self.texts, 1) / _MEAN_TEXTS)),
            ]
        )

    def cases(self) -> NDArray[np.intp]:
        """Return which model tells of each row."""
        within, between = ("plain_within", "plain_between") if self.is_plain else ("within", "between")
        case = np.where(self.is_between, CASES.index(between), CASES.index(within))
        return np.where(np.isnan(self.near), CASES.index("words"), case)


class Relevance:
    """The fitted models, and the lines below which there is no evidence."""

    def __init__(self, data: bytes) -> None:
        """Take the bytes of the file."""
        read = orjson.loads(data)
        self.version: str = read["version"]
        self._weights: Mapping[str, Scored] = {case: np.array(read["weights"][case]) for case in CASES}
        self._directions = np.array(read["directions"], np.float32) / DIRECTION_SCALE
        self._few: tuple[int, float] = tuple(read["few"])
        self._many: tuple[int, float] = tuple(read["many"])
        """Until how many texts, and from how many on, the best result has to have which relevance."""
        self._beside: float = read["beside"]
        self._strong: float = read["strong"]

    def asking(self, question: Vectors) -> Vectors:
        """Return what a built-in vector is multiplied with, instead of a question's, to tell how near it is.

        Not all directions in which two texts are alike say that one answers the other: each has a weight.
        """
        weighted: Vectors = (self._directions * question).astype(np.float32)
        return weighted

    def of(self, measured: Measured) -> Scored:
        """Return how relevant each result is, 0 to 1."""
        features, cases = np.nan_to_num(measured.features()), measured.cases()
        found = np.zeros(len(cases))
        for number, case in enumerate(CASES):
            rows = cases == number
            weights = self._weights[case]
            found[rows] = 1.0 / (1.0 + np.exp(-(features[rows] @ weights[:-1] + weights[-1])))
        if measured.slots is not None:
            found = np.maximum(found, SLOT_RELEVANCE * measured.slots)
        if measured.answers_nothing is not None:
            found = np.where(measured.answers_nothing, np.minimum(found, NO_ANSWER), found)
        return np.round(found, DIGITS)

    def line(self, relevance: Scored, texts: int) -> float:
        """Return the relevance below which contexts and tools leave a result of an answer out.

        The best result tells whether there is evidence at all, and of few texts it has to be more relevant. Where there
        is, others come with it unless they are next to irrelevant: an answer often lies in several places.
        """
        (few, high), (many, low) = self._few, self._many
        share = np.log(max(texts, 1) / few) / np.log(many / few)
        gate = round(float(np.clip(high - share * (high - low), low, high)), DIGITS)
        return gate if relevance.max(initial=0.0) < gate else self._beside

    def evidence(self, relevance: Scored, line: float) -> Evidence:
        """Return what an answer with such results, and such a line, is worth."""
        best = float(relevance.max(initial=0.0))
        return "none" if best < line else "weak" if best < self._strong else "strong"


@cache
def load() -> Relevance:
    """Return what comes with the package."""
    return Relevance(FILE.read_bytes())


class ReferenceScale:
    """Which of the built-in encoder's cosines mean what an encoder's do; measured once for each."""

    def __init__(self) -> None:
        self._lines: dict[str, tuple[float, float]] = {BUILTIN: (1.0, 0.0)}

    async def of(self, encoder: Embedder) -> tuple[float, float]:
        """Return `scale` and `shift` of an encoder's cosines; as they are while it cannot be asked."""
        model = encoder.model
        if (line := self._lines.get(model)) is None:
            try:
                measured = [await _far_and_near(encoder, language) for language in LANGUAGES]
            except (EmbedderUnavailable, EmbedderRefused):
                return 1.0, 0.0
            far, near = np.mean(measured, axis=0).tolist()
            scale = (NEAR - FAR) / max(near - far, _LEAST)
            line = self._lines[model] = scale, FAR - scale * far
        return line


async def _far_and_near(encoder: Embedder, language: str) -> tuple[float, float]:
    # As urgent as a question, for one waits.
    statements = await encoder.embed(STATEMENTS[language], urgent=True)
    questions = await encoder.embed(QUESTIONS[language], urgent=True)
    return far_and_near(_table(questions) @ _table(statements).T)


def _table(vectors: Vectors | Sequence[Vectors]) -> Vectors:
    return np.stack(list(vectors))
