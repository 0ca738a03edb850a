"""Luna's importance of an event, for episodes whose extractor returned none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from streams.extraction.protocol import Window

BASE_GRADE: Final = {"confession": 4.0, "fight": 3.0, "casual": 1.0}
OTHER_GRADE: Final = 2.0
HIGHEST_GRADE: Final = 4.0
INTENSITY_WEIGHT: Final = 0.5
INTIMACY_PER_GRADE: Final = 50.0


def newest_intimacy(sources: Iterable[int], window: Window) -> float | None:
    """Return the intimacy of the newest cited turn that has one; None where no turn has."""
    intimacies = (
        (piece.occurred_at, index, piece.context.intimacy)
        for index, piece in ((index, window.pieces[index]) for index in sources)
        if piece.context is not None and piece.context.intimacy is not None
    )
    newest = max(intimacies, default=None)
    return newest[2] if newest else None


def episode_importance(event_type: str | None, emotion_intensity: float | None, intimacy: float | None) -> float:
    """Return min(4, base + 0.5 x emotion_intensity + min(intimacy / 50, 1)) / 4, which lies in 0.25 to 1.

    `emotion_intensity` is 0 to 1 and `intimacy` 0 to 100; None counts as 0, an unknown event type has base 2.
    Source: `calculate_importance` of Luna's memory system, whose grades 1 to 4 are four times our importance.
    """
    base = BASE_GRADE.get(event_type or "", OTHER_GRADE)
    emotion = INTENSITY_WEIGHT * (emotion_intensity or 0.0)
    bonus = min((intimacy or 0.0) / INTIMACY_PER_GRADE, 1.0)
    return min(HIGHEST_GRADE, base + emotion + bonus) / HIGHEST_GRADE
