"""Rows of another system as lines to import: each a memory, or the reason why it cannot be one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, TypeAlias, get_args

import orjson

from mnemolog.cli.lines.event_lines import BadLine, EventLine
from schemas.vocabulary.words import Category

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Line: TypeAlias = "EventLine | BadLine"
CATEGORIES: Final = frozenset(get_args(Category))
_MILLISECONDS_FROM: Final = 100_000_000_000
"""The limit above which a number counts milliseconds: as seconds, it would lie after the year 5000."""


class Unreadable(OSError):
    """The file is none of the system's; the message says what was expected."""


class BadRow(ValueError):
    """The row is no memory; the message says why."""


@dataclass(frozen=True, slots=True)
class Rows:
    """All rows of a file: their total number or size, and a reader that yields each row with its share of the total."""

    total: int | None
    unit: str
    read: Callable[[], Iterator[tuple[Line, int]]]


def line_of(place: str, number: int, build: Callable[[], dict[str, Any]]) -> Line:
    """Return the memory that `build` returns as a line, or the reason why it cannot."""
    try:
        memory = build()
    except BadRow as error:
        return BadLine(place, number, str(error))
    try:
        return EventLine(place, number, memory, len(orjson.dumps(memory)))
    except TypeError as error:  # lone surrogates in text, or bytes instead of text
        fields = " and ".join(name for name, value in memory.items() if not _is_json(value))
        return BadLine(place, number, f"{fields} cannot be written as JSON: {error}")


def _is_json(value: object) -> bool:
    try:
        orjson.dumps(value)
    except TypeError:
        return False
    return True


def given(**fields: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON value
    """Return the fields that are not empty."""
    return {name: value for name, value in fields.items() if value not in (None, "", [], {})}


def named(row: dict[str, Any]) -> str:
    """Return the id of a row as text. Raises BadRow."""
    if row["id"] is None:
        raise BadRow("id is empty: it says which memory the row is")
    return str(row["id"])


def text(row: dict[str, Any], name: str) -> str:
    """Return a required text. Raises BadRow."""
    value = row.get(name)
    if not isinstance(value, str) or not value.strip():
        raise BadRow(f"{name} is empty: there is nothing to remember")
    return value


def instant(name: str, value: object) -> str | None:
    """Return a time as RFC 3339; a time without an offset is UTC, a number counts seconds. Raises BadRow."""
    if value in (None, ""):
        return None
    try:
        if isinstance(value, (int, float)):
            moment = datetime.fromtimestamp(value / 1000 if value > _MILLISECONDS_FROM else value, UTC)
        else:
            moment = datetime.fromisoformat(str(value).strip())
    except (ValueError, OverflowError, OSError):
        raise BadRow(f"{name} {value!r} is no time") from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC).isoformat()


def number(name: str, value: object, low: float, high: float, otherwise: float) -> float:
    """Return a number, limited to its bounds. Raises BadRow."""
    if value in (None, ""):
        return otherwise
    try:
        found = float(value)  # type: ignore[arg-type] # what is no number is reported below
    except (TypeError, ValueError):
        raise BadRow(f"{name} {value!r} is no number") from None
    if found != found:  # noqa: PLR0124 - only NaN differs from itself
        raise BadRow(f"{name} is no number")
    return min(high, max(low, found))


def count(name: str, value: object) -> int:
    """Return a count of occurrences. Raises BadRow."""
    return int(number(name, value, 0, 1 << 53, 0))


def category(word: object) -> str:
    """Return one of our categories: any other word becomes a fact."""
    return word if isinstance(word, str) and word in CATEGORIES else "fact"
