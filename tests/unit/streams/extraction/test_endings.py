"""What a statement ends is told by the heads, given all that is known."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from support.own_words import vectors_of

from projections.embedding.heads import LEAST_NEAR, MOST_SHARED, TRAITS, LaterStatement, Statements, ending_inputs, load
from streams.extraction.own_words.endings import ENDED, MOST_KEPT, Endings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from projections.embedding.embedder import Vectors

KNOWN = ["I have two cats", "We rent a flat in Porto", "My brother plays the cello", "I take the train to work"]


async def test_what_is_nearest_by_far_is_ended_and_nothing_else():
    endings = Endings(vectors_of, load())
    said = ["We gave up the flat in Porto last week.", "I feed the cats at seven.", "The weather has changed."]
    found = await endings.of(said, KNOWN)
    assert [each.tolist() for each in found] == [[False, True, False, False], [False] * 4, [False] * 4]


async def test_of_two_statements_that_are_as_near_none_is_ended():
    found = await Endings(vectors_of, load()).of(["I sold my bike"], ["My bike is red", "My bike is blue"])
    assert found[0].tolist() == [False, False]


async def test_statements_that_are_alike_but_for_a_value_stay_beside_each_other():
    pairs = [
        ("planted 3 oaks", "planted 4 oaks"),
        ("the red box", "the blue box"),
        ("我在杭州看了朋友", "我在苏州看了朋友"),
    ]
    for known, said in pairs:
        [found] = await Endings(vectors_of, load()).of([said], [known])
        assert found.tolist() == [False], said
    heads, vectors = load(), await vectors_of(["planted 4 oaks", "planted 3 oaks"])
    sure = heads.statements(["planted 4 oaks"], vectors[:1], [2])
    later = LaterStatement(replace(sure, over=np.full(1, 0.9)), np.ones(1), np.ones(1, np.intp))
    before = heads.statements(["planted 3 oaks"], vectors[1:], [2])
    assert heads.scores_of_endings(later, before)[0] > ENDED  # what the model alone would say


async def test_what_is_alike_ends_what_it_replaces_if_it_says_so():
    pairs = [
        ("I prefer dark mode", "I prefer light mode now"),
        ("My rent is 950 euros", "My rent is now 1,050 euros"),
        ("我每周三上瑜伽课", "我现在每周五上瑜伽课"),
        ("I am learning Spanish", "I stopped learning Spanish"),
        ("我在学钢琴", "我不学钢琴了"),
    ]
    for known, said in pairs:
        [found] = await Endings(vectors_of, load()).of([said], [known])
        assert found.tolist() == [True], said


async def test_vectors_of_what_is_known_are_asked_for_once_and_not_kept_for_ever():
    asked: list[str] = []

    async def embed(texts: Sequence[str]) -> Vectors:
        asked.extend(texts)
        return np.zeros((len(texts), 512), np.float32)

    endings = Endings(embed, load())
    for _ in range(2):
        await endings.mended([], KNOWN)
    assert asked == KNOWN
    await endings.mended([], [f"text {n}" for n in range(MOST_KEPT)])
    await endings.mended([], KNOWN[:1])
    assert asked[-1] == KNOWN[0]


def test_what_leads_is_measured_from_the_next_nearest_and_never_from_nothing():
    vectors = np.eye(3, 512, dtype=np.float32)
    known = Statements(vectors, np.full(3, 0.5), np.full(3, 0.5), np.full(3, 6))
    part = Statements(vectors[:1], np.full(1, 0.5), np.full(1, 0.5), np.full(1, 6))
    cosines, shared = np.array([0.9, 0.6, 0.1], np.float32), np.array([1, 0, MOST_SHARED + 4])
    found = ending_inputs(LaterStatement(part, cosines, shared), known)
    expected = [[0, 1.6, 1.2], [-1, 0.4, -1.2], [MOST_SHARED - 1, -1.6, -3.2]]
    np.testing.assert_allclose(found[:, TRAITS - 3 : TRAITS], expected, atol=1e-6)
    alone = ending_inputs(LaterStatement(part, cosines[:1], shared[:1]), known.at(np.arange(1)))
    np.testing.assert_allclose(alone[0, TRAITS - 1], 4 * (0.9 - LEAST_NEAR))


async def test_only_the_nearest_are_ended_wherever_they_stand():
    others = [f"My colleague number {n} collects stamps" for n in range(40)]
    found = await Endings(vectors_of, load()).of(["We gave up the flat in Porto last week."], [*others, *KNOWN])
    assert found[0].nonzero()[0].tolist() == [len(others) + 1]
