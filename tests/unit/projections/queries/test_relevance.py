"""Relevance grows with what speaks for a result, is the same for every user, and tells whether there is evidence."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import orjson
import pytest
from support.tables import each

from projections.queries.relevance import CASES, FEATURES, FILE, Measured, Relevance, load

RELEVANCE = load()


def measured(
    near: float, share: float = 0.0, *, between: bool = False, missed: bool = False, texts: int = 100
) -> Measured:
    return Measured(np.array([near]), np.array([share]), np.array([between]), np.array([float(missed)]), texts)


def told(one: Measured) -> float:
    return float(RELEVANCE.of(one)[0])


@each("between", [False, True])
def test_it_grows_with_the_cosine_and_never_falls_with_the_words(between: bool):  # noqa: FBT001 - a case
    near = [told(measured(cosine, between=between)) for cosine in (-0.2, 0.0, 0.2, 0.4, 0.6, 1.0)]
    assert near == sorted(near)
    assert near[0] < 0.05
    assert near[-1] > 0.8
    words = [told(measured(0.3, share, between=between)) for share in (0.0, 0.2, 0.5, 1.0)]
    assert words == sorted(words)


def test_what_speaks_for_a_result_has_no_weight_below_0():
    read = orjson.loads(FILE.read_bytes())
    assert tuple(read["features"]) == FEATURES
    for case in CASES:
        weights = dict(zip(FEATURES, read["weights"][case], strict=False))
        assert min(weights["near"], weights["share"]) >= 0
        assert max(weights["missed"], weights["unnamed"]) < 0
        assert len(read["weights"][case]) == len(FEATURES) + 1


def test_without_a_meaning_the_words_tell():
    nothing, half, all_of_it = (told(measured(np.nan, share)) for share in (0.0, 0.5, 1.0))
    assert nothing < half < all_of_it
    assert nothing < RELEVANCE.line(np.array([nothing]), 100)


def test_of_few_texts_the_best_has_to_be_more_relevant():
    lines = [RELEVANCE.line(np.array([0.01]), texts) for texts in (0, 8, 30, 200, 400, 10_000)]
    assert lines == sorted(lines, reverse=True)
    assert lines[:3] == [lines[0]] * 3
    assert lines[0] > lines[3] > lines[4] == lines[5]


def test_beside_a_relevant_result_others_stay():
    relevance = np.array([0.7, 0.03, 0.005])
    line = RELEVANCE.line(relevance, 100)
    assert [one >= line for one in relevance] == [True, True, False]
    assert RELEVANCE.evidence(relevance, line) == "strong"


@each(("best", "evidence"), [(0.9, "strong"), (0.3, "weak"), (0.02, "none")])
def test_the_best_result_tells_whether_there_is_evidence(best: float, evidence: str):
    relevance = np.array([0.01, best])
    assert RELEVANCE.evidence(relevance, RELEVANCE.line(relevance, 50)) == evidence


def test_an_answer_without_results_is_no_evidence():
    nothing = np.empty(0)
    assert RELEVANCE.evidence(nothing, RELEVANCE.line(nothing, 0)) == "none"


def test_a_result_between_languages_is_told_by_a_model_of_its_own():
    both = Measured(np.array([0.3, 0.3, np.nan]), np.zeros(3), np.array([False, True, True]), np.zeros(3), 100)
    assert [CASES[case] for case in both.cases()] == ["within", "between", "words"]
    assert len(set(RELEVANCE.of(both).tolist())) == 3


def test_another_file_is_another_version():
    read = orjson.loads(FILE.read_bytes())
    assert Relevance(orjson.dumps(read | {"version": "other"})).version == "other" != RELEVANCE.version
    assert RELEVANCE.of(measured(0.4)) == pytest.approx(RELEVANCE.of(measured(0.4)))


def test_a_turn_that_only_asks_is_no_answer():
    one = measured(1.0, 1.0)
    assert told(one) > RELEVANCE.line(np.array([1.0]), 100)
    assert told(replace(one, answers_nothing=np.array([True]))) < RELEVANCE.line(np.array([1.0]), 100)


def test_who_is_named_by_the_question_and_not_by_the_result_makes_it_less_relevant():
    assert told(measured(0.4, missed=True)) < 0.5 * told(measured(0.4))
    assert told(replace(measured(0.4), is_unnamed=True)) < told(measured(0.4))


def test_another_encoders_cosines_are_told_by_models_of_their_own():
    one = replace(measured(0.4), is_plain=True)
    assert CASES[one.cases()[0]] == "plain_within"
    assert told(one) != told(measured(0.4))


def test_each_direction_has_a_weight_and_on_average_they_are_what_they_were():
    directions = RELEVANCE.asking(np.ones(512, np.float32))
    assert directions.mean() == pytest.approx(1.0, abs=0.01)
    assert len(set(directions.tolist())) > 50
