"""A condition: the test in a request's filter that a memory must pass."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import and_, or_
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from projections.queries.conditions.operators import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from projections.queries.conditions.fields import Field, Subject

    Mask: TypeAlias = NDArray[np.bool_]


class Condition(Protocol):
    """A test that memories pass or fail."""

    def accepts(self, subject: Subject) -> bool:
        """Return whether a memory passes."""
        ...

    def mask(self, rows: Rows) -> Mask:
        """Return which of many memories pass."""
        ...

    def fields(self) -> Iterator[Field]:
        """Yield the fields that the condition compares."""
        ...


class Rows(Protocol):
    """The memories of a user, in rows."""

    def everything(self) -> Mask:
        """Return a mask of all rows."""
        ...

    def compare(self, asked: Field, operator: str, wanted: Any, /) -> Mask:  # noqa: ANN401 - whatever JSON holds
        """Return a mask of the rows whose value of a field compares as wanted."""
        ...


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison of a field's value with a wanted one."""

    field: Field
    operator: str
    wanted: Any

    def accepts(self, subject: Subject) -> bool:
        """Return whether the comparison holds for the memory's value."""
        return OPERATORS[self.operator](subject.value(self.field), self.wanted)

    def mask(self, rows: Rows) -> Mask:
        """Return for which memories the comparison holds."""
        return rows.compare(self.field, self.operator, self.wanted)

    def fields(self) -> Iterator[Field]:
        """Yield the field."""
        yield self.field


@dataclass(frozen=True, slots=True)
class _Group:
    """A group of conditions."""

    parts: tuple[Condition, ...]

    def fields(self) -> Iterator[Field]:
        """Yield the fields of each condition."""
        for part in self.parts:
            yield from part.fields()


@dataclass(frozen=True, slots=True)
class AllOf(_Group):
    """A group whose conditions must all hold; an empty group holds."""

    def accepts(self, subject: Subject) -> bool:
        """Return whether the memory passes every condition."""
        return all(part.accepts(subject) for part in self.parts)

    def mask(self, rows: Rows) -> Mask:
        """Return which memories pass every condition."""
        return reduce(and_, (part.mask(rows) for part in self.parts), rows.everything())


@dataclass(frozen=True, slots=True)
class AnyOf(_Group):
    """A group of which at least one condition must hold."""

    def accepts(self, subject: Subject) -> bool:
        """Return whether the memory passes at least one condition."""
        return any(part.accepts(subject) for part in self.parts)

    def mask(self, rows: Rows) -> Mask:
        """Return which memories pass at least one condition."""
        return reduce(or_, (part.mask(rows) for part in self.parts))


@dataclass(frozen=True, slots=True)
class NoneOf(_Group):
    """A group of which no condition may hold."""

    def accepts(self, subject: Subject) -> bool:
        """Return whether the memory passes none of the conditions."""
        return not any(part.accepts(subject) for part in self.parts)

    def mask(self, rows: Rows) -> Mask:
        """Return which memories pass none of the conditions."""
        return reduce(and_, (~part.mask(rows) for part in self.parts))
