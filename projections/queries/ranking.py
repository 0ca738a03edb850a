"""Ranking: how the two legs of a search, importance and recency become one order."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

import numpy as np

from projections.index.embedded.table import microseconds

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
"""The same where the turns are known that a memory came from: what was said has the words that a summary leaves out.
docs/evidence/quality.md has what it brings, and how the weights were chosen."""
VECTOR_WEIGHT_BETWEEN_LANGUAGES = 0.85
KEYWORD_WEIGHT_BETWEEN_LANGUAGES = 0.15
"""The same where a memory is in another language than the question: of its words only names and numbers may match."""
TURNS_SHARE = 10 / 13
"""Of the turns in the keyword part of such a memory."""
HUBNESS_WEIGHT = 0.5
"""Of how much nearer than others a memory is to the centre of them all: so much of that is taken off its cosine."""
DEFAULT_IMPORTANCE = 0.5
"""Of a turn, which nobody has judged."""
TURN_WEIGHT = 0.8
"""What the best turn counts, found by its words alone, where a memory found by everything counts 1."""
OTHERS_TURN_WEIGHT = 0.56
"""The same for turns that somebody else than the user said."""
LASTING_WEIGHT = 0.3
"""So much less a turn counts that says nothing that lasts."""
SPAN_WEIGHT = 0.45
"""Share of the span of time that a query names, of what was true then as far as its words or its meaning match: so it
comes before all whose words match as well, however the meaning falls, and not before what alone is asked about. Where
no words match at all, the time alone decides."""
HOP_WEIGHT = 0.4
"""Share of a second search, for what the first memories are about."""
HOP_WORDS_SHARE = 0.2
"""Of the words in the second search; the rest is of its meaning."""
VECTOR_WEIGHT_WITH_HOP = 0.6
KEYWORD_WEIGHT_WITH_HOP = 0.4
"""In the place of those beside turns, where there is a second hop: what is only related shares fewer words."""
SLOT_WEIGHT = 0.5
"""Share of the slot where a question asks for one that is filled: what fills it comes before all that does not."""
NAMED_WEIGHT = 0.5
"""Share of what a query names letter by letter, of what has it: that comes before all that does not."""
FORM_WEIGHT = 0.25
"""Share of the form that a question asks for, such as an address or a price, of what has something of that form."""
IMPORTANCE_WEIGHT = 0.02
"""Share of the score, enough to order what the words and the meaning leave close."""
RECENCY_WEIGHT = 0.01
RECENCY_HALF_LIFE_DAYS = 30.0
POOL = 200
"""Hits to ask each leg for: a smaller pool makes the worst hit of a leg, which counts nothing, too good."""

_ROUNDING = 1e-9
"""More than the sums of a score may differ from what they are of exact numbers."""
_SECONDS_A_DAY = 86_400.0
_MICROSECONDS_A_DAY = 1e6 * _SECONDS_A_DAY


class Fact(Protocol):
    """What of a memory orders it besides what was found: a memory is one."""

    @property
    def memory_id(self) -> str:
        """Orders those that are equal in all else."""
        ...

    @property
    def importance(self) -> float:
        """0 to 1."""
        ...

    @property
    def occurred_at(self) -> datetime:
        """When it happened or was said."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A memory's place in an answer. Score and parts are 0 to 1; the score is the weighted sum of the parts."""

    row: int = field(compare=False)
    """Its place among what was ranked."""
    memory_id: str
    score: float
    semantic: float
    keyword: float
    """How well the words match: of the memory, and of the turns that it came from where these are known."""
    slot: float
    """How well it fills the slot that the question asks for; 0 where it asks for none."""
    importance: float
    recency: float
    cosine: float | None
    """The semantic leg's own score, -1 to 1, for absolute thresholds; None where that leg did not find the memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What has a share in the scores of some memories, a row each; NaN where there is nothing of a row.

    None where a share has no part in any score. Rows that nothing has found take no part, not even in the scaling.
    """

    cosines: Scored
    """The semantic leg's scores."""
    words: Scored
    """The keyword leg's scores."""
    importance: Scored
    hubness: Scored | None = None
    """How much nearer than others memories are to the centre of what was found; 0 where that is not known."""
    said: Scored | None = None
    """How well the turns match that memories came from, 0 to 1; what only its turns find takes part."""
    meant: Scored | None = None
    """Of memories in another language than the question's: how near the turns are that they came from, in the place of
    their own cosine; those that no leg found take part too."""
    slots: Scored | None = None
    """How well memories fill the slot that is asked for, 0 to 1; those that no leg found take part too."""
    then: Mask | None = None
    """The memories of the time that the query names."""
    hop_cosines: Scored | None = None
    """What the semantic leg of a second search found."""
    hop_words: Scored | None = None
    """What its keyword leg found."""
    formed: Mask | None = None
    """The memories that have something of the form that the query asks for."""
    named: Mask | None = None
    """The memories that have what the query names letter by letter; None where neither a memory nor a turn has it."""

    def among(self, rows: Rows) -> Parts:
        """Return some rows, as if there were no others."""
        columns: dict[str, Any] = {}
        for one in fields(self):
            column = getattr(self, one.name)
            columns[one.name] = None if column is None else column[rows]
        return Parts(**columns)

    def beside(self, others: Parts) -> Parts:
        """Return the rows of both, one after the other."""
        counts = len(self), len(others)
        columns: dict[str, Any] = {}
        for one in fields(self):
            both = getattr(self, one.name), getattr(others, one.name)
            columns[one.name] = None if both[0] is both[1] is None else _one_column(one.name, both, counts)
        return Parts(**columns)

    def __len__(self) -> int:
        """Return how many rows there are."""
        return len(self.cosines)


NO_PARTS: Final = Parts(cosines=np.empty(0), words=np.empty(0), importance=np.empty(0))


def _one_column(
    name: str, both: tuple[Scored | Mask | None, Scored | Mask | None], counts: tuple[int, int]
) -> Scored | Mask:
    """Return a part of two tables as one column; where one has none of it, as it is where nothing is known."""
    nothing: float = {"hubness": 0.0, "then": False, "formed": False, "named": False}.get(name, np.nan)
    return np.concatenate(
        [np.full(count, nothing) if one is None else one for one, count in zip(both, counts, strict=True)]
    )


def rank(
    parts: Parts, facts: Sequence[Fact], as_of: datetime, limit: int, min_score: float = 0.0, *, by_words: bool = False
) -> list[Ranked]:
    """Return at most `limit` memories with a score of at least `min_score`: by score, importance, then memory_id.

    `facts` are the memories, in the order of the rows. `by_words`: nothing was searched by its meaning, and the words
    have its weight too.
    score = (1 - IMPORTANCE_WEIGHT - RECENCY_WEIGHT) x fused + IMPORTANCE_WEIGHT x importance + RECENCY_WEIGHT x recency
    and for each share that there is, (1 - its weight) x that score + its weight x the share, for every memory.
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
    """The scores of memories, by row; a memory's score follows from its own parts and the scales."""

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
        """Return the rows among which are the best `limit` with a score of at least `min_score`.

        Recency has so small a share that most can come to no place whatever theirs is, and need none computed.
        """
        if len(self._found) <= limit:
            return self._found
        least = self.scores(self._found, np.zeros(len(self._found)))
        bound = max(min_score, float(np.partition(least, len(least) - limit)[len(least) - limit]) if limit else 1.0)
        return self._found[least >= bound - RECENCY_WEIGHT - _ROUNDING]

    def scores(self, rows: Rows, ages: Scored) -> Scored:
        """Return the scores of some rows, given their recency: the greater that is, the greater the score."""
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
    """Return scores as `scale` does, 0 for those that are missing, and which are there; `least` None: the lowest."""
    there = ~np.isnan(scores)
    found = scores[there]
    scaled = np.zeros(len(scores))
    scaled[there] = scale(found, float(found.min(initial=np.inf)) if least is None else least)
    return scaled, there


def scale(scores: Scored, least: float) -> Scored:
    """Return (score - least) / (greatest - least) of some hits; 1 for all where they are equal. A miss counts 0.

    The relative-score fusion of Weaviate takes the lowest hit for `least`. That is right for cosines, which every
    memory has. BM25 has a zero of its own, the score of all that the words do not occur in: with it, the weakest hit
    still counts more than a miss.
    """
    greatest = scores.max(initial=least)
    if greatest <= least:
        return np.ones_like(scores)
    return np.asarray((scores - least) / (greatest - least), dtype=np.float64)


def recency(occurred_at: datetime, as_of: datetime) -> float:
    """Return 0.5 ** (age in days / RECENCY_HALF_LIFE_DAYS): 1 for now and for what lies ahead."""
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
    """Return the scores of turns beside memories, 0 to 1; a match is 1 for the turn that matches best.

    `said_at` is in microseconds. `lasting` is how surely what each says lasts, 0 to 1; None has no share. A turn fills
    no slot: where a question asks for one (`has_slots`), the turn's share of it is nothing. `formed` says which have
    something of the form that it asks for, `named` which have what it names letter by letter; None where that has no
    share.
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
    """Return the weights of the meaning and of the words."""
    if not has_turns:
        return VECTOR_WEIGHT, KEYWORD_WEIGHT
    if has_hop:
        return VECTOR_WEIGHT_WITH_HOP, KEYWORD_WEIGHT_WITH_HOP
    return VECTOR_WEIGHT_BESIDE_TURNS, KEYWORD_WEIGHT_BESIDE_TURNS
