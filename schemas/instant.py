"""Times: the clock, and the reading and writing of times in events, requests, answers and on the command line."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol

_RFC3339: Final = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d))?", re.ASCII | re.IGNORECASE)
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND: Final = timedelta(microseconds=1)
YEARS: Final = range(1000, 9001)
"""Accepted years: days before and after a time in them are still valid times."""
END_OF_DAY: Final = "T23:59:59Z"
"""The suffix that turns a date into its last second, for a day until which something holds."""
_DATE_CHARACTERS: Final = len("2026-01-05")
_MINUTE: Final = len("2026-01-05T08:00")
_MIDNIGHT: Final = "T00:00:00Z"
_WANTED: Final = (
    "must be an RFC 3339 time with an offset, such as 2026-01-05T08:00:00Z, or a date (its beginning in UTC)"
)


class Clock(Protocol):
    """The source of the time in UTC: only the edges read it, and rules get the time as an argument."""

    def now(self) -> datetime:
        """Return the current instant, aware, in UTC."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """Return the machine's time in UTC."""
        return datetime.now(UTC)


def read_instant(value: object) -> datetime:
    """Return an RFC 3339 time, or the beginning of a date, in UTC. Raises ValueError with a sentence."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC)
    if not isinstance(value, str) or not _RFC3339.fullmatch(value):
        hint = ", with + as %2B in a URL" if isinstance(value, str) and re.search(r" \d\d:\d\d$", value) else ""
        raise ValueError(_WANTED + hint)
    try:
        moment = datetime.fromisoformat(value.upper())
    except ValueError as error:
        raise ValueError(f"is not a time: {error}") from None
    if moment.year not in YEARS:
        raise ValueError(f"lies outside the years {YEARS[0]} to {YEARS[-1]}: leave it out if it is not known")
    return moment.replace(tzinfo=UTC) if len(value) == _DATE_CHARACTERS else moment.astimezone(UTC)


def instant(moment: datetime | None) -> str | None:
    """Return a time as RFC 3339 in UTC, ending in Z; None stays None."""
    return None if moment is None else moment.isoformat().replace("+00:00", "Z")


def microseconds(moment: datetime) -> int:
    """Return an instant as microseconds since 1970, exactly."""
    return (moment - EPOCH) // MICROSECOND


def shown_day(occurred_at: str, formed_at: str | None) -> str:
    """Return the day of an answer's `occurred_at` in UTC, with the minute if it is a plan with a time of day."""
    is_plan = formed_at is not None and occurred_at > formed_at
    if is_plan and occurred_at[_DATE_CHARACTERS:] != _MIDNIGHT:
        return f"{occurred_at[:_MINUTE]}Z"
    return occurred_at[:_DATE_CHARACTERS]
