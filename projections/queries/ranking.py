"""Ranking: how the two legs of a search, importance and recency become one order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from projections.index.protocol import Hit, Legs

VECTOR_WEIGHT = 0.7
KEYWORD_WEIGHT = 0.3
SLOT_WEIGHT = 0.5
"""Share of the slot where a question asks for one that is filled: what fills it comes before all that does not."""
IMPORTANCE_WEIGHT = 0.02
"""Share of the score, enough to order what the words and the meaning leave close."""
RECENCY_WEIGHT = 0.01
RECENCY_HALF_LIFE_DAYS = 30.0
POOL = 200
"""Hits to ask each leg for: a smaller pool makes the worst hit of a leg, which counts nothing, too good."""

_SECONDS_A_DAY = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A memory's place in an answer. Score and parts are 0 to 1; the score is the weighted sum of the parts."""

    memory_id: str
    score: float
    semantic: float
    keyword: float
    slot: float
    """How well it fills the slot that the question asks for; 0 where it asks for none."""
    importance: float
    recency: float
    cosine: float | None
    """The semantic leg's own score, -1 to 1, for absolute thresholds; None where that leg did not find the memory."""


def rank(
    legs: Legs,
    facts: Mapping[str, tuple[float, datetime]],
    as_of: datetime,
    limit: int,
    min_score: float = 0.0,
    *,
    slots: Mapping[str, float] | None = None,
) -> list[Ranked]:
    """Return at most `limit` memories with a score of at least `min_score`: by score, importance, then memory_id.

    `facts` has each memory's importance (0 to 1) and occurred_at; a hit without facts (forgotten since, or hidden from
    the caller) takes no part, not even in the scaling.
    `slots` has how well memories fill the slot that is asked for, 0 to 1; those that no leg found take part too.
    score = (1 - IMPORTANCE_WEIGHT - RECENCY_WEIGHT) x fused + IMPORTANCE_WEIGHT x importance + RECENCY_WEIGHT x recency
    and where a slot is filled, (1 - SLOT_WEIGHT) x that score + SLOT_WEIGHT x slot, for every memory
    """
    slots = {memory_id: share for memory_id, share in (slots or {}).items() if memory_id in facts}
    semantic = [hit for hit in legs.semantic if hit.memory_id in facts]
    keyword = [hit for hit in legs.keyword if hit.memory_id in facts]
    scaled_semantic = scale(semantic, min((hit.score for hit in semantic), default=0.0))
    scaled_keyword = scale(keyword, 0.0)
    cosines = {hit.memory_id: hit.score for hit in semantic}
    found = {hit.memory_id for hit in (*semantic, *keyword)} | slots.keys()
    placed = []
    for memory_id in found:
        importance, occurred_at = facts[memory_id]
        parts = (scaled_semantic.get(memory_id, 0.0), scaled_keyword.get(memory_id, 0.0))
        age = recency(occurred_at, as_of)
        score = _score(*parts, importance, age)
        if slots:
            score = (1.0 - SLOT_WEIGHT) * score + SLOT_WEIGHT * slots.get(memory_id, 0.0)
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


def _score(semantic: float, keyword: float, importance: float, age: float) -> float:
    fused = VECTOR_WEIGHT * semantic + KEYWORD_WEIGHT * keyword
    light = IMPORTANCE_WEIGHT * importance + RECENCY_WEIGHT * age
    return min(1.0, max(0.0, (1.0 - IMPORTANCE_WEIGHT - RECENCY_WEIGHT) * fused + light))
