"""The wording of faults that pydantic finds: a sentence that continues the name of the field."""

from __future__ import annotations

import re
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
    "string_pattern_mismatch": "must match {pattern}",
    "string_too_short": "must have at least {min_length} characters",
    "string_too_long": "must have at most {max_length} characters",
    "too_long": "must have at most {max_length} items",
}
"""Our messages by pydantic's error types; other types keep pydantic's own message."""


_OF_PYDANTIC: Final = re.compile(r"function-\w+\[.*\]|\(\w+\)", re.DOTALL)
"""Places in pydantic's paths that do not occur in JSON: its own functions, and our tags of unions."""
_OF_KEY: Final = "[key]"
"""pydantic's place of a fault in the name itself."""

MAX_NAME_CHARACTERS: Final = 256
"""The most characters of an unknown name that an error repeats."""
MAX_FOUND: Final = 1_000
"""The most faults of one value that are described; more are only counted, because a description takes longer."""


def found(error: ValidationError) -> list[ErrorDetails] | None:
    """Return the faults that pydantic found, without the input; None if there are too many to report."""
    if error.error_count() > MAX_FOUND:
        return None
    return error.errors(include_url=False, include_input=False)


def path_of(places: Iterable[int | str]) -> str:
    """Return a JSON path from the root; long names are cut, and pydantic's own places are left out."""
    shown = (p for p in places if isinstance(p, int) or (p != _OF_KEY and not _OF_PYDANTIC.fullmatch(p)))
    return "$" + "".join(f"[{p}]" if isinstance(p, int) else f".{p[:MAX_NAME_CHARACTERS]}" for p in shown)


def plain(error: Mapping[str, Any]) -> str:
    """Return the message of a fault; `error` is one of pydantic's ErrorDetails."""
    said, kind = error.get("ctx") or {}, error["type"]
    if kind == "too_long" and said.get("field_type") == "Value":  # a text that one of our functions reads first
        kind = "string_too_long"
    words = _WORDS.get(kind)
    text = str(error["msg"]).removeprefix("Value error, ") if words is None else words.format_map(said)
    return f"the name {text}" if error.get("loc", ())[-1:] == (_OF_KEY,) else text
