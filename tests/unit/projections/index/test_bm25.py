"""BM25 is the formula, over the rows that remain."""

from __future__ import annotations

import math

import numpy as np
import pytest
from support.tables import each

from projections.index.embedded.bm25 import Bm25, RowsOfTokens
from projections.index.embedded.postings import FEW_ROWS


def bm25_of(*texts):
    bm25 = Bm25()
    for text in texts:
        bm25.add(text.split())
    return bm25


def test_the_score_is_that_of_the_formula():
    scores = bm25_of("tea tea milk", "tea", "coffee milk sugar cup").scores(["tea", "milk"])

    def part(tf, df, length):
        idf = math.log(1 + (3 - df + 0.5) / (df + 0.5))
        return idf * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * length / (8 / 3)))

    np.testing.assert_allclose(scores, [part(2, 2, 3) + part(1, 2, 3), part(1, 2, 1), part(1, 2, 4)], rtol=1e-6)


def test_a_token_asked_twice_counts_once_and_an_unknown_one_nothing():
    bm25 = bm25_of("tea milk", "coffee")
    np.testing.assert_array_equal(bm25.scores(["tea", "tea", "cocoa"]), bm25.scores(["tea"]))


def test_a_word_in_every_row_still_scores_above_zero():
    assert (bm25_of("tea", "tea", "tea").scores(["tea"]) > 0).all()


def test_a_removed_row_counts_for_nothing():
    bm25 = bm25_of("tea tea tea tea", "tea milk", "coffee", "tea")
    bm25.remove(0)
    expected = bm25_of("tea milk", "coffee", "tea").scores(["tea", "milk"])
    np.testing.assert_array_equal(bm25.scores(["tea", "milk"]), [0, *expected])
    assert bm25.live().tolist() == [False, True, True, True]


def test_removing_a_row_twice_is_an_error():
    bm25 = bm25_of("tea")
    bm25.remove(0)
    with pytest.raises(ValueError, match="row 0"):
        bm25.remove(0)


def test_rows_without_tokens_and_no_rows_at_all_score_nothing():
    assert bm25_of("", "").scores(["tea"]).tolist() == [0, 0]
    assert Bm25().scores(["tea"]).tolist() == []


def test_rows_can_be_added_after_a_search():
    bm25 = bm25_of("tea")
    kept = bm25.scores(["tea"]), bm25.live()
    bm25.add(["tea"])
    assert [len(kept[0]), len(kept[1]), len(bm25.scores(["tea"]))] == [1, 1, 2]


def test_rows_that_hold_one_of_some_tokens_are_those_that_score():
    texts = [("tea", "white", "tea"), (), ("garden",), ("white", "garden")]
    scored, held = Bm25(), RowsOfTokens()
    for text in texts:
        scored.add(text)
        held.add(text)
    for asked in (("tea",), ("white", "garden", "white"), ("unknown",), ()):
        assert held.holding(asked).tolist() == (scored.scores(asked) > 0).tolist()


@each("rows", [FEW_ROWS - 1, FEW_ROWS, FEW_ROWS + 1, 3 * FEW_ROWS])
def test_few_rows_and_many_score_alike_whenever_somebody_asks(rows):
    texts = [[f"w{n * k % 7}" for k in range(1, n % 9)] for n in range(rows)]
    asked_once, asked_often = Bm25(), Bm25()
    for number, text in enumerate(texts):
        asked_once.add(text)
        asked_often.add(text)
        if number % 5 == 0:
            asked_often.scores(["w1"])
    by_formula = Bm25()
    by_formula.add(["w1"] * 70_000)  # which few rows do not hold: all of these have an array for each token
    by_formula.remove(0)
    for text in texts:
        by_formula.add(text)
    for asked in (["w1", "w5"], ["w6", "unknown", "w2"]):
        expected = by_formula.scores(asked)[1:]
        np.testing.assert_array_equal(asked_once.scores(asked), expected)
        np.testing.assert_array_equal(asked_often.scores(asked), expected)
        assert expected.any()
    assert asked_once.weight("w2") == asked_often.weight("w2") == by_formula.weight("w2")


def test_few_rows_take_some_bytes_a_token():
    bm25 = bm25_of(*(f"only{n} tea milk" for n in range(FEW_ROWS)))
    bm25.scores(["tea"])
    assert bm25.nbytes < 50 * FEW_ROWS
