"""Luna's formulas as its document has them, written out again, against ours; and what becomes of its episodes."""

from __future__ import annotations

import math
from itertools import product

import pytest
from support.examples import happened, later, recalled, tick
from support.given import given
from support.tables import each

from mnemolog.settings import from_environment
from projections.state.importance import grade
from projections.state.lifetime import ebbinghaus
from streams.decisions.parameters import Parameters
from streams.extraction.event_importance import episode_importance

EVENTS = ("confession", "first_kiss", "fight", "makeup", "gift", "milestone", "date", "anniversary", "personal_share")


def document_importance(event_type: str, emotion_intensity: float, intimacy_level: float) -> float:
    base = {"confession": 4, "fight": 3, "gift": 2, "casual": 1}.get(event_type, 2)
    return min(4, base + emotion_intensity * 0.5 + min(intimacy_level / 50, 1.0))


def document_strength(initial: float, days_ago: float, importance: float, recall_count: int) -> float:
    time_decay = math.exp(-days_ago / (importance * 30))
    protection = 0.2 + (importance / 4) * 0.8
    return max(0.1, min(1.0, initial * time_decay * (1 + recall_count * 0.1) * protection))


def test_every_events_importance_is_the_documents():
    for event, intensity, intimacy in product((*EVENTS, "casual"), (0.0, 0.3, 1.0), (0.0, 10.0, 50.0, 100.0)):
        ours = grade(episode_importance(event, intensity, intimacy))
        assert ours == pytest.approx(document_importance(event, intensity, intimacy))


def test_strength_is_the_documents_to_four_decimals():
    for g, days, recalls, initial in product((1, 1.5, 2, 3, 4), (0, 0.5, 7, 30, 365), (0, 1, 3, 12), (1.0, 0.6)):
        assert ebbinghaus(initial, days, g / 4, recalls) == round(document_strength(initial, days, g, recalls), 4)


@each(("importance", "kept"), [(0.5, False), (0.74, False), (0.75, True), (1.0, True)])
def test_weak_episodes_are_removed_at_the_weekly_look_unless_their_grade_is_three(importance: float, kept: bool):  # noqa: FBT001
    after = given(happened("用户送给露娜一束红玫瑰", "t-1", importance=importance)).when(
        tick(later(days=7 * 52), "ebbinghaus")
    )
    assert document_strength(1.0, 7 * 52, 4 * importance, 0) < 0.3
    assert (after.only.status == "active") == kept


def test_recalls_keep_an_episode_that_would_go():
    gift, day = happened("用户送给露娜一束红玫瑰", "t-1", importance=0.5), 49
    assert document_strength(1.0, day, 2, 0) < 0.3 <= document_strength(1.0, day, 2, 2)
    forgotten = given(gift).when(tick(later(days=day), "ebbinghaus"))
    assert forgotten.only.status == "expired"
    known = given(gift)
    for hour in (1, 2):
        known = known.when(recalled(known.only.memory_id, command=f"r-{hour}", at=later(hours=hour)))
    kept = known.when(tick(later(days=day), "ebbinghaus"))
    assert (kept.only.status, kept.only.recall_count) == ("active", 2)
    assert kept.only.strength == round(document_strength(1.0, day, 2, 2), 4)


def test_the_documents_constants_are_the_defaults():
    parameters, settings = Parameters(), from_environment({"MNEMOLOG_DECAY_POLICY": "ebbinghaus"})
    assert (parameters.max_episodes, parameters.min_episode_grade, parameters.episode_min_strength) == (1000, 2, 0.3)
    assert (settings.decay_hours, settings.similarity_threshold) == (7 * 24, 0.7)


@each("event", EVENTS)
def test_each_of_lunas_events_is_worth_remembering_and_something_casual_is_not(event: str):
    told = happened("用户今天有一件事", "t-1", event_type=event, importance=episode_importance(event, 0.0, 0.0))
    given().when(told).then("formed")
    casual = happened("用户今天喝了水", "t-2", event_type="casual", importance=episode_importance("casual", 0.0, 0.0))
    given().when(casual).then("nothing")
