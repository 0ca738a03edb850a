"""The order of a search is that of computing every score in full, one memory after the other, ties included."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st
from support.judged import Judged
from support.rankings import Shares, rank

from projections.index.protocol import Hit, Legs
from projections.queries.ranking import (
    FORM_WEIGHT,
    HOP_WEIGHT,
    HOP_WORDS_SHARE,
    HUBNESS_WEIGHT,
    IMPORTANCE_WEIGHT,
    KEYWORD_WEIGHT,
    KEYWORD_WEIGHT_BESIDE_TURNS,
    KEYWORD_WEIGHT_BETWEEN_LANGUAGES,
    KEYWORD_WEIGHT_WITH_HOP,
    RECENCY_WEIGHT,
    SLOT_WEIGHT,
    SPAN_WEIGHT,
    TURNS_SHARE,
    VECTOR_WEIGHT,
    VECTOR_WEIGHT_BESIDE_TURNS,
    VECTOR_WEIGHT_BETWEEN_LANGUAGES,
    VECTOR_WEIGHT_WITH_HOP,
    Ranked,
    recency,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
IDS = [f"m{n:02}" for n in range(60)]
FEW_VALUES = st.sampled_from((0.0, 0.25, 0.5, 1.0))
"""So that ties are frequent."""
SHARE = st.one_of(FEW_VALUES, st.floats(0.0, 1.0))
COSINE = st.one_of(FEW_VALUES, st.floats(-1.0, 1.0).map(lambda score: round(score, 6)))
DAYS = st.one_of(st.sampled_from((0, 30)), st.integers(-3, 900)).map(lambda days: NOON - timedelta(days=days))


@st.composite
def legs(draw: st.DrawFn) -> Legs:
    """Return what both legs found, each best first."""

    def leg(scores: Mapping[str, float]) -> tuple[Hit, ...]:
        hits = [Hit(memory_id, 1, score) for memory_id, score in scores.items()]
        return tuple(sorted(hits, key=lambda hit: (-hit.score, hit.memory_id)))

    found = st.dictionaries(st.sampled_from(IDS), COSINE, max_size=50)
    words = st.dictionaries(st.sampled_from(IDS), st.one_of(st.sampled_from((0.5, 2.0)), st.floats(0.01, 20.0)))
    return Legs(keyword=leg(draw(words)), semantic=leg(draw(found)))


SHARES = st.builds(
    Shares,
    hubness=st.dictionaries(st.sampled_from(IDS), st.floats(-0.5, 0.5)),
    said=st.dictionaries(st.sampled_from(IDS), SHARE),
    slots=st.dictionaries(st.sampled_from(IDS), SHARE, max_size=4),
    then=st.none() | st.sets(st.sampled_from(IDS)),
    hop=st.none() | legs(),
    meant=st.just({}) | st.dictionaries(st.sampled_from(IDS), COSINE, max_size=8),
    formed=st.just(frozenset()) | st.frozensets(st.sampled_from(IDS)),
)


@given(
    legs(),
    st.dictionaries(st.sampled_from(IDS), st.builds(Judged, SHARE, DAYS), min_size=1),
    SHARES,
    st.integers(1, 70),
    st.sampled_from((0.0, 0.3, 0.7)),
)
@settings(max_examples=80, deadline=None)
def test_the_best_are_those_of_all_scores_in_full(
    found: Legs, facts: dict[str, Judged], shares: Shares, limit: int, min_score: float
):
    expected = ranked_in_full(found, facts, shares, min_score)
    assert rank(found, facts, NOON, limit, min_score, shares=shares) == expected[:limit]


def ranked_in_full(legs: Legs, facts: Mapping[str, Judged], shares: Shares, min_score: float) -> list[Ranked]:
    slots = {memory_id: share for memory_id, share in shares.slots.items() if memory_id in facts}
    semantic = [hit for hit in legs.semantic if hit.memory_id in facts]
    keyword = scale([hit for hit in legs.keyword if hit.memory_id in facts], 0.0)
    centred = [
        hit._replace(score=hit.score - HUBNESS_WEIGHT * shares.hubness.get(hit.memory_id, 0.0))
        for hit in semantic
        if hit.memory_id not in shares.meant
    ]
    centred += [Hit(memory_id, 0, cosine) for memory_id, cosine in shares.meant.items() if memory_id in facts]
    meaning = scale(centred, min((hit.score for hit in centred), default=0.0))
    told = {i for i, match in shares.said.items() if match > 0.0 and i in facts}
    hops = None if shares.hop is None else hop_parts(shares.hop, facts)
    answer = []
    for memory_id in {*meaning, *keyword, *slots, *told, *(hops or ())}:
        importance, occurred_at = facts[memory_id]
        words, turns = keyword.get(memory_id, 0.0), shares.said.get(memory_id)
        if turns is not None:
            words += TURNS_SHARE * (turns - words)
        similar = meaning.get(memory_id, 0.0)
        of_meaning, of_words = weights(has_turns=turns is not None, has_hop=hops is not None)
        if memory_id in shares.meant:
            of_meaning, of_words = VECTOR_WEIGHT_BETWEEN_LANGUAGES, KEYWORD_WEIGHT_BETWEEN_LANGUAGES
        age = recency(occurred_at, NOON)
        light = IMPORTANCE_WEIGHT * importance + RECENCY_WEIGHT * age
        fused = of_meaning * similar + of_words * words
        score = min(1.0, max(0.0, (1.0 - IMPORTANCE_WEIGHT - RECENCY_WEIGHT) * fused + light))
        if hops is not None:
            score = (1.0 - HOP_WEIGHT) * score + HOP_WEIGHT * hops.get(memory_id, 0.0)
        if shares.then is not None:
            matches = max(similar, words) if keyword or told else 1.0
            score = (1.0 - SPAN_WEIGHT) * score + SPAN_WEIGHT * (matches if memory_id in shares.then else 0.0)
        if slots:
            score = (1.0 - SLOT_WEIGHT) * score + SLOT_WEIGHT * slots.get(memory_id, 0.0)
        if facts.keys() & shares.formed:
            score = (1.0 - FORM_WEIGHT) * score + FORM_WEIGHT * (1.0 if memory_id in shares.formed else 0.0)
        if score >= min_score:
            answer.append(
                Ranked(
                    row=0,
                    memory_id=memory_id,
                    score=score,
                    semantic=similar,
                    keyword=words,
                    slot=slots.get(memory_id, 0.0),
                    importance=importance,
                    recency=age,
                    cosine=next((hit.score for hit in semantic if hit.memory_id == memory_id), None),
                )
            )
    return sorted(answer, key=lambda one: (-one.score, -one.importance, one.memory_id))


def scale(hits: Sequence[Hit], least: float) -> dict[str, float]:
    greatest = max((hit.score for hit in hits), default=least)
    if greatest <= least:
        return {hit.memory_id: 1.0 for hit in hits}
    return {hit.memory_id: (hit.score - least) / (greatest - least) for hit in hits}


def hop_parts(hop: Legs, facts: Mapping[str, object]) -> dict[str, float]:
    semantic = [hit for hit in hop.semantic if hit.memory_id in facts]
    words = scale([hit for hit in hop.keyword if hit.memory_id in facts], 0.0)
    meaning = scale(semantic, min((hit.score for hit in semantic), default=0.0))
    return {
        i: (1.0 - HOP_WORDS_SHARE) * meaning.get(i, 0.0) + HOP_WORDS_SHARE * words.get(i, 0.0)
        for i in words.keys() | meaning.keys()
    }


def weights(*, has_turns: bool, has_hop: bool) -> tuple[float, float]:
    if not has_turns:
        return VECTOR_WEIGHT, KEYWORD_WEIGHT
    if has_hop:
        return VECTOR_WEIGHT_WITH_HOP, KEYWORD_WEIGHT_WITH_HOP
    return VECTOR_WEIGHT_BESIDE_TURNS, KEYWORD_WEIGHT_BESIDE_TURNS
