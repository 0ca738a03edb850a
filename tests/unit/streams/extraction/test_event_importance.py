"""Luna's importance of an event."""

from __future__ import annotations

import pytest
from support.tables import each

from streams.extraction.event_importance import episode_importance


@each(
    ("event_type", "intensity", "intimacy", "expected"),
    [
        ("confession", None, None, 1.0),
        ("confession", 1.0, 100, 1.0),
        ("fight", 0.0, 0, 0.75),
        ("fight", 0.5, 25, 0.9375),
        ("gift", None, None, 0.5),
        ("gift", 0.8, 100, 0.85),
        ("casual", None, None, 0.25),
        ("casual", 1.0, 50, 0.625),
        ("graduation", None, None, 0.5),
        (None, None, None, 0.5),
    ],
)
def test_an_events_importance_is_lunas_grade_over_four(
    event_type: str | None, intensity: float | None, intimacy: float | None, expected: float
):
    assert episode_importance(event_type, intensity, intimacy) == pytest.approx(expected)
