"""Ranking: the fusion of both legs of a search, importance and recency into one order."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

import numpy as np

from schemas.instant import microseconds

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from numpy.typing import NDArray

    from projections.dates.questions import Span
    from projections.index.embedded.bm25 import Mask, Scores
    from projections.queries.turns.index import Scored, Times

    Rows: TypeAlias = NDArray[np.intp]

VECTOR_WEIGHT = 0.7
KEYWORD_WEIGHT = 0.3
VECTOR_WEIGHT_BESIDE_TURNS = 0.35
KEYWORD_WEIGHT_BESIDE_TURNS = 0.65
"""The weights for a memory whose source turns are known: turns have the words that a summary leaves out.
docs/evidence/quality.md describes the benefit and the choice of the weights."""
VECTOR_WEIGHT_BETWEEN_LANGUAGES = 0.85
KEYWORD_WEIGHT_BETWEEN_LANGUAGES = 0.15
"""The weights for a memory in another language than the question: only names and numbers can match by words."""
TURNS_SHARE = 10 / 13
"""The share of the turns in the keyword part of a memory with known source turns."""
HUBNESS_WEIGHT = 0.5
"""The fraction of a memory's hubness (its extra nearness to the centre of all) that is subtracted from its cosine."""
DEFAULT_IMPORTANCE = 0.5
"""The importance of a turn, which has not been judged."""
TURN_WEIGHT = 0.8
"""The score of the best turn by words alone, when a memory that is best in everything scores 1."""
OTHERS_TURN_WEIGHT = 0.56
"""The same for turns that the user did not say."""
LASTING_WEIGHT = 0.3
"""The share by which the score of a turn is reduced if it says nothing of lasting value."""
SPAN_WEIGHT = 0.45
"""The share of the span of time that a query names. A memory or turn of that time gets it in proportion to its match
by words or meaning, so that it precedes all others with equally matching words, but not a better answer from another
time. If no words match at all, the time alone decides."""
HOP_WEIGHT = 0.4
"""The share of a second search (hop), for the subjects of the first results."""
HOP_WORDS_SHARE = 0.2
"""The share of the words in the second search; the rest is the meaning's."""
VECTOR_WEIGHT_WITH_HOP = 0.6
KEYWORD_WEIGHT_WITH_HOP = 0.4
"""The weights for a memory with known source turns if there is a second hop: related memories share fewer words."""
SLOT_WEIGHT = 0.5
"""The share of the slot that a question asks for: memories that fill it precede all others."""
NAMED_WEIGHT = 0.5
"""The share of the literals that a query names: memories that contain them precede all others."""
FORM_WEIGHT = 0.25
"""The share of the form that a question asks for, such as an address or a price."""
IMPORTANCE_WEIGHT = 0.02
"""The share of importance: enough to order memories whose words and meaning score alike."""
RECENCY_WEIGHT = 0.01
RECENCY_HALF_LIFE_DAYS = 30.0
POOL = 200
"""The number of hits to request from each leg. The worst hit of a leg scores 0, which a smaller pool makes unfair."""

_ROUNDING = 1e-9
"""An upper bound for the rounding error of a score."""
_SECONDS_A_DAY = 86_400.0
_MICROSECONDS_A_DAY = 1e6 * _SECONDS_A_DAY


class Fact(Protocol):
    """The fields of a memory that affect its order apart from the search; a memory is one."""

    @property
    def memory_id(self) -> str:
        """The tie-breaker of the order."""
        ...

    @property
    def importance(self) -> float:
        """The importance, 0 to 1."""
        ...

    @property
    def occurred_at(self) -> datetime:
        """The instant at which it happened or was said."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A memory's place in an answer. Score and parts are 0 to 1; the score is the weighted sum of the parts."""

    row: int = field(compare=False)
    """The row in the ranked parts."""
    memory_id: str
    score: float
    semantic: float
    keyword: float
    """The match of the words: those of the memory, and of its source turns if they are known."""
    slot: float
    """How well the memory fills the slot that the question asks for; 0 if it asks for none."""
    importance: float
    recency: float
    cosine: float | None
    """The semantic leg's own score, -1 to 1, for absolute thresholds; None if that leg did not find the memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The parts of the scores of memories, one row each; NaN if a row has no value.

    A part is None if it does not affect any score. Rows that no part has found are ignored, even in the scaling.
    """

    cosines: Scored
    """The semantic leg's scores."""
    words: Scored
    """The keyword leg's scores."""
    importance: Scored
    hubness: Scored | None = None
    """How much nearer than others the memories are to the centre of the results; 0 if unknown."""
    said: Scored | None = None
    """The match of the source turns, 0 to 1. A memory that only its turns find takes part too."""
    meant: Scored | None = None
    """The nearness of the source turns of memories in another language than the question's, which replaces their own
    cosine. Memories that no leg found take part too."""
    slots: Scored | None = None
    """How well memories fill the requested slot, 0 to 1. Memories that no leg found take part too."""
    then: Mask | None = None
    """Which memories belong to the time that the query names."""
    hop_cosines: Scored | None = None
    """The scores of the semantic leg of a second search."""
    hop_words: Scored | None = None
    """The scores of the keyword leg of a second search."""
    formed: Mask | None = None
    """Which memories contain the form that the query asks for."""
    named: Mask | None = None
    """Which memories contain the literals that the query names; None if no memory and no turn contains them."""

    def among(self, rows: Rows) -> Parts:
        """Return the parts of some rows only."""
        columns: dict[str, Any] = {}
        for one in fields(self):
            column = getattr(self, one.name)
            columns[one.name] = None if column is None else column[rows]
        return Parts(**columns)

    def beside(self, others: Parts) -> Parts:
        """Return the rows of both tables, one after the other."""
        counts = len(self), len(others)
        columns: dict[str, Any] = {}
        for one in fields(self):
            both = getattr(self, one.name), getattr(others, one.name)
            columns[one.name] = None if both[0] is both[1] is None else _one_column(one.name, both, counts)
        return Parts(**columns)

    def __len__(self) -> int:
        return len(self.cosines)


NO_PARTS: Final = Parts(cosines=np.empty(0), words=np.empty(0), importance=np.empty(0))


def _one_column(
    name: str, both: tuple[Scored | Mask | None, Scored | Mask | None], counts: tuple[int, int]
) -> Scored | Mask:
    """Return a part of two tables as one column; a table without the part gets its value for "unknown"."""
    nothing: float = {"hubness": 0.0, "then": False, "formed": False, "named": False}.get(name, np.nan)
    return np.concatenate(
        [np.full(count, nothing) if one is None else one for one, count in zip(both, counts, strict=True)]
    )


def rank(
    parts: Parts, facts: Sequence[Fact], as_of: datetime, limit: int, min_score: float = 0.0, *, by_words: bool = False
) -> list[Ranked]:
    """Return at most `limit` memories with a score of at least `min_score`: by score, importance, then memory_id.

    `facts` are the memories in the order of the rows. With `by_words`, there was no search by meaning, and the words
    get its weight too.
    score = (1 - IMPORTANCE_WEIGHT - RECENCY_WEIGHT) x fused + IMPORTANCE_WEIGHT x importance + RECENCY_WEIGHT x recency
    Each further share then changes the score of every memory to (1 - weight) x score + weight x share.
    """
    scoring = _Scoring(parts, by_words=by_words)
    contenders = scoring.contenders(limit, min_score)
    rows = contenders.tolist()
    ages = [recency(facts[row].occurred_at, as_of) for row in rows]
    scores = scoring.scores(contenders, np.array(ages, np.float64)).tolist()
    placed = sorted(
        (-score, -facts[row].importance, facts[row].memory_id, row, age)
        for score, row, age in zip(scores, rows, ages, strict=True)
        if score >= min_score
    )
    return [
        Ranked(
            row=row,
            memory_id=memory_id,
            score=-score,
            semantic=float(scoring.semantic[row]),
            keyword=float(scoring.words[row]),
            slot=0.0 if scoring.slots is None else float(scoring.slots[row]),
            importance=-importance,
            recency=age,
            cosine=None if np.isnan(parts.cosines[row]) else float(parts.cosines[row]),
        )
        for score, importance, memory_id, row, age in placed[:limit]
    ]


class _Scoring:
    """The scores of memories by row; a memory's score depends only on its own parts and the scales."""

    def __init__(self, parts: Parts, *, by_words: bool) -> None:
        self._parts = parts
        self._by_words = by_words
        cosines = parts.cosines
        if parts.hubness is not None:
            cosines = cosines - HUBNESS_WEIGHT * parts.hubness
        self._is_meant: Mask | None = None
        if parts.meant is not None:
            self._is_meant = ~np.isnan(parts.meant)
            cosines = np.where(self._is_meant, parts.meant, cosines)
        self.semantic, found = _scaled(cosines)
        self.words, has_words = _scaled(parts.words, 0.0)
        found |= has_words
        self._has_words = bool(has_words.any())
        self._is_told: Mask | None = None
        if parts.said is not None:
            self._is_told = ~np.isnan(parts.said)
            told = parts.said > 0.0
            self._has_words = self._has_words or bool(told.any())
            found |= told
            self.words = np.where(self._is_told, self.words + TURNS_SHARE * (parts.said - self.words), self.words)
        self._hops: Scored | None = None
        if parts.hop_cosines is not None and parts.hop_words is not None:
            meaning, with_meaning = _scaled(parts.hop_cosines)
            words, with_words = _scaled(parts.hop_words, 0.0)
            found |= with_meaning | with_words
            self._hops = words if by_words else _shared(meaning, HOP_WORDS_SHARE, words)
        self.slots: Scored | None = None
        if parts.slots is not None and (filled := ~np.isnan(parts.slots)).any():
            found |= filled
            self.slots = np.nan_to_num(parts.slots)
        self._formed: Scored | None = None
        if parts.formed is not None and parts.formed.any():
            self._formed = parts.formed.astype(np.float64)
        self._found = np.flatnonzero(found)

    def contenders(self, limit: int, min_score: float) -> Rows:
        """Return rows that include the best `limit` with a score of at least `min_score`.

        The share of recency is so small that most rows cannot reach a place whatever their recency, which need not be
        computed for them.
        """
        if len(self._found) <= limit:
            return self._found
        least = self.scores(self._found, np.zeros(len(self._found)))
        bound = max(min_score, float(np.partition(least, len(least) - limit)[len(least) - limit]) if limit else 1.0)
        return self._found[least >= bound - RECENCY_WEIGHT - _ROUNDING]

    def scores(self, rows: Rows, ages: Scored) -> Scored:
        """Return the scores of some rows, given their recency; a score grows with the recency."""
        semantic, words = self.semantic[rows], self.words[rows]
        of_meaning, of_words = _weights(has_turns=False, has_hop=self._hops is not None)
        fused = words if self._by_words else of_meaning * semantic + of_words * words
        if self._is_told is not None and not self._by_words:
            of_meaning, of_words = _weights(has_turns=True, has_hop=self._hops is not None)
            fused = np.where(self._is_told[rows], of_meaning * semantic + of_words * words, fused)
        if self._is_meant is not None:
            of_meaning, of_words = VECTOR_WEIGHT_BETWEEN_LANGUAGES, KEYWORD_WEIGHT_BETWEEN_LANGUAGES
            fused = np.where(self._is_meant[rows], of_meaning * semantic + of_words * words, fused)
        light = IMPORTANCE_WEIGHT * self._parts.importance[rows] + RECENCY_WEIGHT * ages
        scores = np.minimum(np.maximum((1.0 - IMPORTANCE_WEIGHT - RECENCY_WEIGHT) * fused + light, 0.0), 1.0)
        if self._hops is not None:
            scores = _shared(scores, HOP_WEIGHT, self._hops[rows])
        if (then := self._parts.then) is not None:
            matches = np.maximum(semantic, words) if self._has_words else 1.0
            scores = _shared(scores, SPAN_WEIGHT, np.where(then[rows], matches, 0.0))
        if self.slots is not None:
            scores = _shared(scores, SLOT_WEIGHT, self.slots[rows])
        if self._formed is not None:
            scores = _shared(scores, FORM_WEIGHT, self._formed[rows])
        if (named := self._parts.named) is not None:
            scores = _shared(scores, NAMED_WEIGHT, named[rows].astype(np.float64))
        return scores


def _scaled(scores: Scored, least: float | None = None) -> tuple[Scored, Mask]:
    """Return scores as `scale` does, with 0 for missing ones, and a mask of the present ones.

    With `least=None`, the lowest score is taken for it.
    """
    there = ~np.isnan(scores)
    found = scores[there]
    scaled = np.zeros(len(scores))
    scaled[there] = scale(found, float(found.min(initial=np.inf)) if least is None else least)
    return scaled, there


def scale(scores: Scored, least: float) -> Scored:
    """Return (score - least) / (greatest - least) for each hit; 1 for all if they are equal. A miss counts 0.

    The relative-score fusion of Weaviate takes the lowest hit for `least`. That is right for cosines, which every
    memory has. BM25 has a natural zero, the score of a text without the words: with it as `least`, the weakest hit
    still counts more than a miss.
    """
    greatest = scores.max(initial=least)
    if greatest <= least:
        return np.ones_like(scores)
    return np.asarray((scores - least) / (greatest - least), dtype=np.float64)


def recency(occurred_at: datetime, as_of: datetime) -> float:
    """Return 0.5 ** (age in days / RECENCY_HALF_LIFE_DAYS); 1 for the present and the future."""
    days = max(0.0, (as_of - occurred_at).total_seconds() / _SECONDS_A_DAY)
    return float(0.5 ** (days / RECENCY_HALF_LIFE_DAYS))


def turn_scores(
    matches: Scores,
    said_at: Times,
    by_user: Mask,
    as_of: datetime,
    span: Span | None = None,
    *,
    lasting: Scored | None = None,
    has_slots: bool = False,
    formed: Mask | None = None,
    named: Mask | None = None,
) -> Scored:
    """Return the scores of turns, comparable with those of memories, 0 to 1; `matches` is 1 for the best turn.

    `said_at` is in microseconds. `lasting` is the probability that each turn is of lasting value, 0 to 1. A turn does
    not fill a slot, so its share is 0 if a question asks for one (`has_slots`). `formed` marks the turns with the
    requested form, `named` those with the literals of the query. None removes a share.
    """
    fused = np.where(by_user, TURN_WEIGHT, OTHERS_TURN_WEIGHT) * matches
    if lasting is not None:
        fused *= 1.0 - LASTING_WEIGHT * (1.0 - lasting)
    days = np.maximum(0, microseconds(as_of) - said_at) / _MICROSECONDS_A_DAY
    light = IMPORTANCE_WEIGHT * DEFAULT_IMPORTANCE + RECENCY_WEIGHT * 0.5 ** (days / RECENCY_HALF_LIFE_DAYS)
    scores = (1.0 - IMPORTANCE_WEIGHT - RECENCY_WEIGHT) * fused + light
    if has_slots:
        scores *= 1.0 - SLOT_WEIGHT
    if span is not None:
        then = (microseconds(span.since) <= said_at) & (said_at < microseconds(span.until))
        scores = (1.0 - SPAN_WEIGHT) * scores + SPAN_WEIGHT * then * matches
    if formed is not None:
        scores = (1.0 - FORM_WEIGHT) * scores + FORM_WEIGHT * formed
    if named is not None:
        scores = (1.0 - NAMED_WEIGHT) * scores + NAMED_WEIGHT * named
    return np.asarray(scores, dtype=np.float64)


def _shared(scores: Scored, weight: float, shares: Scored) -> Scored:
    return np.asarray((1.0 - weight) * scores + weight * shares, dtype=np.float64)


def _weights(*, has_turns: bool, has_hop: bool) -> tuple[float, float]:
    if not has_turns:
        return VECTOR_WEIGHT, KEYWORD_WEIGHT
    if has_hop:
        return VECTOR_WEIGHT_WITH_HOP, KEYWORD_WEIGHT_WITH_HOP
    return VECTOR_WEIGHT_BESIDE_TURNS, KEYWORD_WEIGHT_BESIDE_TURNS
