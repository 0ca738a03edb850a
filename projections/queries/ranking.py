"""Ranking: how the two legs of a search, importance and recency become one order."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

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
IMPORTANCE_WEIGHT = 0.02
"""Share of the score, enough to order what the words and the meaning leave close."""
RECENCY_WEIGHT = 0.01
RECENCY_HALF_LIFE_DAYS = 30.0
POOL = 200
"""Hits to ask each leg for: a smaller pool makes the worst hit of a leg, which counts nothing, too good."""

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


NO_SHARES: Final = Shares()


def rank(
    legs: Legs,
    facts: Mapping[str, tuple[float, datetime]],
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
    said, then = shares.said, shares.then
    slots = {memory_id: share for memory_id, share in shares.slots.items() if memory_id in facts}
    semantic = [hit for hit in legs.semantic if hit.memory_id in facts]
    keyword = [hit for hit in legs.keyword if hit.memory_id in facts]
    centred = [
        replace(hit, score=hit.score - HUBNESS_WEIGHT * shares.hubness.get(hit.memory_id, 0.0))
        for hit in semantic
        if hit.memory_id not in shares.meant
    ]
    centred += [Hit(memory_id, 0, score) for memory_id, score in shares.meant.items() if memory_id in facts]
    scaled_semantic = scale(centred, min((hit.score for hit in centred), default=0.0))
    scaled_keyword = scale(keyword, 0.0)
    cosines = {hit.memory_id: hit.score for hit in semantic}
    found = (
        {hit.memory_id for hit in (*centred, *keyword)}
        | slots.keys()
        | {i for i in said if said[i] > 0.0 and i in facts}
    )
    hops = _hop_parts(shares.hop, facts) if shares.hop is not None else None
    found.update(hops or ())
    has_words = bool(scaled_keyword) or any(said[i] > 0.0 for i in said if i in facts)
    placed = []
    for memory_id in found:
        importance, occurred_at = facts[memory_id]
        words, turns = scaled_keyword.get(memory_id, 0.0), said.get(memory_id)
        if turns is not None:
            words += TURNS_SHARE * (turns - words)
        parts = (scaled_semantic.get(memory_id, 0.0), words)
        age = recency(occurred_at, as_of)
        if memory_id in shares.meant:
            weights = VECTOR_WEIGHT_BETWEEN_LANGUAGES, KEYWORD_WEIGHT_BETWEEN_LANGUAGES
        else:
            weights = _weights(has_turns=turns is not None, has_hop=hops is not None)
        fused = weights[0] * parts[0] + weights[1] * parts[1]
        score = _weighted(fused, importance, age)
        if hops is not None:
            score = _shared(score, HOP_WEIGHT, hops.get(memory_id, 0.0))
        if then is not None:
            matches = max(parts) if has_words else 1.0
            score = _shared(score, SPAN_WEIGHT, matches if memory_id in then else 0.0)
        if slots:
            score = _shared(score, SLOT_WEIGHT, slots.get(memory_id, 0.0))
        if score >= min_score:
            placed.append((-score, -importance, memory_id, parts, age))
    placed.sort()
    return [
        Ranked(
            memory_id=memory_id,
            score=-score,
            semantic=semantic_part,
            keyword=keyword_part,
            slot=slots.get(memory_id, 0.0),
            importance=-importance,
            recency=age,
            cosine=cosines.get(memory_id),
        )
        for score, importance, memory_id, (semantic_part, keyword_part), age in placed[:limit]
    ]


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
) -> Scored:
    """Return the scores of turns beside memories, 0 to 1; a match is 1 for the turn that matches best.

    `said_at` is in microseconds. A turn fills no slot: where a question asks for one (`has_slots`), the turn's share of
    it is nothing.
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
    return np.asarray(scores, dtype=np.float64)


def _shared(score: float, weight: float, share: float) -> float:
    return (1.0 - weight) * score + weight * share


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
