"""Time zones: by which clock somebody lives. Instants are UTC everywhere; days and hours are those of a zone."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo

import orjson

from schemas.messages.observations import TIMEZONE

_LONGEST: Final = 255
"""Characters: no file, and so no zone, has a longer name."""
_OFFSET: Final = re.compile(r"(?P<sign>[+-])(?P<hours>\d\d):(?P<minutes>[0-5]\d)", re.ASCII)
_GIVEN: Final = re.compile(r"[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?P<offset>Z|[+-]\d\d:\d\d)\Z", re.ASCII | re.IGNORECASE)
UNKNOWN: Final = "-00:00"
"""How RFC 3339 writes a time of a place that is not known."""
ZERO: Final = "+00:00"
_MIDNIGHT: Final = time()
_MICROSECOND: Final = timedelta(microseconds=1)


@lru_cache(maxsize=1024)
def zone_named(name: str) -> tzinfo | None:
    """Return the zone of an IANA name, or of an offset such as `+08:00`; None where there is none of that name."""
    if (m := _OFFSET.fullmatch(name)) and int(m["hours"]) < 24:  # noqa: PLR2004 - hours of a day
        span = timedelta(hours=int(m["hours"]), minutes=int(m["minutes"]))
        return timezone(-span if m["sign"] == "-" else span)
    if len(name) > _LONGEST:
        return None
    try:
        return ZoneInfo(name)
    except (LookupError, ValueError, OSError):  # also for names of folders of the database
        return None


def zone_in(metadata: str) -> tzinfo | None:
    """Return the zone that an observation's metadata name, None where they name none that is known."""
    if TIMEZONE not in metadata:
        return None
    try:
        document = orjson.loads(metadata)
    except orjson.JSONDecodeError:  # a producer of Avro may write anything there
        return None
    name = document.get(TIMEZONE) if isinstance(document, dict) else None
    return zone_named(name) if isinstance(name, str) else None


def zone_of(metadata: str, default: tzinfo = UTC) -> tzinfo:
    """Return the zone in which an observation lives: the one that its metadata name, else the default."""
    return zone_in(metadata) or default


def local(moment: datetime, zone: tzinfo) -> datetime:
    """Return an instant by the clock of a zone; as it is at either end of the calendar, where no zone has it."""
    try:
        return moment.astimezone(zone)
    except OverflowError:  # from a producer that writes to the topic
        return moment


def begin_of(day: date, zone: tzinfo) -> datetime:
    """Return the instant at which a day begins by the clock of a zone."""
    return datetime.combine(day, _MIDNIGHT, zone).astimezone(UTC)


def at_midnight(moment: datetime) -> bool:
    """Return whether a memory's `occurred_at` is a day, without an hour: it is its midnight in UTC."""
    return moment.astimezone(UTC).time() == _MIDNIGHT


def instant_of(day: date, hour: time, zone: tzinfo) -> datetime:
    """Return a time of a day by the clock of a zone as an instant that `at_midnight` takes for no day.

    Midnight in UTC itself is a microsecond later: 08:00 in Shanghai, and 16:00 in Los Angeles in winter.
    """
    moment = datetime.combine(day, hour, zone).astimezone(UTC)
    return moment + _MICROSECOND if at_midnight(moment) else moment


def local_time(moment: datetime, zone: tzinfo) -> datetime:
    """Return when a memory's `occurred_at` is by the clock of a zone; of a day, its beginning by that clock."""
    if at_midnight(moment):
        return datetime.combine(moment.astimezone(UTC).date(), _MIDNIGHT, zone)
    return local(moment, zone)


def offset_given(time: object) -> str | None:
    """Return the offset with which a time was given: `+00:00` of `Z` and of a date, None of the unknown `-00:00`."""
    if isinstance(time, datetime):
        time = time.isoformat()
    if not isinstance(time, str):
        return None
    m = _GIVEN.search(time)
    offset = m["offset"] if m else ZERO
    return None if offset == UNKNOWN else ZERO if offset in "Zz" else offset
