"""mem0's filters, translated for one user at a time: into a filter of our own routes, or a bool for all memories.

mem0 filters across users; our routes are about one user. So the users are read from a filter first, and the filter is
then translated for each of them, with its comparisons of the user already evaluated.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from mnemolog.extensions.mem0.whose import ENTITIES, USER, shown_user
from mnemolog.http.problems import Problem
from schemas.inputs.nesting import check_depth
from schemas.instant import instant, read_instant

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Filter = dict[str, Any]

ANY: Final = "*"
"""Any value except none."""
GROUPS: Final = ("AND", "OR", "NOT")
MAX_DEPTH: Final = 8
MAX_VALUES: Final = 2_000
"""The most values of a filter, including its objects and lists: it is translated once for each user."""
_OPERATORS: Final = frozenset({"eq", "ne", "in", "nin", "gt", "gte", "lt", "lte", "contains", "icontains", "exists"})
_OURS: Final = {
    "agent_id": "agent_id",
    "app_id": "app_id",
    "run_id": "session_id",
    "session_id": "session_id",
    "created_at": "formed_at",
    "updated_at": "last_accessed_at",
    "timestamp": "occurred_at",
    "expiration_date": "expires_at",
    "categories": "category",
    "category": "category",
    "keywords": "content",
    "memory": "content",
    "data": "content",
    "hash": "content_hash",
    "memory_ids": "memory_id",
    "memory_id": "memory_id",
    "id": "memory_id",
}
"""Our names for mem0's fields; any other field is one of the metadata."""
_IDS: Final = frozenset({"agent_id", "app_id", "session_id", "memory_id"})
"""Fields that are texts here; mem0's clients may send numbers for them."""
_TIMES: Final = frozenset({"formed_at", "last_accessed_at", "occurred_at", "expires_at"})
_DATE_CHARACTERS: Final = len("2026-01-05")
_WITHOUT_OFFSET: Final = re.compile(r"[0-9-]{10}[T ][0-9:.]+", re.ASCII)
_DAY: Final = timedelta(days=1)
_ALMOST: Final = timedelta(microseconds=1)


def check_size(filters: Mapping[str, Any]) -> None:
    """Refuse a filter that would be slow for each of many users, or that is nested too deep to read.

    Raises Problem.
    """
    try:
        check_depth(filters)
    except ValueError as error:
        raise _wrong(f"the filter {error}") from None
    left: list[Any] = [filters]
    values = 0
    while left:
        one = left.pop()
        values += 1
        if isinstance(one, dict | list):
            left += one.values() if isinstance(one, dict) else one
        if values + len(left) > MAX_VALUES:
            raise _wrong(f"the filter has too many values: at most {MAX_VALUES} are allowed, ask in parts")


def named(filters: Mapping[str, Any], entity: str) -> frozenset[str] | None:
    """Return the names of an entity that a matching memory can have; None if the filter does not restrict it."""
    return _and([_named(name, value, entity) for name, value in filters.items()])


def _named(name: str, value: Any, entity: str) -> frozenset[str] | None:  # noqa: ANN401 - whatever JSON holds
    if name == "AND":
        return _and([named(one, entity) for one in _members(name, value)])
    if name == "OR":
        found = [named(one, entity) for one in _members(name, value)]
        settled = [names for names in found if names is not None]
        return frozenset().union(*settled) if len(settled) == len(found) else None
    if name != entity:
        return None
    if isinstance(value, dict):
        return _and([_named(entity, wanted, entity) for operator, wanted in value.items() if operator in ("eq", "in")])
    names = value if isinstance(value, list) else [value]
    return None if ANY in names or None in names else frozenset(map(str, names))


def _and(found: list[frozenset[str] | None]) -> frozenset[str] | None:
    settled = [names for names in found if names is not None]
    return frozenset.intersection(*settled) if settled else None


def names_somebody(filters: Mapping[str, Any]) -> bool:
    """Return whether a filter names an entity anywhere, even if only to require that there is one."""
    return any(
        name in ENTITIES or (name in GROUPS and any(map(names_somebody, _members(name, value))))
        for name, value in filters.items()
    )


def translated(filters: Mapping[str, Any], user_id: str, depth: int = 0) -> Filter | bool:
    """Return a filter of our routes for one user's memories; a bool if all are alike. Raises Problem."""
    if depth > MAX_DEPTH:
        raise _wrong(f"the filters are nested too deep: at most {MAX_DEPTH} of AND, OR and NOT within each other")
    return _all_of([_member(name, value, user_id, depth) for name, value in filters.items()])


def _member(name: str, value: Any, user_id: str, depth: int) -> Filter | bool:  # noqa: ANN401 - whatever JSON holds
    if name in GROUPS:
        parts = [translated(one, user_id, depth + 1) for one in _members(name, value)]
        if name == "AND":
            return _all_of(parts)
        one_holds = _any_of(parts)
        if name == "OR":
            return one_holds
        return {"NOT": [one_holds]} if isinstance(one_holds, dict) else not one_holds
    if name == USER:
        return _of_user(value, shown_user(user_id))
    if name == "metadata" and isinstance(value, dict):
        pairs = value["contains"] if set(value) == {"contains"} and isinstance(value["contains"], dict) else value
        return _all_of([_comparison(f"metadata.{key}", wanted) for key, wanted in pairs.items()])
    ours = _OURS.get(name) or (name if name.startswith("metadata.") else f"metadata.{name}")
    return _comparison(ours, value)


def _comparison(field: str, value: Any) -> Filter | bool:  # noqa: ANN401 - whatever JSON holds
    if value == ANY or (isinstance(value, list) and ANY in value):
        return {field: {"exists": True}}
    if value is None:
        return {field: {"exists": False}}
    compared = _operators(field, value)
    if field in _IDS:
        compared = {operator: _as_texts(wanted) for operator, wanted in compared.items()}
    if unknown := [operator for operator in compared if operator not in _OPERATORS]:
        raise _wrong(f"{field}: there is no operator {unknown[0]!r}: they are {', '.join(sorted(_OPERATORS))}")
    if field in _TIMES:
        return {field: _times(compared)}
    if field == "content" and set(compared) == {"eq"}:
        compared = {"icontains": compared["eq"]}
    return {field: compared}


def _operators(field: str, value: Any) -> dict[str, Any]:  # noqa: ANN401 - whatever JSON holds
    """Return the operators and values that a field is compared with, at least one. Raises Problem.

    An empty comparison would match everything, which a caller that deletes does not intend.
    """
    if not isinstance(value, dict):
        return {"in": value} if isinstance(value, list) else {"eq": value}
    if not value:
        raise _wrong(f'{field} is compared with nothing: give a value, or an operator such as {{"eq": "…"}}')
    for operator in ("in", "nin"):
        if operator in value and not isinstance(value[operator], list):
            raise _wrong(f"{field}: {operator} takes a list")
    if not isinstance(value.get("exists", True), bool):
        raise _wrong(f"{field}: exists takes true or false")
    return value


def _as_texts(value: Any) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Return numbers as texts, including those in a list."""
    if isinstance(value, list):
        return [_as_texts(one) for one in value]
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _times(compared: Mapping[str, Any]) -> Filter:
    """Return comparisons with times. A date means the whole day in UTC, a number means seconds since 1970."""
    found: Filter = {}
    for operator, value in compared.items():
        if operator == "exists":
            found[operator] = value
            continue
        if operator in ("in", "nin", "contains", "icontains"):
            raise _wrong(f"a time is compared with eq, ne, gt, gte, lt or lte, not with {operator}")
        first, last = _span(value)
        if operator == "eq":
            found |= {"gte": instant(first), "lte": instant(last)}
        elif operator == "ne":
            found["ne"] = instant(first)
        else:
            found[operator] = instant(last if operator in ("gt", "lte") else first)
    return found


def _span(value: Any) -> tuple[datetime, datetime]:  # noqa: ANN401 - whatever JSON holds
    """Return the first and the last instant that a time or a date means. Raises Problem."""
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            at = datetime.fromtimestamp(value, UTC)
            return at, at
        at = read_instant(_with_offset(value))
        return (at, at + (_DAY - _ALMOST)) if len(value) == _DATE_CHARACTERS else (at, at)
    except (ValueError, OverflowError, OSError) as error:
        raise _wrong(f"{str(value)[:64]!r} {error}") from None


def _with_offset(value: Any) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Return a time with an offset: mem0 reads a time without one as UTC."""
    return f"{value}Z" if isinstance(value, str) and _WITHOUT_OFFSET.fullmatch(value) else value


def _of_user(value: Any, user_id: str | None) -> bool:  # noqa: ANN401 - whatever JSON holds
    """Return whether a comparison with the user holds for one user, or for memories without one."""
    compared = {operator: _as_texts(wanted) for operator, wanted in _operators(USER, value).items()}
    tests: dict[str, Callable[[Any], bool]] = {
        "eq": lambda wanted: user_id is not None if wanted == ANY else wanted == user_id,
        "ne": lambda wanted: user_id is None if wanted == ANY else wanted != user_id,
        "in": lambda wanted: user_id in wanted or (ANY in wanted and user_id is not None),
        "nin": lambda wanted: user_id not in wanted,
        "exists": lambda wanted: (user_id is not None) == wanted,
        "contains": lambda wanted: user_id is not None and str(wanted) in user_id,
        "icontains": lambda wanted: user_id is not None and str(wanted).casefold() in user_id.casefold(),
    }
    if unknown := [operator for operator in compared if operator not in tests]:
        raise _wrong(f"user_id: there is no operator {unknown[0]!r} for it: they are {', '.join(tests)}")
    return all(tests[operator](wanted) for operator, wanted in compared.items())


def _all_of(parts: list[Filter | bool]) -> Filter | bool:
    if any(part is False for part in parts):
        return False
    return _group("AND", [part for part in parts if isinstance(part, dict)])


def _any_of(parts: list[Filter | bool]) -> Filter | bool:
    if any(part is True for part in parts):
        return True
    left = [part for part in parts if isinstance(part, dict)]
    return _group("OR", left) if left else False


def _group(name: str, parts: list[Filter]) -> Filter | bool:
    if not parts:
        return True
    return parts[0] if len(parts) == 1 else {name: parts}


def _members(name: str, value: Any) -> list[Filter]:  # noqa: ANN401 - whatever JSON holds
    members = [value] if isinstance(value, dict) else value
    if not isinstance(members, list) or not all(isinstance(one, dict) for one in members):
        raise _wrong(f'{name} must be a list of objects, such as {{"{name}": [{{"user_id": "alice"}}]}}')
    return members


def _wrong(detail: str) -> Problem:
    return Problem(HTTPStatus.BAD_REQUEST, detail)
