"""What memories have in common does not tell which of them is meant."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest
from support.judged import Judged
from support.rankings import Shares, rank

from projections.index.centre import centre_of
from projections.index.protocol import Hit, Legs
from projections.queries.ranking import HUBNESS_WEIGHT

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)


def unit(*rows):
    table = np.array(rows, np.float32)
    return table / np.linalg.norm(table, axis=1, keepdims=True)


def test_a_memory_between_the_others_is_a_hub_and_the_average_is_none():
    left, hub, right = centre_of(unit((1, 0.2), (1, 1), (0.2, 1))).hubness
    assert hub > 0 > left == pytest.approx(right)
    assert left + hub + right == pytest.approx(0, abs=1e-5)


def test_one_memory_and_equal_memories_are_no_hubs():
    assert centre_of(unit((3, 4))).hubness.tolist() == [0]
    assert centre_of(unit((3, 4), (3, 4))).hubness.tolist() == [0, 0]


def test_a_hub_loses_to_what_is_as_near_to_the_question_alone():
    facts = dict.fromkeys(("hub", "own", "far"), Judged(0.5, NOON))
    legs = Legs(keyword=(), semantic=(Hit("hub", 1, 0.52), Hit("own", 1, 0.5), Hit("far", 1, 0.1)))
    plain = rank(legs, facts, NOON, 3)
    centred = rank(legs, facts, NOON, 3, shares=Shares(hubness={"hub": 0.1, "own": -0.1}))
    assert [one.memory_id for one in plain] == ["hub", "own", "far"]
    assert [one.memory_id for one in centred] == ["own", "hub", "far"]
    cosine = {"own": 0.5 + 0.1 * HUBNESS_WEIGHT, "hub": 0.52 - 0.1 * HUBNESS_WEIGHT, "far": 0.1}
    scaled = [(cosine[one.memory_id] - 0.1) / (cosine["own"] - 0.1) for one in centred]
    assert [one.semantic for one in centred] == pytest.approx(scaled)


def test_the_cosine_of_a_hub_stays_what_it_is():
    legs = Legs(keyword=(), semantic=(Hit("hub", 1, 0.52), Hit("far", 1, 0.1)))
    [hub, _] = rank(
        legs, dict.fromkeys(("hub", "far"), Judged(0.5, NOON)), NOON, 2, shares=Shares(hubness={"hub": 0.1})
    )
    assert hub.cosine == 0.52
