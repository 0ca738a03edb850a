"""How two legs, importance and recency become one order."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.judged import Judged
from support.rankings import Shares, rank

from projections.dates.questions import Span
from projections.index.protocol import Hit, Legs
from projections.queries.ranking import (
    FORM_WEIGHT,
    HOP_WEIGHT,
    IMPORTANCE_WEIGHT,
    KEYWORD_WEIGHT,
    KEYWORD_WEIGHT_BETWEEN_LANGUAGES,
    RECENCY_HALF_LIFE_DAYS,
    RECENCY_WEIGHT,
    SLOT_WEIGHT,
    TURNS_SHARE,
    VECTOR_WEIGHT,
    VECTOR_WEIGHT_BETWEEN_LANGUAGES,
    recency,
    scale,
    turn_scores,
)
from schemas.instant import microseconds

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
FUSED = 1 - IMPORTANCE_WEIGHT - RECENCY_WEIGHT


def legs(semantic=None, keyword=None):
    return Legs(
        keyword=tuple(Hit(name, 1, score) for name, score in (keyword or {}).items()),
        semantic=tuple(Hit(name, 1, score) for name, score in (semantic or {}).items()),
    )


def plain(*names, importance=0.5, occurred_at=NOON):
    return dict.fromkeys(names, Judged(importance, occurred_at))


def ranked(found, facts, limit=10, min_score=0.0):
    return rank(found, facts, NOON, limit, min_score)


def scores_of_turns(*turns, span=None):
    matches, said_at, by_user = zip(*turns, strict=True)
    times = np.array([microseconds(moment) for moment in said_at])
    return turn_scores(np.array(matches, dtype=np.float32), times, np.array(by_user), NOON, span).tolist()


def order(answer):
    return [one.memory_id for one in answer]


def test_weights_are_seven_to_three_and_what_is_light_is_light():
    assert (VECTOR_WEIGHT, KEYWORD_WEIGHT) == (0.7, 0.3)
    assert IMPORTANCE_WEIGHT + RECENCY_WEIGHT < 0.05


def test_cosines_are_scaled_from_the_lowest_hit_to_the_highest():
    answer = ranked(legs(semantic={"a": 0.9, "b": 0.6, "c": 0.5}), plain("a", "b", "c"))
    assert [one.semantic for one in answer] == pytest.approx([1, 0.25, 0])
    assert [one.cosine for one in answer] == [0.9, 0.6, 0.5]


def test_bm25_is_scaled_from_zero_so_that_the_weakest_hit_is_more_than_a_miss():
    answer = ranked(legs(keyword={"a": 8.0, "b": 2.0}), plain("a", "b"))
    assert [one.keyword for one in answer] == [1, 0.25]


def test_one_hit_of_a_leg_and_equal_hits_count_one():
    assert scale(np.array([-0.2]), -0.2).tolist() == [1.0]
    assert scale(np.array([0.0, 0.0]), 0.0).tolist() == [1.0, 1.0]
    assert scale(np.array([]), 0.0).tolist() == []


def test_the_score_is_the_weighted_sum_of_the_parts():
    found = legs(semantic={"a": 0.8, "b": 0.4}, keyword={"b": 3.0})
    a, b = ranked(found, plain("a", "b", importance=0.7))
    assert (a.semantic, a.keyword, b.semantic, b.keyword) == (1, 0, 0, 1)
    light = IMPORTANCE_WEIGHT * 0.7 + RECENCY_WEIGHT
    assert [a.score, b.score] == pytest.approx([FUSED * 0.7 + light, FUSED * 0.3 + light])


def test_what_both_legs_find_comes_before_what_one_finds():
    found = legs(semantic={"a": 0.8, "b": 0.79, "c": 0.1}, keyword={"b": 3.0})
    assert order(ranked(found, plain("a", "b", "c"))) == ["b", "a", "c"]


def test_a_memory_found_by_words_only_has_no_cosine():
    assert [one.cosine for one in ranked(legs(keyword={"a": 1.0}), plain("a"))] == [None]


def test_a_hit_without_facts_takes_no_part_not_even_in_the_scaling():
    found = legs(semantic={"gone": 1.0, "a": 0.9, "b": 0.5, "hidden": -1.0}, keyword={"gone": 9.0, "a": 3.0})
    assert ranked(found, plain("a", "b")) == ranked(
        legs(semantic={"a": 0.9, "b": 0.5}, keyword={"a": 3.0}), plain("a", "b")
    )


def test_importance_orders_what_is_otherwise_equal():
    found = legs(semantic={"a": 0.5, "b": 0.5})
    assert order(ranked(found, plain("a", importance=0.4) | plain("b", importance=0.9))) == ["b", "a"]


def test_the_newer_comes_first_of_what_is_otherwise_equal():
    found = legs(semantic={"a": 0.5, "b": 0.5})
    older = plain("a", occurred_at=NOON - timedelta(days=60))
    assert order(ranked(found, older | plain("b"))) == ["b", "a"]


def test_neither_importance_nor_recency_overrules_a_clearly_better_hit():
    found = legs(semantic={"a": 0.9, "b": 0.8, "c": 0.1})
    facts = plain("a", importance=0.0, occurred_at=NOON - timedelta(days=3650)) | plain("b", "c", importance=1.0)
    assert order(ranked(found, facts)) == ["a", "b", "c"]


def test_equals_are_ordered_by_memory_id():
    found = legs(semantic={"b": 0.5, "c": 0.5, "a": 0.5})
    assert order(ranked(found, plain("a", "b", "c"))) == ["a", "b", "c"]


def test_recency_halves_with_every_half_life_and_the_future_is_now():
    half_life = timedelta(days=RECENCY_HALF_LIFE_DAYS)
    ages = (timedelta(0), half_life, 2 * half_life, -half_life)
    assert [recency(NOON - age, NOON) for age in ages] == pytest.approx([1, 0.5, 0.25, 1])


def test_limit_and_min_score_cut_the_answer():
    found = legs(semantic={"a": 0.9, "b": 0.7, "c": 0.1})
    assert order(ranked(found, plain("a", "b", "c"), limit=2)) == ["a", "b"]
    assert order(ranked(found, plain("a", "b", "c"), min_score=0.65)) == ["a"]
    assert ranked(found, plain("a", "b", "c"), limit=0) == []


def test_what_fills_the_slot_comes_before_what_both_legs_find_best():
    found = legs(semantic={"best": 0.9, "fills": 0.2, "other": 0.1}, keyword={"best": 9.0})
    facts = {
        "best": Judged(1.0, NOON),
        "fills": Judged(0.0, NOON),
        "unfound": Judged(0.0, NOON),
        "other": Judged(0.5, NOON),
    }
    plain_scores = {one.memory_id: one.score for one in ranked(found, facts)}
    answer = rank(found, facts, NOON, 10, shares=Shares(slots={"fills": 1.0, "unfound": 1.0, "hidden": 1.0}))
    assert order(answer) == ["fills", "unfound", "best", "other"]
    assert [one.slot for one in answer] == [1.0, 1.0, 0.0, 0.0]
    scores = {one.memory_id: one.score for one in answer}
    assert scores["best"] == pytest.approx((1 - SLOT_WEIGHT) * plain_scores["best"])
    assert scores["fills"] == pytest.approx((1 - SLOT_WEIGHT) * plain_scores["fills"] + SLOT_WEIGHT)


def test_a_slot_that_nothing_shown_fills_changes_no_score():
    found = legs(semantic={"a": 0.9, "b": 0.2}, keyword={"b": 3.0})
    facts = plain("a", "b")
    assert rank(found, facts, NOON, 10, shares=Shares(slots={"hidden": 1.0})) == rank(found, facts, NOON, 10)


NAMES = st.sampled_from("abcdefgh")
WHEN = st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001  (given a zone)


@settings(deadline=None)
@given(
    st.dictionaries(NAMES, st.floats(-1, 1)),
    st.dictionaries(NAMES, st.floats(0.001, 50)),
    st.dictionaries(NAMES, st.builds(Judged, st.floats(0, 1), WHEN)),
)
def test_scores_and_parts_are_between_zero_and_one_and_in_order(semantic, keyword, facts):
    answer = ranked(legs(semantic, keyword), facts)
    assert set(order(answer)) == set(facts) & (set(semantic) | set(keyword))
    for one in answer:
        assert all(0 <= part <= 1 for part in (one.score, one.semantic, one.keyword, one.importance, one.recency))
    assert [one.score for one in answer] == sorted((one.score for one in answer), reverse=True)


def test_the_turns_that_a_memory_came_from_count_among_its_words():
    found = legs(semantic={"a": 0.9, "b": 0.8, "c": 0.5}, keyword={"a": 2.0})
    answer = rank(found, plain("a", "b", "c"), NOON, 10, shares=Shares(said={"a": 0.0, "b": 1.0}))
    assert order(answer)[0] == "b"
    keywords = {one.memory_id: one.keyword for one in answer}
    assert keywords == pytest.approx({"a": 1 - TURNS_SHARE, "b": TURNS_SHARE, "c": 0.0})


def test_a_memory_in_another_language_is_as_near_as_its_turns_are_and_its_words_count_little():
    found = legs({"own": 0.6, "other": 0.2, "far": 0.1}, {"own": 4.0, "other": 2.0})
    shares = Shares(said={"own": 1.0, "other": 0.0}, meant={"other": 0.6}, hubness={"other": 0.4})
    both = {one.memory_id: one for one in rank(found, plain("own", "other", "far"), NOON, 10, shares=shares)}
    assert both["other"].semantic == both["own"].semantic == 1
    assert both["other"].cosine == 0.2, "thresholds see the memory's own"
    words = both["other"].keyword
    fused = VECTOR_WEIGHT_BETWEEN_LANGUAGES + KEYWORD_WEIGHT_BETWEEN_LANGUAGES * words
    assert both["other"].score == pytest.approx(FUSED * fused + IMPORTANCE_WEIGHT * 0.5 + RECENCY_WEIGHT)


def test_a_memory_whose_turns_mean_it_is_found_where_no_leg_found_it():
    assert order(rank(legs(), plain("other"), NOON, 10, shares=Shares(meant={"other": 0.2, "hidden": 0.9}))) == [
        "other"
    ]


def test_a_memory_whose_turns_match_is_found_where_no_leg_found_it():
    assert order(rank(legs(), plain("a", "b"), NOON, 10, shares=Shares(said={"a": 0.5, "b": 0.0}))) == ["a"]
    assert rank(legs(), plain("b"), NOON, 10, shares=Shares(said={"hidden": 1.0})) == []


def test_what_was_true_in_the_span_that_is_named_comes_first():
    found = legs(semantic={"now": 0.9, "then": 0.5, "far": 0.1}, keyword={"now": 1.0, "then": 1.0})
    facts = plain("now", "then", "far")
    assert order(rank(found, facts, NOON, 10)) == ["now", "then", "far"]
    assert order(rank(found, facts, NOON, 10, shares=Shares(then={"then"}))) == ["then", "now", "far"]


def test_what_was_true_in_the_span_and_is_not_asked_about_comes_later():
    found = legs(semantic={"asked": 0.9, "then": 0.3, "far": 0.1}, keyword={"asked": 1.0})
    answer = rank(found, plain("asked", "then", "far"), NOON, 10, shares=Shares(then={"then", "far"}))
    assert order(answer) == ["asked", "then", "far"]


def test_where_no_words_match_what_was_true_in_the_span_comes_first():
    found = legs(semantic={"near": 0.9, "then": 0.1, "far": 0.2})
    assert order(rank(found, plain("near", "then", "far"), NOON, 10, shares=Shares(then={"then"})))[0] == "then"


def test_the_span_decides_between_all_whose_words_match_equally_however_far_the_meaning():
    found = legs(semantic={"near": 0.9, "then": 0.1}, keyword={"near": 1.0, "then": 1.0})
    assert order(rank(found, plain("near", "then"), NOON, 10, shares=Shares(then={"then"}))) == ["then", "near"]


def test_a_second_search_has_its_share_and_brings_what_only_it_found():
    found, hop = legs(semantic={"a": 0.9, "b": 0.5}), legs(semantic={"c": 0.9, "b": 0.1}, keyword={"c": 3.0})
    answer = {one.memory_id: one.score for one in rank(found, plain("a", "b", "c"), NOON, 10, shares=Shares(hop=hop))}
    alone = {one.memory_id: one.score for one in rank(found, plain("a", "b", "c"), NOON, 10)}
    assert answer["a"] == pytest.approx((1 - HOP_WEIGHT) * alone["a"])
    light = IMPORTANCE_WEIGHT * 0.5 + RECENCY_WEIGHT
    assert answer["c"] == pytest.approx((1 - HOP_WEIGHT) * light + HOP_WEIGHT)


def test_a_turn_counts_less_than_the_best_memory_and_more_than_what_others_said():
    mine, theirs, unmatched = scores_of_turns((1.0, NOON, True), (1.0, NOON, False), (0.0, NOON, True))
    assert 1.0 > mine > theirs > unmatched


def test_a_turn_of_the_span_that_is_named_comes_before_what_matches_as_well():
    then, now = (1.0, NOON - timedelta(days=30), True), (1.0, NOON, True)
    span = Span(NOON - timedelta(days=40), NOON - timedelta(days=20))
    early, late = scores_of_turns(then, now, span=span)
    assert early > late
    early, late = scores_of_turns(then, now)
    assert late > early


def test_what_has_the_form_that_is_asked_for_comes_before_what_is_a_little_nearer():
    found = legs(semantic={"near": 0.9, "address": 0.8, "far": 0.1})
    facts = plain("near", "address", "far")
    assert order(rank(found, facts, NOON, 10)) == ["near", "address", "far"]
    assert order(rank(found, facts, NOON, 10, shares=Shares(formed={"address", "far"}))) == ["address", "near", "far"]


def test_turns_have_their_share_of_the_form_as_memories_have():
    matches, times = np.array([0.5, 0.5], dtype=np.float32), np.full(2, microseconds(NOON))
    by_user = np.array([True, True])
    plainly = turn_scores(matches, times, by_user, NOON)
    formed = turn_scores(matches, times, by_user, NOON, formed=np.array([True, False]))
    assert formed.tolist() == pytest.approx(
        [(1 - FORM_WEIGHT) * plainly[0] + FORM_WEIGHT, (1 - FORM_WEIGHT) * plainly[1]]
    )
