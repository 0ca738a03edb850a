"""Fields that one record has from another: those of the same name and type are copied without being spelled again."""

from __future__ import annotations

from dataclasses import fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Target = TypeVar("Target")


def copied_names(source: type, target: type, *, but: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return the names of the fields that both dataclasses spell with the same type, in the target's order.

    `but` are those that are not copied as they are. Raises ValueError for one of them that would not be copied anyway.
    """
    types = {field.name: field.type for field in fields(source)}
    same = [field.name for field in fields(target) if types.get(field.name) == field.type]
    if lost := sorted(set(but) - set(same)):
        raise ValueError(f"{', '.join(lost)}: no field that {source.__name__} and {target.__name__} have alike")
    return tuple(name for name in same if name not in but)


def copier(names: tuple[str, ...]) -> Callable[[Any], dict[str, Any]]:
    """Return a function that reads the fields of these names, two at least, from any record that has them."""
    first, *others = names
    read = attrgetter(first, *others)

    def copy(record: object) -> dict[str, Any]:
        return dict(zip(names, read(record), strict=True))

    return copy


def builder(target: type[Target], names: tuple[str, ...]) -> Callable[..., Target]:
    """Return a function that makes a record of another's fields of these names, and of others that are given by name.

    Fields that are neither have the target's default.
    """
    copy = copier(names)

    def build(record: object, **others: Any) -> Target:  # noqa: ANN401 - the target's fields
        return target(**copy(record), **others)

    return build
