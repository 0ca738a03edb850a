"""The end of a memory and its strength at an instant: the one rule for memories, columns of them, and SQL.

A memory ends by itself at `ends_at`, whether or not a tick has recorded it. Its strength follows Ebbinghaus as Luna
computes it, and fades from `fades_from` on. Any other end or weakening of a memory is an event that a decay policy
decided. No other module reads `expires_at` to judge a memory: it uses `Memory.ends_at`, `status_at`, `strength_at`,
or `IS_ACTIVE_SQL`. `tests/property/test_lifetime_readers.py` compares all of them.
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
"""The name of the field with the last instant at which a memory is active, None if it does not end by itself."""
LASTING: Final[tuple[str, ...]] = ()
"""The fields of a memory, false by default, each of which prevents it from ending and fading while it is true. There
are none yet."""
NEVER: Final = datetime.max.replace(tzinfo=UTC)
_end: Final = attrgetter(ENDS)


def ends_at(memory: Any) -> datetime | None:  # noqa: ANN401 - a memory, or a message with the same fields
    """Return the last instant at which a memory is active if no event ends it; None if it does not end by itself."""
    end: datetime | None = None if _lasts(memory) else _end(memory)
    return end


def fades_from(memory: Any) -> datetime:  # noqa: ANN401 - as `ends_at`
    """Return the effective time from which a memory fades: that of its forming, or of its last restoration."""
    begin: datetime = NEVER if _lasts(memory) else max(memory.formed_at, memory.restored_at or memory.formed_at)
    return begin


def _lasts(memory: Any) -> bool:  # noqa: ANN401 - as `ends_at`
    for name in LASTING:  # noqa: SIM110 - with no names `any` takes five times as long
        if getattr(memory, name):
            return True
    return False


def _is_active_sql() -> str:
    status, end, *lasting = (f"json_extract(body, '$.{name}')" for name in ("status", ENDS, *LASTING))
    goes_on = "".join(f" or {field}" for field in lasting)
    return f"({status} = :active and (ifnull({end} >= :now, 1){goes_on}))"


IS_ACTIVE_SQL: Final = _is_active_sql()
"""`Memory.status_at(now) == ACTIVE` for SQLite, where `body` is a memory's row as text; `:now` is `sql_instant(now)`.

Instants compare as text: a row has all of them in UTC, and a fraction of a second (".5+00:00") sorts after none
("+00:00").
"""


def expiry_of(memory_type: str, effective: datetime) -> datetime | None:
    """Return the expiry of a memory of a type with an effective time; None if it does not expire."""
    return effective + SHORT_TERM_LIFE if memory_type == "short_term" else None


def is_over(end: datetime | None, instant: datetime) -> bool:
    """Return whether `instant` is after `end`; False if `end` is None, which means never."""
    return end is not None and end < instant


def are_over(ends: NDArray[np.int64], instant: int) -> NDArray[np.bool_]:
    """Return `is_over` by element; ends and instant must have the same unit."""
    over: NDArray[np.bool_] = ends < instant
    return over


def count_over(ends: Sequence[datetime], instant: datetime) -> int:
    """Return the number of ends, given in ascending order, for which `is_over` is true."""
    return bisect_left(ends, instant)


def sql_instant(instant: datetime) -> str:
    """Return an instant as the rows of memories spell it."""
    return instant.astimezone(UTC).isoformat()


def days_between(begin: datetime, instant: datetime) -> float:
    """Return the time between two instants in days, with their fraction."""
    return (instant - begin) / _DAY


def ebbinghaus(initial: float, days: float, importance: float, recalls: int) -> float:
    """Return the strength, 0.1 to 1.0, after Luna's `calculate_memory_strength`, rounded to 4 decimals."""
    value = retention(initial, max(0.0, days), grade(importance), float(recalls), math.exp)
    return round(min(MAX_STRENGTH, max(MIN_STRENGTH, value)), DECIMALS)


def retention(
    initial: Number, days: Number, grades: Number, recalls: Number, exp: Callable[[Number], Number]
) -> Number:
    """Return Luna's formula without its limits, for one memory or by element for many; `exp` must accept the same type.

    initial x exp(-days / (g x 30)) x (1 + 0.1 x recalls) x (0.2 + 0.8 x g / 4), g = grade; days are not negative.
    """
    return initial * exp(-days / (grades * 30)) * (1 + 0.1 * recalls) * (0.2 + 0.8 * grades / 4)
