"""Ranking: how the two legs of a search, importance and recency become one order."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import repeat
from operator import itemgetter
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

import numpy as np

from projections.index.embedded.table import microseconds

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import datetime

    from numpy.typing import NDArray

    from projections.index.embedded.bm25 import Mask, Scores
    from projections.index.protocol import Hit, Legs
    from projections.queries.turn_index import Scored, Times
    from projections.text.time_spans import Span

    Rows: TypeAlias = NDArray[np.intp]

VECTOR_WEIGHT = 0.7
KEYWORD_WEIGHT = 0.3
VECTOR_WEIGHT_BESIDE_TURNS = 0.35
KEYWORD_WEIGHT_BESIDE_TURNS = 0.65
"""The same where the turns are known that a memory came from: what was said has the words that a summary leaves out.
docs/quality.md has what it brings, and how the weights were chosen."""
VECTOR_WEIGHT_BETWEEN_LANGUAGES = 0.85
KEYWORD_WEIGHT_BETWEEN_LANGUAGES = 0.15
"""The same where a memory is in another language than the question: of its words only names and numbers may match."""
TURNS_SHARE = 10 / 13
"""Of the turns in the keyword part of such a memory."""
HUBNESS_WEIGHT = 0.5
"""Of how much nearer than others a memory is to the centre of them all: so much of that is taken off its cosine."""
DEFAULT_IMPORTANCE = 0.5
"""Of a turn, which nobody has judged."""
TURN_WEIGHT = 0.7
"""What the best turn counts, found by its words alone, where a memory found by everything counts 1."""
OTHERS_TURN_WEIGHT = 0.56
"""The same for turns that somebody else than the user said."""
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
_ID: Final = itemgetter(0)
"""Of a hit; and its score."""
_SCORE: Final = itemgetter(2)
_MICROSECONDS_A_DAY = 1e6 * _SECONDS_A_DAY


class Fact(Protocol):
    """What of a memory has a share in its score besides what was found: a memory is one."""

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
class Shares:
    """What has a share in the scores besides both legs, importance and recency; each where it is there."""

    hubness: Mapping[str, float] = field(default_factory=dict)
    """How much nearer than others memories are to the centre of what was found."""
    said: Mapping[str, float] = field(default_factory=dict)
    """How well the turns match that memories came from, 0 to 1; what only its turns find takes part."""
    meant: Mapping[str, float] = field(default_factory=dict)
    """Of memories in another language than the question's: how near the turns are that they came from, in the place of
    their own cosine; those that no leg found take part too."""
    slots: Mapping[str, float] = field(default_factory=dict)
    """How well memories fill the slot that is asked for, 0 to 1; those that no leg found take part too."""
    then: Collection[str] | None = None
    """The memories of the time that the query names; None where it names none."""
    hop: Legs | None = None
    """What a second search found."""
    formed: Collection[str] = ()
    """The memories that have something of the form that the query asks for; none where it asks for none."""


NO_SHARES: Final = Shares()


def rank(
    legs: Legs,
    facts: Mapping[str, Fact],
    as_of: datetime,
    limit: int,
    min_score: float = 0.0,
    *,
    shares: Shares = NO_SHARES,
) -> list[Ranked]:
    """Return at most `limit` memories with a score of at least `min_score`: by score, importance, then memory_id.

    `facts` has each memory's importance and occurred_at; a hit without facts (forgotten since, or hidden from
    the caller) takes no part, not even in the scaling.
    score = (1 - IMPORTANCE_WEIGHT - RECENCY_WEIGHT) x fused + IMPORTANCE_WEIGHT x importance + RECENCY_WEIGHT x recency
    and for each share that there is, (1 - its weight) x that score + its weight x the share, for every memory.
    """
    columns = _Columns(legs, facts, shares)
    contenders = columns.contenders(limit, min_score)
    ids = [columns.ids[row] for row in contenders.tolist()]
    ages = [recency(facts[memory_id].occurred_at, as_of) for memory_id in ids]
    scores = columns.scores(contenders, np.array(ages, np.float64)).tolist()
    placed = sorted(
        (-score, -facts[memory_id].importance, memory_id, row, age)
        for score, memory_id, row, age in zip(scores, ids, contenders.tolist(), ages, strict=True)
        if score >= min_score
    )
    return [
        Ranked(
            memory_id=memory_id,
            score=-score,
            semantic=float(columns.semantic[row]),
            keyword=float(columns.words[row]),
            slot=shares.slots.get(memory_id, 0.0),
            importance=-importance,
            recency=age,
            cosine=None if np.isnan(columns.cosines[row]) else float(columns.cosines[row]),
        )
        for score, importance, memory_id, row, age in placed[:limit]
    ]


class _Columns:
    """The parts of the scores of all memories that have facts, by row; a memory's score follows from its own alone."""

    def __init__(self, legs: Legs, facts: Mapping[str, Fact], shares: Shares) -> None:
        self.ids = list(facts)
        self._count = len(self.ids)
        self._rows = dict(zip(self.ids, range(self._count), strict=True))
        self.importance = np.fromiter((fact.importance for fact in facts.values()), np.float64, self._count)
        found = np.zeros(self._count, np.bool_)
        """What takes part."""
        rows, cosines = self._leg(legs.semantic)
        self.cosines = np.full(self._count, np.nan)
        self.cosines[rows] = cosines
        if shares.hubness:
            cosines = cosines - HUBNESS_WEIGHT * self._column(shares.hubness)[rows]
        self._is_meant: Mask | None = None
        if shares.meant:
            meant = self._column(shares.meant, np.nan)
            self._is_meant = ~np.isnan(meant)
            kept = ~self._is_meant[rows]
            also = np.flatnonzero(self._is_meant)
            rows, cosines = np.concatenate((rows[kept], also)), np.concatenate((cosines[kept], meant[also]))
        self.semantic = np.zeros(self._count)
        self.semantic[rows] = scale(cosines, float(cosines.min(initial=np.inf)))
        found[rows] = True
        rows, scores = self._leg(legs.keyword)
        self.words = np.zeros(self._count)
        self.words[rows] = scale(scores, 0.0)
        found[rows] = True
        self._has_words = bool(len(rows))
        self._is_told: Mask | None = None
        if shares.said:
            said = self._column(shares.said, np.nan)
            self._is_told = ~np.isnan(said)
            told = said > 0.0
            self._has_words = self._has_words or bool(told.any())
            found |= told
            self.words = np.where(self._is_told, self.words + TURNS_SHARE * (said - self.words), self.words)
        self._hops = None
        if shares.hop is not None:
            self._hops, was_found = self._hop(shares.hop)
            found |= was_found
        self._slots = None
        if self._rows.keys() & shares.slots.keys():
            slots = self._column(shares.slots, np.nan)
            found |= ~np.isnan(slots)
            self._slots = np.nan_to_num(slots)
        self._is_then = None if shares.then is None else self._named(shares.then)
        self._formed = self._named(shares.formed).astype(np.float64) if shares.formed else None
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
        fused = of_meaning * semantic + of_words * words
        if self._is_told is not None:
            of_meaning, of_words = _weights(has_turns=True, has_hop=self._hops is not None)
            fused = np.where(self._is_told[rows], of_meaning * semantic + of_words * words, fused)
        if self._is_meant is not None:
            of_meaning, of_words = VECTOR_WEIGHT_BETWEEN_LANGUAGES, KEYWORD_WEIGHT_BETWEEN_LANGUAGES
            fused = np.where(self._is_meant[rows], of_meaning * semantic + of_words * words, fused)
        light = IMPORTANCE_WEIGHT * self.importance[rows] + RECENCY_WEIGHT * ages
        scores = np.clip((1.0 - IMPORTANCE_WEIGHT - RECENCY_WEIGHT) * fused + light, 0.0, 1.0)
        if self._hops is not None:
            scores = _shared(scores, HOP_WEIGHT, self._hops[rows])
        if self._is_then is not None:
            matches = np.maximum(semantic, words) if self._has_words else 1.0
            scores = _shared(scores, SPAN_WEIGHT, np.where(self._is_then[rows], matches, 0.0))
        if self._slots is not None:
            scores = _shared(scores, SLOT_WEIGHT, self._slots[rows])
        if self._formed is not None:
            scores = _shared(scores, FORM_WEIGHT, self._formed[rows])
        return scores

    def _leg(self, hits: Sequence[Hit]) -> tuple[Rows, Scored]:
        """Return the rows of a leg's hits, and their scores."""
        rows = np.fromiter(map(self._rows.get, map(_ID, hits), repeat(-1)), np.intp, len(hits))
        scores = np.fromiter(map(_SCORE, hits), np.float64, len(hits))
        known = rows >= 0
        return (rows, scores) if known.all() else (rows[known], scores[known])

    def _column(self, of: Mapping[str, float], otherwise: float = 0.0) -> Scored:
        return np.fromiter(map(of.get, self.ids, repeat(otherwise)), np.float64, self._count)

    def _named(self, names: Collection[str]) -> Mask:
        return np.fromiter((one in names for one in self.ids), np.bool_, self._count)

    def _hop(self, hop: Legs) -> tuple[Scored, Mask]:
        """Return how well each memory answers the second search, 0 to 1, and which it has found."""
        meaning, words, found = np.zeros(self._count), np.zeros(self._count), np.zeros(self._count, np.bool_)
        rows, cosines = self._leg(hop.semantic)
        meaning[rows] = scale(cosines, float(cosines.min(initial=np.inf)))
        found[rows] = True
        rows, scores = self._leg(hop.keyword)
        words[rows] = scale(scores, 0.0)
        found[rows] = True
        return _shared(meaning, HOP_WORDS_SHARE, words), found


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
    has_slots: bool = False,
    formed: Mask | None = None,
) -> Scored:
    """Return the scores of turns beside memories, 0 to 1; a match is 1 for the turn that matches best.

    `said_at` is in microseconds. A turn fills no slot: where a question asks for one (`has_slots`), the turn's share of
    it is nothing. `formed` says which have something of the form that it asks for, None where that has no share.
    """
    fused = np.where(by_user, TURN_WEIGHT, OTHERS_TURN_WEIGHT) * matches
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
