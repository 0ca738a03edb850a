"""A condition: what a memory must be to pass, as a request's filter says it."""

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
    """Tells which memories pass."""

    def accepts(self, subject: Subject) -> bool:
        """Return whether a memory passes."""
        ...

    def mask(self, rows: Rows) -> Mask:
        """Return which of many memories pass."""
        ...

    def fields(self) -> Iterator[Field]:
        """Yield the fields that are compared."""
        ...


class Rows(Protocol):
    """The memories of a user, in rows."""

    def everything(self) -> Mask:
        """Return that each is meant."""
        ...

    def compare(self, asked: Field, operator: str, wanted: Any, /) -> Mask:  # noqa: ANN401 - whatever JSON holds
        """Return of which the value of a field is as wanted."""
        ...


@dataclass(frozen=True, slots=True)
class Comparison:
    """A field's value compared with one that is wanted."""

    field: Field
    operator: str
    wanted: Any

    def accepts(self, subject: Subject) -> bool:
        """Return whether the memory's value is as wanted."""
        return OPERATORS[self.operator](subject.value(self.field), self.wanted)

    def mask(self, rows: Rows) -> Mask:
        """Return of which memories the value is as wanted."""
        return rows.compare(self.field, self.operator, self.wanted)

    def fields(self) -> Iterator[Field]:
        """Yield the field."""
        yield self.field


@dataclass(frozen=True, slots=True)
class _Group:
    """Some conditions together."""

    parts: tuple[Condition, ...]

    def fields(self) -> Iterator[Field]:
        """Yield the fields of each."""
        for part in self.parts:
            yield from part.fields()


@dataclass(frozen=True, slots=True)
class AllOf(_Group):
    """Every one of some conditions; of none it is true."""

    def accepts(self, subject: Subject) -> bool:
        """Return whether the memory passes each."""
        return all(part.accepts(subject) for part in self.parts)

    def mask(self, rows: Rows) -> Mask:
        """Return which memories pass each."""
        return reduce(and_, (part.mask(rows) for part in self.parts), rows.everything())


@dataclass(frozen=True, slots=True)
class AnyOf(_Group):
    """One at least of some conditions."""

    def accepts(self, subject: Subject) -> bool:
        """Return whether the memory passes one."""
        return any(part.accepts(subject) for part in self.parts)

    def mask(self, rows: Rows) -> Mask:
        """Return which memories pass one."""
        return reduce(or_, (part.mask(rows) for part in self.parts))


@dataclass(frozen=True, slots=True)
class NoneOf(_Group):
    """Not a single one of some conditions."""

    def accepts(self, subject: Subject) -> bool:
        """Return whether the memory passes none."""
        return not any(part.accepts(subject) for part in self.parts)

    def mask(self, rows: Rows) -> Mask:
        """Return which memories pass none."""
        return reduce(and_, (~part.mask(rows) for part in self.parts))
