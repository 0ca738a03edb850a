"""Relevance: how likely a result is about the question, on one scale for all users, languages and kinds of result.

The order of results is made within what one user has: its best is near 1, however far it is. Relevance is told by what
does not depend on the others: how near the meaning is, which share of the question's words stands there, and whether it
names whom the question names. A logistic function of these is fitted by `tools/fit_relevance.py` to labelled pairs: its
value is the share of such results that are about the question.

What different encoders call near differs, and the anchors tell how far. By a line through what has nothing to do with
each other, and a question with what answers it, an encoder's cosines are brought to the built-in one's.
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

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from projections.embedding.embedder import Embedder, Vectors

    Evidence: TypeAlias = Literal["strong", "weak", "none"]
    Scored: TypeAlias = NDArray[np.float64]

FILE: Final = Path(__file__).with_name("relevance.json")
CASES: Final = ("within", "between", "plain_within", "plain_between", "words")
"""The fitted models: text and question in one language or in two, the same for the vectors of another encoder than the
built-in one, and for results whose meaning is unknown."""
FEATURES: Final = ("near", "share", "missed", "unnamed", "texts")
SPEAKS_FOR: Final = ("near", "share")
SLOT_RELEVANCE: Final = 0.9
"""The least relevance of a memory that fills the requested slot: the rules for questions are right this often."""
NO_ANSWER: Final = 0.01
"""The greatest relevance of a turn that only asks, and of a past plan if upcoming plans are asked for."""
DIGITS: Final = 4
DIRECTION_SCALE: Final = 100
"""The file holds the weights of directions as integers, multiplied by this."""
_MEAN_TEXTS: Final = 8.0
BUILTIN: Final = "builtin"
FAR: Final = 0.066
NEAR: Final = 0.452
"""Of the built-in encoder's cosines, on average of both languages."""
_LEAST: Final = 0.01


@dataclass(frozen=True, slots=True)
class Measured:
    """The features that determine the relevance of results, one row each."""

    near: Scored
    """The nearness of a result's nearest text to the question (`Relevance.asking`); NaN if the meaning is unknown."""
    shares: Scored
    """The share of the weight of the question's words that occurs in a result, 0 to 1."""
    is_between: NDArray[np.bool_]
    """Whether a result is in another language than the question."""
    missed: Scored
    """1 if the question names a person or relation that the result does not name; else 0."""
    texts: int
    """The number of the user's texts."""
    is_unnamed: bool = False
    """Whether the question is about a person without naming one."""
    is_plain: bool = False
    """Whether `near` is a plain cosine of another encoder than the built-in one."""
    slots: Scored | None = None
    """How well each result fills the requested slot, 0 to 1; None if the question asks for none."""
    answers_nothing: NDArray[np.bool_] | None = None
    """Whether a result is not an answer, however near: it only asks something itself, or its event has passed."""

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
        """Return the index of the model for each row."""
        within, between = ("plain_within", "plain_between") if self.is_plain else ("within", "between")
        case = np.where(self.is_between, CASES.index(between), CASES.index(within))
        return np.where(np.isnan(self.near), CASES.index("words"), case)


class Relevance:
    """The fitted models, and the lines below which there is no evidence."""

    def __init__(self, data: bytes) -> None:
        read = orjson.loads(data)
        self.version: str = read["version"]
        self._weights: Mapping[str, Scored] = {case: np.array(read["weights"][case]) for case in CASES}
        self._directions = np.array(read["directions"], np.float32) / DIRECTION_SCALE
        self._few: tuple[int, float] = tuple(read["few"])
        self._many: tuple[int, float] = tuple(read["many"])
        """Pairs of a number of texts and the relevance that the best result needs: for few texts, and for many."""
        self._beside: float = read["beside"]
        self._strong: float = read["strong"]

    def asking(self, question: Vectors) -> Vectors:
        """Return the question's vector weighted by direction; its product with a built-in vector is the nearness.

        Similarity in some directions indicates an answer more than in others, so each direction has a weight.
        """
        weighted: Vectors = (self._directions * question).astype(np.float32)
        return weighted

    def of(self, measured: Measured) -> Scored:
        """Return the relevance of each result, 0 to 1."""
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
        """Return the line of an answer: the relevance below which contexts and tools leave a result out.

        The best result decides whether there is evidence at all; with few texts, it must be more relevant. If there is
        evidence, the other results stay unless they are almost irrelevant: an answer often lies in several texts.
        """
        (few, high), (many, low) = self._few, self._many
        share = np.log(max(texts, 1) / few) / np.log(many / few)
        gate = round(float(np.clip(high - share * (high - low), low, high)), DIGITS)
        return gate if relevance.max(initial=0.0) < gate else self._beside

    def evidence(self, relevance: Scored, line: float) -> Evidence:
        """Return the strength of the evidence in an answer with these results and this line."""
        best = float(relevance.max(initial=0.0))
        return "none" if best < line else "weak" if best < self._strong else "strong"


@cache
def load() -> Relevance:
    """Return the models that come with the package."""
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
    """Return the mean cosines of unrelated anchors, and of questions with their answers."""
    # As urgent as a question, for one waits.
    statements = await encoder.embed(STATEMENTS[language], urgent=True)
    cosines = await encoder.embed(QUESTIONS[language], urgent=True) @ statements.T
    mine = np.eye(len(cosines), dtype=bool)
    return float(cosines[~mine].mean()), float(cosines[mine].mean())
