"""Relevance: how likely a result is about the question, on one scale for all users, languages and kinds of result.

The order of results is made within what one user has: its best is near 1, however far it is. Relevance is told by what
does not depend on the others: how near the meaning is, which share of the question's words stands there, and what the
nearest of all the user's texts has of both. A logistic function of these, which grows with each, is fitted by
`tools/fit_relevance.py` to labelled pairs: its value is the share of such results that are about the question.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import numpy as np
import orjson

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Evidence: TypeAlias = Literal["strong", "weak", "none"]
    Scored: TypeAlias = NDArray[np.float64]

FILE: Final = Path(__file__).with_name("relevance.json")
CASES: Final = ("within", "between", "words")
"""Which model tells: text and question in one language, in two, or the meaning is not known."""
FEATURES: Final = ("cosine", "share", "best_cosine", "best_share", "texts")
SLOT_RELEVANCE: Final = 0.9
"""At least, of what fills the slot that a question asks for: so often the rules for questions are right."""
ASKED_RELEVANCE: Final = 0.05
"""At most, of a turn that only asks: the same question asked once before is no answer."""
DIGITS: Final = 4
_MEAN_TEXTS: Final = 8.0


@dataclass(frozen=True, slots=True)
class Measured:
    """What tells the relevance of some results, a row each."""

    cosines: Scored
    """Of the nearest of its texts with the question; NaN where no meaning is known."""
    shares: Scored
    """What of the weight of the question's words stands in it, 0 to 1."""
    is_between: NDArray[np.bool_]
    """Whether it is in another language than the question."""
    best_cosine: float
    """The greatest of all the user's texts; NaN where none is known."""
    best_share: float
    texts: int
    """How many the user has."""
    slots: Scored | None = None
    """How well each fills the slot that the question asks for, 0 to 1; None where it asks for none."""
    asks: NDArray[np.bool_] | None = None
    """Whether each does no more than ask a question itself."""

    def features(self) -> Scored:
        """Return the features, shape (results, FEATURES)."""
        count = len(self.cosines)
        return np.column_stack(
            [
                self.cosines,
                self.shares,
                np.full(count, self.best_cosine),
                np.full(count, self.best_share),
                np.full(count, np.log2(max(self.texts, 1) / _MEAN_TEXTS)),
            ]
        )

    def cases(self) -> NDArray[np.intp]:
        """Return which model tells of each row."""
        case = np.where(self.is_between, CASES.index("between"), CASES.index("within"))
        return np.where(np.isnan(self.cosines), CASES.index("words"), case)


class Relevance:
    """The fitted models, and the lines below which there is no evidence."""

    def __init__(self, data: bytes) -> None:
        """Take the bytes of the file."""
        read = orjson.loads(data)
        self.version: str = read["version"]
        self._weights: Mapping[str, Scored] = {case: np.array(read["weights"][case]) for case in CASES}
        self._few: tuple[int, float] = tuple(read["few"])
        self._many: tuple[int, float] = tuple(read["many"])
        """Until how many texts, and from how many on, the best result has to have which relevance."""
        self._beside: float = read["beside"]
        self._strong: float = read["strong"]

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
        if measured.asks is not None:
            found = np.where(measured.asks, np.minimum(found, ASKED_RELEVANCE), found)
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
