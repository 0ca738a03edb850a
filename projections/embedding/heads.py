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
from itertools import chain, pairwise
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
WORDS: Final = 16_384
"""Places of words in what tells whether a statement says that something is over."""
PER_WORD: Final = 0.3
"""What each occurrence of a word counts there: about as much as the numbers of a vector."""
PRODUCT: Final = 6
"""By how much the products of two vectors' numbers, which are small, are made larger for the fitting."""
TRAITS: Final = 10
"""Numbers of a pair of statements, of which the products are read too."""
ENDING: Final = TRAITS * (TRAITS + 3) // 2 + 3 * DIMENSIONS + 1
"""Numbers of what tells whether one statement ends another: for each of `ending_inputs`, and the bias."""
OVER: Final = DIMENSIONS + WORDS + 1
"""Numbers of what tells whether a statement says that something is over."""
LEAST_NEAR: Final = 0.3
"""The cosine of what is taken for the next nearest where nothing else is known."""
MOST_SHARED: Final = 4
"""Words in common, of which more tell no more."""
LEAST_SCORE: Final = 1e-4
"""Scores nearer to 0 or 1 tell no more."""
FILE: Final = Path(__file__).with_name("heads.bin")
SCALE: Final = 512
"""The file has the weights, and behind them the bias, times this as 16-bit integers."""
_WORDS: Final = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")
_HAN: Final = re.compile(r"[一-鿿]+")


class Heads:
    """The heads that come with the encoder."""

    def __init__(self, data: bytes) -> None:
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
        rows, places = places_of_words(texts)
        of_words = np.bincount(rows, self._over[DIMENSIONS + places], len(texts)) * PER_WORD
        return _share(vectors @ self._over[:DIMENSIONS] + of_words + self._over[-1])

    def statements(self, texts: Sequence[str], vectors: Vectors, words: Sequence[int]) -> Statements:
        """Return what the heads tell of texts, of which so many `words` say what each is about."""
        over, lasting = self.scores_of_over(texts, vectors), self.scores("lasting", vectors)
        return Statements(vectors, over, lasting, np.array(words, np.intp))

    def scores_of_endings(self, later: LaterStatement, known: Statements) -> NDArray[np.float32]:
        """Return how surely a statement ends each of several others, from 0 to 1."""
        return _scores(self._ending, ending_inputs(later, known))


@dataclass(frozen=True, slots=True)
class Statements:
    """What the heads tell of statements, each an array with a row for each."""

    vectors: NDArray[np.floating[Any]]
    over: NDArray[np.floating[Any]]
    """How surely each says that something is over."""
    lasting: NDArray[np.floating[Any]]
    words: NDArray[np.integer[Any]]
    """How many words say what each is about."""

    def at(self, places: NDArray[np.integer[Any]]) -> Statements:
        """Return some of the statements."""
        return Statements(self.vectors[places], self.over[places], self.lasting[places], self.words[places])


@dataclass(frozen=True, slots=True)
class LaterStatement:
    """What is known of a statement and its nearness to others that were made before."""

    parts: Statements
    """The whole statement, and behind it its parts."""
    cosines: NDArray[np.floating[Any]]
    """Of its vector, or its surest part's, and each of theirs."""
    shared: NDArray[np.integer[Any]]
    """How many words it has in common with each."""

    @property
    def surest(self) -> int:
        """The place of the part that says most surely that something is over."""
        return int(self.parts.over.argmax())


def places_of_words(texts: Sequence[str]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the row and the place, below `WORDS`, of each word and each pair of words in some texts.

    The vector of a sentence is a mean of what its words mean, in which "died" or "no longer" is one of many: so the
    words are read too.
    """
    places = [[zlib.crc32(word.encode()) % WORDS for word in _words_and_pairs(text.casefold())] for text in texts]
    rows = np.repeat(np.arange(len(texts)), [len(those) for those in places])
    return rows, np.fromiter(chain.from_iterable(places), np.intp)


def _words_and_pairs(text: str) -> list[str]:
    words = [word for word in _WORDS.findall(text) if not _HAN.match(word)]
    signs = [
        run[at : at + length] for run in _HAN.findall(text) for length in (1, 2) for at in range(len(run) - length + 1)
    ]
    return [*words, *(" ".join(pair) for pair in pairwise(words)), *signs]


def ending_inputs(later: LaterStatement, known: Statements) -> NDArray[np.float32]:
    """Return what tells whether a statement ends each of several others: an array of (others, 65 + 3 * 512).

    First come ten numbers, on a scale of about 1: how surely the statement's surest part and the whole say that
    something is over, and the other one; how surely both last; how many words each has, and both share; how near they
    are, and by how much the other one leads the rest. Behind them stand their products, the vectors of both, and the
    products of these vectors' numbers.
    """
    cosines, shared = later.cosines, np.minimum(later.shared, MOST_SHARED)
    ranked = np.sort(np.append(cosines, np.full(2, LEAST_NEAR, cosines.dtype)))
    lead = cosines - np.where(cosines >= ranked[-1], ranked[-2], ranked[-1])
    parts, surest = later.parts, later.surest
    of_later = _logit(parts.over[surest]), _logit(parts.over[0]), _logit(parts.lasting[0]), np.log1p(parts.words[0]) - 2
    of_known = _logit(known.over), _logit(known.lasting), np.log1p(known.words) - 2
    of_both = shared - 1, 4 * cosines - 2, 4 * lead
    numbers = np.stack([*(np.full_like(lead, one) for one in of_later), *of_known, *of_both], axis=1)
    first, second = np.triu_indices(TRAITS)
    own = np.broadcast_to(parts.vectors[surest], known.vectors.shape)
    products = numbers[:, first] * numbers[:, second], PRODUCT * own * known.vectors
    return np.hstack([numbers, products[0], own, known.vectors, products[1]]).astype(np.float32)


def _logit(scores: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
    """Return scores from 0 to 1 as numbers that are halved at 0, about -2 to 2."""
    shares = np.clip(scores, LEAST_SCORE, 1 - LEAST_SCORE)
    logits: NDArray[np.floating[Any]] = np.log(shares / (1 - shares)) / 2
    return logits


def _scores(weights: NDArray[np.float32], vectors: Vectors) -> NDArray[np.float32]:
    return _share(vectors @ weights[:-1] + weights[-1])


def _share(logits: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
    shares: NDArray[np.float32] = (1 / (1 + np.exp(-logits))).astype(np.float32)
    return shares


def load() -> Heads:
    """Return the heads of the installed package."""
    return Heads(FILE.read_bytes())
