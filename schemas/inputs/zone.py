"""The time zones of users. Instants are in UTC everywhere; days and hours are those of a zone."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo

import orjson

from schemas.messages.observations import TIMEZONE

_LONGEST: Final = 255
"""The most characters of a name: no file, and therefore no zone, has a longer one."""
_OFFSET: Final = re.compile(r"(?P<sign>[+-])(?P<hours>\d\d):(?P<minutes>[0-5]\d)", re.ASCII)
_GIVEN: Final = re.compile(r"[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?P<offset>Z|[+-]\d\d:\d\d)\Z", re.ASCII | re.IGNORECASE)
UNKNOWN: Final = "-00:00"
"""The offset of RFC 3339 for an unknown place."""
ZERO: Final = "+00:00"
_MIDNIGHT: Final = time()
_MICROSECOND: Final = timedelta(microseconds=1)


@lru_cache(maxsize=1024)
def zone_named(name: str) -> tzinfo | None:
    """Return the zone of an IANA name or of an offset such as `+08:00`; None if there is none."""
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
    """Return the zone that an observation's metadata name; None if they name no known zone."""
    if TIMEZONE not in metadata:
        return None
    try:
        document = orjson.loads(metadata)
    except orjson.JSONDecodeError:  # a producer of Avro may write anything there
        return None
    name = document.get(TIMEZONE) if isinstance(document, dict) else None
    return zone_named(name) if isinstance(name, str) else None


def zone_of(metadata: str, default: tzinfo = UTC) -> tzinfo:
    """Return the zone of an observation: the one that its metadata name, else the default."""
    return zone_in(metadata) or default


def local(moment: datetime, zone: tzinfo) -> datetime:
    """Return an instant by the clock of a zone; unchanged at the ends of the calendar, where that is impossible."""
    try:
        return moment.astimezone(zone)
    except OverflowError:  # from a producer that writes to the topic
        return moment


def begin_of(day: date, zone: tzinfo) -> datetime:
    """Return the instant at which a day begins by the clock of a zone."""
    return datetime.combine(day, _MIDNIGHT, zone).astimezone(UTC)


def at_midnight(moment: datetime) -> bool:
    """Return whether a memory's `occurred_at` is a day without a time, which is stored as midnight in UTC."""
    return moment.astimezone(UTC).time() == _MIDNIGHT


def instant_of(day: date, hour: time, zone: tzinfo) -> datetime:
    """Return a time of a day by the clock of a zone as an instant for which `at_midnight` is False.

    Midnight in UTC is therefore moved by a microsecond: 08:00 in Shanghai, and 16:00 in Los Angeles in winter.
    """
    moment = datetime.combine(day, hour, zone).astimezone(UTC)
    return moment + _MICROSECOND if at_midnight(moment) else moment


def local_time(moment: datetime, zone: tzinfo) -> datetime:
    """Return a memory's `occurred_at` by the clock of a zone; a day without a time begins by that clock."""
    if at_midnight(moment):
        return datetime.combine(moment.astimezone(UTC).date(), _MIDNIGHT, zone)
    return local(moment, zone)


def offset_given(time: object) -> str | None:
    """Return the offset of a given time: `+00:00` for `Z` and for a date, None for the unknown `-00:00`."""
    if isinstance(time, datetime):
        time = time.isoformat()
    if not isinstance(time, str):
        return None
    m = _GIVEN.search(time)
    offset = m["offset"] if m else ZERO
    return None if offset == UNKNOWN else ZERO if offset in "Zz" else offset
