"""The grade at its edges."""

from __future__ import annotations

import pytest
from support.tables import each

from projections.state.importance import grade


@each(("importance", "expected"), [(0.0, 1.0), (0.25, 1.0), (0.3, 1.2), (0.5, 2.0), (0.75, 3.0), (1.0, 4.0)])
def test_a_grade_is_four_times_the_importance_from_one_to_four(importance: float, expected: float):
    assert grade(importance) == pytest.approx(expected)
