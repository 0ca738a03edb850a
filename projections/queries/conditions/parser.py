"""The parser of conditions: it turns the JSON of a request into a condition, or reports what is wrong and where."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from projections.queries.conditions.condition import AllOf, AnyOf, Comparison, Condition, NoneOf
from projections.queries.conditions.fields import (
    FIELDS,
    METADATA,
    SPEAKER,
    SUBJECT,
    FieldKind,
    field_of,
    folded,
    folded_field,
)
from projections.queries.conditions.operators import (
    CONTAINS,
    EQ,
    EXISTS,
    ICONTAINS,
    IN,
    NAMES,
    NIN,
    ORDERED,
    Several,
)
from schemas.inputs.nesting import check_depth
from schemas.instant import read_instant
from schemas.messages.observations import APP_ID
from schemas.vocabulary.facts import subject_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from projections.queries.conditions.fields import Field

MAX_DEPTH: Final = 8
"""The deepest nesting of AND, OR and NOT."""
MAX_COMPARISONS: Final = 100
MAX_VALUES: Final = 1_000
"""The most values in all comparisons, in addition to one for each comparison."""
MAX_VALUE_CHARACTERS: Final = 64 * 1024
"""The most characters in all wanted texts together."""
MAX_METADATA_FIELDS: Final = 16
"""The most fields of metadata: each is read from the metadata of every memory."""
MAX_COMPOSITES: Final = 20
"""The most lists and objects in one `in` or `nin`: each is compared with every memory's value."""

_GROUPS: Final[Mapping[str, Callable[[tuple[Condition, ...]], Condition]]] = {"AND": AllOf, "OR": AnyOf, "NOT": NoneOf}
_SHORT: Final = {
    "since": ("occurred_at", "gte"),
    "until": ("occurred_at", "lte"),
    "min_importance": ("importance", "gte"),
}
"""The flat filters, each with the field and the operator that it means."""


class BadCondition(ValueError):
    """A filter is not valid. The message says where, and what to do."""


def condition_of(filters: Mapping[str, Any]) -> Condition:
    """Return the condition that a request's filter means; every memory meets an empty one. Raises BadCondition."""
    return _Parser().group("", filters, 0)


def of_whom(about: str | None, speaker: str | None) -> tuple[Condition, ...]:
    """Return conditions on the subject and the speaker of a memory, in any spelling; `user` means the user."""
    asked = ((SUBJECT, about), (SPEAKER, speaker))
    return tuple(Comparison(field, EQ, subject_of(name)) for field, name in asked if name is not None)


def session_named(session_id: str | None, condition: Condition | None) -> str | None:
    """Return the session that a list is restricted to, by `session_id` or by a required comparison; else None."""
    parts = condition.parts if isinstance(condition, AllOf) else (condition,)
    named = [
        one.wanted
        for one in parts
        if isinstance(one, Comparison) and (one.field.name, one.operator) == ("session_id", EQ)
    ]
    return session_id or next((name for name in named if isinstance(name, str)), None)


class _Parser:
    """A reader of one filter that counts its values against the bounds."""

    def __init__(self) -> None:
        self._comparisons = 0
        self._values = 0
        self._characters = 0
        self._in_metadata: set[str] = set()

    def group(self, place: str, given: Any, depth: int) -> Condition:  # noqa: ANN401 - whatever JSON holds
        """Return the condition for an object: all of its members must hold. Raises BadCondition."""
        if not isinstance(given, dict):
            raise _bad(place, 'must be an object, such as {"category": "fact"}')
        if depth > MAX_DEPTH:
            raise _bad(place, f"is nested too deep: at most {MAX_DEPTH} of AND, OR and NOT within each other")
        parts = tuple(self._member(place, name, value, depth) for name, value in given.items())
        return parts[0] if len(parts) == 1 else AllOf(parts)

    def _member(self, place: str, name: str, value: Any, depth: int) -> Condition:  # noqa: ANN401
        place = f"{place}.{name}" if place else name
        if name in _GROUPS:
            groups = [value] if name == "NOT" and isinstance(value, dict) else value
            if not isinstance(groups, list) or not groups:
                raise _bad(place, "must be a list with at least one object")
            if len(groups) > MAX_COMPARISONS:
                raise _bad(place, f"has too many members: at most {MAX_COMPARISONS} are allowed")
            parts = [self.group(f"{place}[{n}]", one, depth + 1) for n, one in enumerate(groups)]
            return _GROUPS[name](tuple(parts))
        if name in _SHORT:
            full, operator = _SHORT[name]
            return self._comparison(place, FIELDS[full], operator, value)
        field = field_of(name)
        if field is None:
            known = ", ".join(sorted({*FIELDS, APP_ID}))
            raise _bad(place, f"is no field of a memory: they are {known}, and {METADATA}.KEY")
        if not isinstance(value, dict):
            return self._comparison(place, field, EQ, value)
        if not value:
            raise _bad(place, f"has no operator: give one of {', '.join(NAMES)}")
        parts = [self._comparison(f"{place}.{operator}", field, operator, one) for operator, one in value.items()]
        return parts[0] if len(parts) == 1 else AllOf(tuple(parts))

    def _comparison(self, place: str, field: Field, operator: str, value: Any) -> Condition:  # noqa: ANN401
        self._comparisons += 1
        if self._comparisons > MAX_COMPARISONS:
            raise _bad(place, f"is one comparison too many: at most {MAX_COMPARISONS} are allowed")
        if field.kind is FieldKind.ANYTHING:
            self._in_metadata.add(field.name)
            if len(self._in_metadata) > MAX_METADATA_FIELDS:
                raise _bad(place, f"is one field of metadata too many: at most {MAX_METADATA_FIELDS} are allowed")
        if operator not in NAMES:
            raise _bad(place, f"is no operator: they are {', '.join(NAMES)}")
        wanted = self._wanted(place, field, operator, value)
        if operator == ICONTAINS:
            return Comparison(folded_field(field), CONTAINS, folded(wanted))
        return Comparison(field, operator, wanted)

    def _wanted(self, place: str, field: Field, operator: str, value: Any) -> Any:  # noqa: ANN401
        """Return the wanted value in the field's own type. Raises BadCondition."""
        self._count(place, value)
        if operator == EXISTS:
            if not isinstance(value, bool):
                raise _bad(place, "must be true or false")
            return value
        if operator in (IN, NIN):
            if not isinstance(value, list):
                raise _bad(place, "must be a list of values")
            if sum(isinstance(one, list | dict) for one in value) > MAX_COMPOSITES:
                raise _bad(place, f"has too many lists and objects: at most {MAX_COMPOSITES} are allowed")
            return Several([_of_kind(f"{place}[{n}]", field, one) for n, one in enumerate(value)])
        if operator in (CONTAINS, ICONTAINS):
            _check_contained(place, field, value)
            return value
        if operator in ORDERED:
            _check_ordered(place, field, value)
        return _of_kind(place, field, value)

    def _count(self, place: str, value: Any) -> None:  # noqa: ANN401
        """Count the parts of a value. Raises BadCondition beyond the bounds."""
        try:
            check_depth(value)
        except ValueError as error:
            raise _bad(place, str(error)) from None
        left = [value]
        while left:
            one = left.pop()
            self._values += 1
            if isinstance(one, str):
                self._characters += len(one)
            elif isinstance(one, list):
                left.extend(one)
            elif isinstance(one, dict):
                left.extend(one.values())
            if self._values > MAX_VALUES + MAX_COMPARISONS:
                raise _bad(place, f"has too many values: at most {MAX_VALUES} are allowed in a filter")
            if self._characters > MAX_VALUE_CHARACTERS:
                raise _bad(place, f"is too long: at most {MAX_VALUE_CHARACTERS} characters are allowed in a filter")


def _check_contained(place: str, field: Field, value: Any) -> None:  # noqa: ANN401
    if field.kind in (FieldKind.NUMBER, FieldKind.TIME):
        raise _bad(place, f"is of {field.kind.value}, which contains nothing: use eq, in, gt or lt")
    if field.kind is not FieldKind.ANYTHING and not isinstance(value, str):
        raise _bad(place, "must be text")


def _check_ordered(place: str, field: Field, value: Any) -> None:  # noqa: ANN401
    if field.kind is FieldKind.TEXTS:
        raise _bad(place, "is of a list, which has no order: use contains")
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise _bad(place, "must be a number or text, which have an order")


def _of_kind(place: str, field: Field, value: Any) -> Any:  # noqa: ANN401
    """Return a value in the field's own type; null stays None. Raises BadCondition."""
    if value is None or field.kind is FieldKind.ANYTHING:
        return value
    if field.kind is FieldKind.TIME:
        try:
            return read_instant(value)
        except ValueError as error:
            raise _bad(place, str(error)) from None
    fits = {
        FieldKind.TEXT: isinstance(value, str),
        FieldKind.NUMBER: isinstance(value, int | float) and not isinstance(value, bool),
        FieldKind.TEXTS: isinstance(value, list) and all(isinstance(one, str) for one in value),
    }
    if not fits[field.kind]:
        raise _bad(place, f"must be {field.kind.value}")
    return value


def _bad(place: str, message: str) -> BadCondition:
    return BadCondition(f"at {place}: {message}" if place else message)
