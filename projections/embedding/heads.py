"""What the built-in encoder's vector of a sentence tells besides its meaning: linear heads, one number each.

A head is a logistic regression on the vector, fitted by `tools/train_heads.py` to Chinese and English sentences. The
encoder puts the same meaning in other languages near, so that the heads read those too. They are of no use for the
vectors of another encoder. Whether something is over is told by the words as well, and what it ends by two vectors.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import numpy as np

from projections.embedding.encoder import DIMENSIONS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from projections.embedding.embedder import Vectors

Head: TypeAlias = Literal["lasting", "own", "kept", "alone"]
HEADS: Final[tuple[Head, ...]] = ("lasting", "own", "kept", "alone")
"""`lasting`: the sentence states something that lasts. `own`: what it states is so, and of the speaker. `kept`: it says
something that lasts or passes, and is no greeting, praise, joke or general talk. `alone`: who reads nothing else knows
of whom and of what it speaks."""
AnswerHead: TypeAlias = Literal["lasting", "kept"]
ANSWER_HEADS: Final[tuple[AnswerHead, ...]] = ("lasting", "kept")
"""The same of what is said to a question: they read the vector of the answer, and behind it the question's."""
WORDS: Final = 2048
"""Places of words in what tells whether a statement says that something is over."""
PER_WORD: Final = 0.3
"""What each occurrence of a word counts there: about as much as the numbers of a vector."""
PRODUCT: Final = 6
"""By how much the products of two vectors' numbers, which are small, are made larger for the fitting."""
ENDING: Final = 5 + 3 * DIMENSIONS + 1
"""Numbers of what tells whether one statement ends another: for each of `ending_inputs`, and the bias."""
OVER: Final = DIMENSIONS + WORDS + 1
"""Numbers of what tells whether a statement says that something is over."""
LEAST_NEAR: Final = 0.3
"""The cosine of what is taken for the next nearest where nothing else is known."""
MOST_SHARED: Final = 3
"""Words in common, of which more tell no more."""
FILE: Final = Path(__file__).with_name("heads.bin")
SCALE: Final = 512
"""The file has the weights, and behind them the bias, times this as 16-bit integers."""
_WORDS: Final = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")
_HAN: Final = re.compile(r"[一-鿿]+")


class Heads:
    """The heads that come with the encoder."""

    def __init__(self, data: bytes) -> None:
        """Take the bytes of the file."""
        numbers = (np.frombuffer(data, "<i2") / SCALE).astype(np.float32)
        ends = len(HEADS) * (DIMENSIONS + 1)
        alone, answers = numbers[:ends], numbers[ends : -ENDING - OVER]
        self._over, self._ending = numbers[-ENDING - OVER : -ENDING], numbers[-ENDING:]
        self._weights = dict(zip(HEADS, alone.reshape(len(HEADS), -1), strict=True))
        self._of_answers = dict(zip(ANSWER_HEADS, answers.reshape(len(ANSWER_HEADS), -1), strict=True))
        self.version = hashlib.blake2b(data, digest_size=4).hexdigest()
        """Tells answers of differently fitted heads apart."""

    def scores(self, head: Head, vectors: Vectors) -> NDArray[np.float32]:
        """Return the share of such sentences of which it is so, 0 to 1, for vectors of shape (texts, 512)."""
        return _scores(self._weights[head], vectors)

    def scores_of_answers(self, head: AnswerHead, answers: Vectors, questions: Vectors) -> NDArray[np.float32]:
        """Return the same for what was said to questions: vectors of shape (texts, 512) each."""
        return _scores(self._of_answers[head], np.hstack([answers, questions]))

    def scores_of_over(self, texts: Sequence[str], vectors: Vectors) -> NDArray[np.float32]:
        """Return how surely each text says that what was so until now is over, or otherwise: from 0 to 1."""
        return _scores(self._over, over_inputs(texts, vectors))

    def scores_of_endings(self, later: LaterStatement, known: Vectors) -> NDArray[np.float32]:
        """Return how surely a statement ends each of several others, from 0 to 1: `known` are their vectors."""
        return _scores(self._ending, ending_inputs(later, known))


@dataclass(frozen=True, slots=True)
class LaterStatement:
    """What is known of a statement and its nearness to others that were made before."""

    over: float
    """How surely it says that something is over."""
    vector: NDArray[np.floating[Any]]
    """That of its part that says so most surely."""
    cosines: NDArray[np.floating[Any]]
    """Of its vector and each of theirs."""
    shared: NDArray[np.integer[Any]]
    """How many words it has in common with each."""


def over_inputs(texts: Sequence[str], vectors: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
    """Return what tells whether texts say that something is over: an array of (texts, 512 + 2048).

    The vector is a mean of what the words mean, in which "died" or "no longer" is one of many: so behind it stand the
    words and the pairs of words themselves, each in one of 2048 places.
    """
    words = np.zeros((len(texts), WORDS), vectors.dtype)
    for row, text in zip(words, texts, strict=True):
        np.add.at(row, [zlib.crc32(word.encode()) % WORDS for word in _words_and_pairs(text.casefold())], PER_WORD)
    return np.hstack([vectors, words])


def _words_and_pairs(text: str) -> list[str]:
    words = [word for word in _WORDS.findall(text) if not _HAN.match(word)]
    signs = [
        run[at : at + length] for run in _HAN.findall(text) for length in (1, 2) for at in range(len(run) - length + 1)
    ]
    return [*words, *(" ".join(pair) for pair in pairwise(words)), *signs]


def ending_inputs(later: LaterStatement, known: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
    """Return what tells whether a statement ends each of several others: an array of (others, 5 + 3 * 512).

    `over`, by how much each other statement leads the rest, how many words it shares, up to three, `over` with each of
    these; the vectors of both statements, and the products of their numbers.
    """
    cosines, shared = later.cosines, np.minimum(later.shared, MOST_SHARED)
    ranked = np.sort(np.append(cosines, np.full(2, LEAST_NEAR, cosines.dtype)))
    lead = cosines - np.where(cosines >= ranked[-1], ranked[-2], ranked[-1])
    numbers = [np.full_like(lead, later.over), lead, shared, later.over * lead, later.over * shared]
    own = np.broadcast_to(later.vector, known.shape)
    return np.hstack([np.stack(numbers, axis=1), own, known, PRODUCT * own * known]).astype(np.float32)


def _scores(weights: NDArray[np.float32], vectors: Vectors) -> NDArray[np.float32]:
    scores: NDArray[np.float32] = 1 / (1 + np.exp(-(vectors @ weights[:-1] + weights[-1])))
    return scores


def load() -> Heads:
    """Return the heads of the installed package."""
    return Heads(FILE.read_bytes())
