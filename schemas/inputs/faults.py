"""Faults that pydantic found, in our words: a sentence that goes on after the name of the field."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

_WORDS: Final = {
    "missing": "is missing",
    "string_type": "must be text",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "list_type": "must be a list",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "literal_error": "must be {expected}",
    "greater_than": "must be more than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "string_too_short": "must have at least {min_length} characters",
    "string_too_long": "must have at most {max_length} characters",
    "too_long": "must have at most {max_length} items",
}
"""pydantic's error types; what is not here keeps pydantic's own message."""


MAX_NAME_CHARACTERS: Final = 256
"""The characters of an unknown name that an error repeats."""
MAX_FOUND: Final = 1_000
"""Faults of one value beyond which they are counted only: describing one takes longer than finding it."""


def found(error: ValidationError) -> list[ErrorDetails] | None:
    """Return what pydantic found, without the input; None where there are too many faults to report."""
    if error.error_count() > MAX_FOUND:
        return None
    return error.errors(include_url=False, include_input=False)


def path_of(places: Iterable[int | str]) -> str:
    """Return a JSON path from the root; names are cut."""
    return "$" + "".join(f"[{p}]" if isinstance(p, int) else f".{p[:MAX_NAME_CHARACTERS]}" for p in places)


def plain(error: Mapping[str, Any]) -> str:
    """Return what is wrong; `error` is one of pydantic's ErrorDetails."""
    words = _WORDS.get(error["type"])
    if words is None:
        return str(error["msg"]).removeprefix("Value error, ")
    return words.format_map(error.get("ctx") or {})
