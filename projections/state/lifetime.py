"""When a memory ends and how strong it is at an instant: the one rule for memories, columns of them, and SQL.

A memory ends by itself at `ends_at`, whether or not a tick has said so. Its strength follows Ebbinghaus as Luna
computes it, and fades from `fades_from` on. Whatever else ends or weakens a memory is an event that a policy of
decay decided. No other module reads `expires_at` to judge a memory: it asks `Memory.ends_at`, `status_at`,
`strength_at`, or `IS_ACTIVE_SQL`. `tests/property/test_lifetime_readers.py` compares all of them.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from datetime import UTC, datetime, timedelta
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, TypeVar

from projections.state.importance import DECIMALS, grade

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    Number = TypeVar("Number", float, NDArray[np.float64])

SHORT_TERM_LIFE: Final = timedelta(hours=48)
"""Evatar: short_term memories expire 48 hours after their effective time."""
MIN_STRENGTH: Final = 0.1
MAX_STRENGTH: Final = 1.0
_DAY: Final = timedelta(days=1)

ENDS: Final = "expires_at"
"""The field of a memory that holds the last instant at which it is active; None: it does not end by itself."""
LASTING: Final[tuple[str, ...]] = ()
"""Fields of a memory, false by default, of which each keeps it from ending and from fading while it is true. There is
none yet."""
NEVER: Final = datetime.max.replace(tzinfo=UTC)
_end: Final = attrgetter(ENDS)


def ends_at(memory: Any) -> datetime | None:  # noqa: ANN401 - a memory, or a message with the same fields
    """Return the last instant at which a memory is active if nothing else ends it; None: it does not end by itself."""
    end: datetime | None = None if _lasts(memory) else _end(memory)
    return end


def fades_from(memory: Any) -> datetime:  # noqa: ANN401 - as `ends_at`
    """Return the effective time from which a memory fades: when it was formed, or restored last."""
    begin: datetime = NEVER if _lasts(memory) else max(memory.formed_at, memory.restored_at or memory.formed_at)
    return begin


def _lasts(memory: Any) -> bool:  # noqa: ANN401 - as `ends_at`
    for name in LASTING:  # noqa: SIM110 - with no names `any` takes five times as long
        if getattr(memory, name):
            return True
    return False


def _is_active_sql() -> str:
    """Return `ends_at` and `is_over` as SQL."""
    status, end, *lasting = (f"json_extract(body, '$.{name}')" for name in ("status", ENDS, *LASTING))
    goes_on = "".join(f" or {field}" for field in lasting)
    return f"({status} = :active and (ifnull({end} >= :now, 1){goes_on}))"


IS_ACTIVE_SQL: Final = _is_active_sql()
"""`Memory.status_at(now) == ACTIVE` for SQLite, where `body` is a memory's row as text; `:now` is `sql_instant(now)`.

Instants compare as text: a row has all of them in UTC, and a fraction of a second (".5+00:00") sorts after none
("+00:00").
"""


def expiry_of(memory_type: str, effective: datetime) -> datetime | None:
    """Return when a memory of a type expires that was said at an effective time; None: never."""
    return effective + SHORT_TERM_LIFE if memory_type == "short_term" else None


def is_over(end: datetime | None, instant: datetime) -> bool:
    """Return whether what ends at `end`, or never where that is None, is over; at its end itself it is not yet."""
    return end is not None and end < instant


def are_over(ends: NDArray[np.int64], instant: int) -> NDArray[np.bool_]:
    """Return by element what `is_over` says; ends and instant are in one unit."""
    over: NDArray[np.bool_] = ends < instant
    return over


def count_over(ends: Sequence[datetime], instant: datetime) -> int:
    """Return how many of these ends, in ascending order, `is_over` is true of."""
    return bisect_left(ends, instant)


def sql_instant(instant: datetime) -> str:
    """Return an instant as the rows of memories spell it."""
    return instant.astimezone(UTC).isoformat()


def days_between(begin: datetime, instant: datetime) -> float:
    """Return how many days, with their fraction, lie between two instants."""
    return (instant - begin) / _DAY


def ebbinghaus(initial: float, days: float, importance: float, recalls: int) -> float:
    """Return the strength, 0.1 to 1.0, after Luna's `calculate_memory_strength`, rounded to 4 decimals."""
    value = retention(initial, max(0.0, days), grade(importance), float(recalls), math.exp)
    return round(min(MAX_STRENGTH, max(MIN_STRENGTH, value)), DECIMALS)


def retention(
    initial: Number, days: Number, grades: Number, recalls: Number, exp: Callable[[Number], Number]
) -> Number:
    """Return Luna's formula without its limits: of one memory, or by element of many; `exp` is the exponential of such.

    initial x exp(-days / (g x 30)) x (1 + 0.1 x recalls) x (0.2 + 0.8 x g / 4), g = grade; days are not negative.
    """
    return initial * exp(-days / (grades * 30)) * (1 + 0.1 * recalls) * (0.2 + 0.8 * grades / 4)
