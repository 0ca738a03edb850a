"""A condition: what a memory must be to pass, as a request's filter says it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from projections.queries.conditions.operators import OPERATORS

if TYPE_CHECKING:
    from projections.queries.conditions.fields import Field, Subject


class Condition(Protocol):
    """Tells which memories pass."""

    def accepts(self, subject: Subject) -> bool:
        """Return whether a memory passes."""
        ...


@dataclass(frozen=True, slots=True)
class Comparison:
    """A field's value compared with one that is wanted."""

    field: Field
    operator: str
    wanted: Any

    def accepts(self, subject: Subject) -> bool:
        """Return whether the memory's value is as wanted."""
        return OPERATORS[self.operator](self.field.read(subject), self.wanted)


@dataclass(frozen=True, slots=True)
class AllOf:
    """Every one of some conditions; of none it is true."""

    parts: tuple[Condition, ...]

    def accepts(self, subject: Subject) -> bool:
        """Return whether the memory passes each."""
        return all(part.accepts(subject) for part in self.parts)


@dataclass(frozen=True, slots=True)
class AnyOf:
    """One at least of some conditions."""

    parts: tuple[Condition, ...]

    def accepts(self, subject: Subject) -> bool:
        """Return whether the memory passes one."""
        return any(part.accepts(subject) for part in self.parts)


@dataclass(frozen=True, slots=True)
class NoneOf:
    """Not a single one of some conditions."""

    parts: tuple[Condition, ...]

    def accepts(self, subject: Subject) -> bool:
        """Return whether the memory passes none."""
        return not any(part.accepts(subject) for part in self.parts)
