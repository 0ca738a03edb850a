"""When a memory is over and how strong it is, at an instant: for queries, for ticks and in SQL.

A memory is over once its `expires_at` has passed, whether or not a tick has said so. Its strength follows Ebbinghaus
as Luna computes it. Whatever else ends or weakens a memory is an event that a policy of decay decided.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from datetime import UTC, timedelta
from typing import TYPE_CHECKING, Final

from projections.state.importance import DECIMALS, grade

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

SHORT_TERM_LIFE: Final = timedelta(hours=48)
"""Evatar: short_term memories expire 48 hours after their effective time."""
MIN_STRENGTH: Final = 0.1
MAX_STRENGTH: Final = 1.0
_DAY: Final = timedelta(days=1)

IS_ACTIVE_SQL: Final = (
    "(json_extract(body, '$.status') = :active and ifnull(json_extract(body, '$.expires_at') >= :now, 1))"
)
"""`Memory.status_at(now) == ACTIVE` for SQLite, where `body` is a memory's row as text; `:now` is `sql_instant(now)`.

Instants compare as text: a row has all of them in UTC, and a fraction of a second (".5+00:00") sorts after none
("+00:00").
"""


def expiry_of(memory_type: str, effective: datetime) -> datetime | None:
    """Return when a memory of a type expires that was said at an effective time; None: never."""
    return effective + SHORT_TERM_LIFE if memory_type == "short_term" else None


def is_over(expires_at: datetime | None, instant: datetime) -> bool:
    """Return whether an expiry has passed; at `expires_at` itself a memory is still shown."""
    return expires_at is not None and expires_at < instant


def count_over(expiries: Sequence[datetime], instant: datetime) -> int:
    """Return how many of these expiries, in ascending order, have passed."""
    return bisect_left(expiries, instant)


def sql_instant(instant: datetime) -> str:
    """Return an instant as the rows of memories spell it."""
    return instant.astimezone(UTC).isoformat()


def strength(
    instant: datetime,
    *,
    formed_at: datetime,
    restored_at: datetime | None,
    initial: float,
    importance: float,
    recalls: int,
) -> float:
    """Return how well a memory is remembered at an instant, 0.1 to 1.0.

    It fades from its forming on, or from its last restoring.
    """
    begin = max(formed_at, restored_at or formed_at)
    return ebbinghaus(initial, (instant - begin) / _DAY, importance, recalls)


def ebbinghaus(initial: float, days: float, importance: float, recalls: int) -> float:
    """Return the strength, 0.1 to 1.0, after Luna's `calculate_memory_strength`.

    initial x exp(-days / (g x 30)) x (1 + 0.1 x recalls) x (0.2 + 0.8 x g / 4), g = grade; rounded to 4 decimals.
    """
    g = grade(importance)
    value = initial * math.exp(-max(0.0, days) / (g * 30)) * (1 + 0.1 * recalls) * (0.2 + 0.8 * g / 4)
    return round(min(MAX_STRENGTH, max(MIN_STRENGTH, value)), DECIMALS)
