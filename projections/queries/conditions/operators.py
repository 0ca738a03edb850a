"""The operators of a condition: each compares a memory's value with a wanted one."""

from __future__ import annotations

import operator
from datetime import datetime
from itertools import repeat
from typing import TYPE_CHECKING, Any, Final

from projections.queries.conditions.fields import FieldKind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


def equal(value: object, wanted: object) -> bool:
    """Return whether two values are equal in JSON: true does not equal 1, and 1 equals 1.0."""
    value = list(value) if isinstance(value, tuple) else value
    return value == wanted and _is_of_one_sort(value, wanted)  # most differ, which `==` finds fast


def _is_of_one_sort(value: object, wanted: object) -> bool:
    """Return whether two values that are equal in Python are equal in JSON too."""
    if isinstance(value, list) and isinstance(wanted, list):
        return all(map(_is_of_one_sort, value, wanted))
    if isinstance(value, dict) and isinstance(wanted, dict):
        return all(_is_of_one_sort(value[name], wanted[name]) for name in value)
    return isinstance(value, bool) == isinstance(wanted, bool)


class Several:
    """The wanted values of `in` and `nin`. Plain ones are looked up, lists and objects are compared one by one."""

    def __init__(self, values: Sequence[Any]) -> None:
        self.values = tuple(values)
        self._composite = tuple(one for one in values if isinstance(one, list | dict))
        self._plain = frozenset((isinstance(one, bool), one) for one in values if not isinstance(one, list | dict))

    def has(self, value: Any) -> bool:  # noqa: ANN401 - whatever JSON holds
        """Return whether a value equals one of these."""
        if isinstance(value, list | tuple | dict):
            return any(equal(value, one) for one in self._composite)
        return (isinstance(value, bool), value) in self._plain


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """Return a comparison that holds only for two numbers, two texts or two times."""

    def holds(value: object, wanted: object) -> bool:
        if isinstance(value, bool) or isinstance(wanted, bool):
            return False
        return any(
            isinstance(value, sort) and isinstance(wanted, sort) and compare(value, wanted)
            for sort in (int | float, str, datetime)
        )

    return holds


def _contains(value: object, wanted: object) -> bool:
    if isinstance(value, str):
        return isinstance(wanted, str) and wanted in value
    if not isinstance(value, list | tuple) or wanted not in value:  # Python's own search rules most out
        return False
    return any(equal(one, wanted) for one in value)


EQ: Final = "eq"
NE: Final = "ne"
IN: Final = "in"
NIN: Final = "nin"
CONTAINS: Final = "contains"
ICONTAINS: Final = "icontains"
"""`contains` without regard to case. The parser turns it into `contains` on folded values."""
EXISTS: Final = "exists"
ORDERED: Final = ("gt", "gte", "lt", "lte")

OPERATORS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    EQ: equal,
    NE: lambda value, wanted: not equal(value, wanted),
    IN: lambda value, wanted: wanted.has(value),
    NIN: lambda value, wanted: not wanted.has(value),
    "gt": _ordered(lambda value, wanted: value > wanted),
    "gte": _ordered(lambda value, wanted: value >= wanted),
    "lt": _ordered(lambda value, wanted: value < wanted),
    "lte": _ordered(lambda value, wanted: value <= wanted),
    CONTAINS: _contains,
    EXISTS: lambda value, wanted: (value is not None) == wanted,
}
"""The comparisons of a value with a wanted one, which is a `Several` for `in` and `nin`.

A missing value equals only null, and nothing is greater or less than it.
"""
NAMES: Final = tuple(
    name for operator in OPERATORS for name in ([operator, ICONTAINS] if operator == CONTAINS else [operator])
)

_OF_ONE_KIND: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "gt": operator.gt,
    "gte": operator.ge,
    "lt": operator.lt,
    "lte": operator.le,
    CONTAINS: operator.contains,
}
"""Python's own comparisons: for texts, numbers and times they give the same results, faster."""


def each(name: str, kind: FieldKind, values: Sequence[Any], nothing: int | None, wanted: Any) -> list[bool]:  # noqa: ANN401
    """Return for each distinct value of a field whether the operator's comparison holds.

    `nothing` is the index of None in `values`, or None if it is absent.
    """
    compare = _OF_ONE_KIND.get(name)
    if compare is None or kind not in (FieldKind.TEXT, FieldKind.NUMBER, FieldKind.TIME):
        return list(map(OPERATORS[name], values, repeat(wanted)))
    if nothing is None:
        return list(map(compare, values, repeat(wanted)))
    met = list(map(compare, [*values[:nothing], wanted, *values[nothing + 1 :]], repeat(wanted)))
    met[nothing] = False
    return met
