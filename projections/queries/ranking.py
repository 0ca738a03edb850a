"""Ranking: how the two legs of a search, importance and recency become one order."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import repeat
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from projections.index.embedded.table import microseconds
from projections.index.protocol import Hit

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import datetime

    from projections.index.embedded.bm25 import Mask, Scores
    from projections.index.protocol import Legs
    from projections.queries.turn_index import Scored, Times
    from projections.text.time_spans import Span

    Facts: TypeAlias = Mapping[str, tuple[float, datetime]]

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
_MICROSECONDS_A_DAY = 1e6 * _SECONDS_A_DAY


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
    facts: Facts,
    as_of: datetime,
    limit: int,
    min_score: float = 0.0,
    *,
    shares: Shares = NO_SHARES,
) -> list[Ranked]:
    """Return at most `limit` memories with a score of at least `min_score`: by score, importance, then memory_id.

    `facts` has each memory's importance (0 to 1) and occurred_at; a hit without facts (forgotten since, or hidden from
    the caller) takes no part, not even in the scaling.
    score = (1 - IMPORTANCE_WEIGHT - RECENCY_WEIGHT) x fused + IMPORTANCE_WEIGHT x importance + RECENCY_WEIGHT x recency
    and for each share that there is, (1 - its weight) x that score + its weight x the share, for every memory.
    """
    scores = _Scores(legs, facts, as_of, shares)
    placed = []
    for memory_id in scores.contenders(limit, min_score):
        age = recency(facts[memory_id][1], as_of)
        score = scores.score(memory_id, age)
        if score >= min_score:
            placed.append((-score, -facts[memory_id][0], memory_id, age))
    placed.sort()
    return [
        Ranked(
            memory_id=memory_id,
            score=-score,
            semantic=scores.semantic.get(memory_id, 0.0),
            keyword=scores.words(memory_id),
            slot=scores.slots.get(memory_id, 0.0),
            importance=-importance,
            recency=age,
            cosine=scores.cosines.get(memory_id),
        )
        for score, importance, memory_id, age in placed[:limit]
    ]


class _Scores:
    """The scores of what was found; that of each memory follows from its own parts alone."""

    def __init__(self, legs: Legs, facts: Facts, as_of: datetime, shares: Shares) -> None:
        semantic = [hit for hit in legs.semantic if hit.memory_id in facts]
        keyword = [hit for hit in legs.keyword if hit.memory_id in facts]
        near = shares.hubness.get
        centred = [
            Hit(memory_id, version, score - HUBNESS_WEIGHT * near(memory_id, 0.0))
            for memory_id, version, score in semantic
            if memory_id not in shares.meant
        ]
        centred += [Hit(memory_id, 0, score) for memory_id, score in shares.meant.items() if memory_id in facts]
        self._meant = shares.meant
        self._facts, self._as_of, self._said, self._then = facts, as_of, shares.said, shares.then
        self.slots = {memory_id: share for memory_id, share in shares.slots.items() if memory_id in facts}
        self._formed = shares.formed
        self.cosines = {memory_id: score for memory_id, _, score in semantic}
        self.semantic = scale(centred, min((hit.score for hit in centred), default=0.0))
        self._keyword = scale(keyword, 0.0)
        self._hops = _hop_parts(shares.hop, facts) if shares.hop is not None else None
        told = {i for i, match in shares.said.items() if match > 0.0 and i in facts}
        self._has_words = bool(keyword or told)
        self._found = {*self.semantic, *self._keyword, *self.slots, *told, *(self._hops or ())}
        has_hop = self._hops is not None
        self._weights = {has: _weights(has_turns=has, has_hop=has_hop) for has in (False, True)}

    def contenders(self, limit: int, min_score: float) -> Collection[str]:
        """Return the memories among which are the best `limit` with a score of at least `min_score`.

        Recency has so small a share that most can come to no place whatever theirs is, and need none computed.
        """
        if len(self._found) <= limit:
            return self._found
        ids = list(self._found)
        least = self._least(ids)
        bound = max(min_score, float(np.partition(least, len(ids) - limit)[len(ids) - limit]) if limit else 1.0)
        return [ids[at] for at in np.flatnonzero(least >= bound - RECENCY_WEIGHT - _ROUNDING).tolist()]

    def _least(self, ids: list[str]) -> Scored:
        """Return for memories what `score` is, but for rounding, where the recency is nothing."""

        def column(of: Mapping[str, float], otherwise: float = 0.0) -> Scored:
            return np.fromiter(map(of.get, ids, repeat(otherwise)), np.float64, len(ids))

        semantic, words, weights = column(self.semantic), column(self._keyword), self._weights[False]
        fused = weights[0] * semantic + weights[1] * words
        if self._said:
            turns, weights = column(self._said, np.nan), self._weights[True]
            is_told = ~np.isnan(turns)
            words = np.where(is_told, words + TURNS_SHARE * (turns - words), words)
            fused = np.where(is_told, weights[0] * semantic + weights[1] * words, fused)
        if self._meant:
            is_meant = np.fromiter((one in self._meant for one in ids), np.bool_, len(ids))
            of_meaning, of_words = VECTOR_WEIGHT_BETWEEN_LANGUAGES, KEYWORD_WEIGHT_BETWEEN_LANGUAGES
            fused = np.where(is_meant, of_meaning * semantic + of_words * words, fused)
        importance = np.fromiter((self._facts[one][0] for one in ids), np.float64, len(ids))
        light = IMPORTANCE_WEIGHT * importance
        scores = np.clip((1.0 - IMPORTANCE_WEIGHT - RECENCY_WEIGHT) * fused + light, 0.0, 1.0)
        if self._hops is not None:
            scores = _all_shared(scores, HOP_WEIGHT, column(self._hops))
        if self._then is not None:
            matches = np.maximum(semantic, words) if self._has_words else np.ones(len(ids))
            is_then = np.fromiter((one in self._then for one in ids), np.bool_, len(ids))
            scores = _all_shared(scores, SPAN_WEIGHT, np.where(is_then, matches, 0.0))
        if self.slots:
            scores = _all_shared(scores, SLOT_WEIGHT, column(self.slots))
        if self._formed:
            is_formed = np.fromiter((one in self._formed for one in ids), np.float64, len(ids))
            scores = _all_shared(scores, FORM_WEIGHT, is_formed)
        return scores

    def words(self, memory_id: str) -> float:
        """Return how well the words match, 0 to 1."""
        words, turns = self._keyword.get(memory_id, 0.0), self._said.get(memory_id)
        return words if turns is None else words + TURNS_SHARE * (turns - words)

    def score(self, memory_id: str, age: float) -> float:
        """Return a memory's score, given its recency: the greater that is, the greater the score."""
        semantic, words = self.semantic.get(memory_id, 0.0), self.words(memory_id)
        of_meaning, of_words = self._weights[memory_id in self._said]
        if memory_id in self._meant:
            of_meaning, of_words = VECTOR_WEIGHT_BETWEEN_LANGUAGES, KEYWORD_WEIGHT_BETWEEN_LANGUAGES
        score = _weighted(of_meaning * semantic + of_words * words, self._facts[memory_id][0], age)
        if self._hops is not None:
            score = _shared(score, HOP_WEIGHT, self._hops.get(memory_id, 0.0))
        if self._then is not None:
            matches = max(semantic, words) if self._has_words else 1.0
            score = _shared(score, SPAN_WEIGHT, matches if memory_id in self._then else 0.0)
        if self.slots:
            score = _shared(score, SLOT_WEIGHT, self.slots.get(memory_id, 0.0))
        if self._formed:
            score = _shared(score, FORM_WEIGHT, 1.0 if memory_id in self._formed else 0.0)
        return score


def _hop_parts(hop: Legs, facts: Mapping[str, object]) -> dict[str, float]:
    """Return how well each memory answers the second search, 0 to 1."""
    semantic = [hit for hit in hop.semantic if hit.memory_id in facts]
    words = scale([hit for hit in hop.keyword if hit.memory_id in facts], 0.0)
    meaning = scale(semantic, min((hit.score for hit in semantic), default=0.0))
    return {i: _shared(meaning.get(i, 0.0), HOP_WORDS_SHARE, words.get(i, 0.0)) for i in words.keys() | meaning.keys()}


def scale(hits: Sequence[Hit], least: float) -> dict[str, float]:
    """Return each hit's (score - least) / (greatest - least); 1 for all where they are equal. A miss counts 0.

    The relative-score fusion of Weaviate takes the lowest hit for `least`. That is right for cosines, which every
    memory has. BM25 has a zero of its own, the score of all that the words do not occur in: with it, the weakest hit
    still counts more than a miss.
    """
    greatest = max((hit.score for hit in hits), default=least)
    if greatest <= least:
        return {hit.memory_id: 1.0 for hit in hits}
    return {hit.memory_id: (hit.score - least) / (greatest - least) for hit in hits}


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


def _shared(score: float, weight: float, share: float) -> float:
    return (1.0 - weight) * score + weight * share


def _all_shared(scores: Scored, weight: float, shares: Scored) -> Scored:
    return np.asarray((1.0 - weight) * scores + weight * shares, dtype=np.float64)


def _weights(*, has_turns: bool, has_hop: bool) -> tuple[float, float]:
    """Return the weights of the meaning and of the words."""
    if not has_turns:
        return VECTOR_WEIGHT, KEYWORD_WEIGHT
    if has_hop:
        return VECTOR_WEIGHT_WITH_HOP, KEYWORD_WEIGHT_WITH_HOP
    return VECTOR_WEIGHT_BESIDE_TURNS, KEYWORD_WEIGHT_BESIDE_TURNS


def _weighted(fused: float, importance: float, age: float) -> float:
    light = IMPORTANCE_WEIGHT * importance + RECENCY_WEIGHT * age
    return min(1.0, max(0.0, (1.0 - IMPORTANCE_WEIGHT - RECENCY_WEIGHT) * fused + light))
