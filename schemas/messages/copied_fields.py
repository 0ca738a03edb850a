"""Fields that one dataclass copies from another: those of the same name and type, without listing them again."""

from __future__ import annotations

from dataclasses import fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Target = TypeVar("Target")


def copied_names(source: type, target: type, *, but: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return the names of the fields that both dataclasses declare with the same type, in the target's order.

    `but` names fields that are left out. Raises ValueError if one of them would not be copied anyway.
    """
    types = {field.name: field.type for field in fields(source)}
    same = [field.name for field in fields(target) if types.get(field.name) == field.type]
    if lost := sorted(set(but) - set(same)):
        raise ValueError(f"{', '.join(lost)}: no field that {source.__name__} and {target.__name__} have alike")
    return tuple(name for name in same if name not in but)


def copier(names: tuple[str, ...]) -> Callable[[Any], dict[str, Any]]:
    """Return a function that reads the fields of these names, at least two, from any object that has them."""
    first, *others = names
    read = attrgetter(first, *others)

    def copy(record: object) -> dict[str, Any]:
        return dict(zip(names, read(record), strict=True))

    return copy


def builder(target: type[Target], names: tuple[str, ...]) -> Callable[..., Target]:
    """Return a function that builds a target from the fields of these names in another object, and from keywords.

    All other fields have the target's defaults.
    """
    copy = copier(names)

    def build(record: object, **others: Any) -> Target:  # noqa: ANN401 - the target's fields
        return target(**copy(record), **others)

    return build
