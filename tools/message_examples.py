"""Examples of every message, one with all fields and one with the required fields; golden bytes are made from them."""

# ruff: noqa: ANN401 - the fields of any message

from __future__ import annotations

import types
import typing
from dataclasses import MISSING, fields, is_dataclass
from datetime import UTC, datetime
from typing import Any, Final

from schemas.codec import MESSAGES, field_types

MOMENT: Final = datetime(2026, 1, 5, 8, 0, 0, 123456, tzinfo=UTC)


def full(record: type) -> Any:
    """Return a record with a value in every field, which derives from the field's name."""
    return record(**{name: _value(name, hint, full) for name, hint in field_types(record).items()})


def bare(record: type) -> Any:
    """Return a record with only the required fields, and with empty lists."""
    required = {f.name for f in fields(record) if f.default is MISSING and f.default_factory is MISSING}
    return record(
        **{
            name: [] if typing.get_origin(hint) is list else _value(name, hint, bare)
            for name, hint in field_types(record).items()
            if name in required
        }
    )


def _value(name: str, hint: Any, make: Any) -> Any:
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        hint = next(a for a in typing.get_args(hint) if a is not types.NoneType)
    if typing.get_origin(hint) is list:
        item = typing.get_args(hint)[0]
        return [_value(f"{name}-{n}", item, make) for n in range(2)]
    if is_dataclass(hint):
        return make(hint)
    examples: dict[Any, Any] = {
        str: f"{name} 记忆",
        bytes: name.encode() + b"\x00\xff",
        bool: True,
        int: 1_000_000 + len(name),
        float: 0.25 + len(name),
        datetime: MOMENT,
    }
    return examples[hint]


def examples() -> dict[str, Any]:
    """Return both examples of every message, by the names of their golden files."""
    return {
        f"{message.__name__}.{kind}": make(message)
        for message in MESSAGES
        for kind, make in (("full", full), ("bare", bare))
    }
