"""What a statement ends is told by the heads, given all that is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from support.own_words import vectors_of

from projections.embedding.heads import LEAST_NEAR, MOST_SHARED, LaterStatement, ending_inputs, load
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
    surely = load().scores_of_endings
    later = LaterStatement(0.9, (await vectors_of(["planted 4 oaks"]))[0], np.ones(1), np.ones(1, np.intp))
    assert surely(later, await vectors_of(["planted 3 oaks"]))[0] > ENDED  # what the model alone would say


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
    known = np.eye(3, 512, dtype=np.float32)
    cosines, shared = np.array([0.9, 0.6, 0.1], np.float32), np.array([1, 0, MOST_SHARED + 4])
    found = ending_inputs(LaterStatement(0.5, known[0], cosines, shared), known)
    expected = [[0.5, 0.3, 1, 0.15, 0.5], [0.5, -0.3, 0, -0.15, 0], [0.5, -0.8, MOST_SHARED, -0.4, 0.5 * MOST_SHARED]]
    np.testing.assert_allclose(found[:, :5], expected, atol=1e-6)
    alone = ending_inputs(LaterStatement(0.5, known[0], cosines[:1], shared[:1]), known[:1])
    np.testing.assert_allclose(alone[0, 1], 0.9 - LEAST_NEAR)


async def test_only_the_nearest_are_ended_wherever_they_stand():
    others = [f"My colleague number {n} collects stamps" for n in range(40)]
    found = await Endings(vectors_of, load()).of(["We gave up the flat in Porto last week."], [*others, *KNOWN])
    assert found[0].nonzero()[0].tolist() == [len(others) + 1]
