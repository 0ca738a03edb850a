"""The depth to which metadata may nest: answers nest it further, and the JSON writer has a limited depth."""

from __future__ import annotations

from typing import Any, Final

MAX_DEPTH: Final = 32


def check_depth(value: Any) -> None:  # noqa: ANN401 - whatever JSON holds
    """Raise ValueError if objects and lists are nested deeper than MAX_DEPTH; the outermost one counts as one."""
    level, depth = [value], 0
    while level := [part for part in level if isinstance(part, dict | list)]:
        depth += 1
        if depth > MAX_DEPTH:
            raise ValueError(f"is nested too deep: at most {MAX_DEPTH} objects and lists within each other are allowed")
        level = [inner for part in level for inner in (part.values() if isinstance(part, dict) else part)]
