"""Cues: patterns that tell something about a text, each a row of the TOML file next to the module that uses it.

A row is a table `[name]` with a `pattern` in as many lines as it needs: line ends are no part of it, and `{Name}`
stands for the pattern of that name under `parts`. Case counts only where `case` is true. `yes` are texts in which the
pattern is found, `no` others in which it is not: one test reads them all.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any, Final

_PART: Final = re.compile(r"\{([A-Za-z_]+)\}")


def cues_beside(module: str, name: str | None = None) -> dict[str, re.Pattern[str]]:
    """Return the patterns in the file next to a module, by their names and in their order; see `tables_beside`."""
    file = tables_beside(module, name)
    parts = file.pop("parts", {})
    return {name: compiled(one["pattern"], parts, ignores_case=not one.get("case")) for name, one in file.items()}


def tables_beside(module: str, name: str | None = None) -> dict[str, Any]:
    """Return the tables of the TOML file next to a module.

    `module` is the module's `__file__`, and `name` the file's name without its suffix, if it is not the module's.
    """
    path = Path(module)
    return tables_of(path.with_name(f"{name or path.stem}.toml"))


def tables_of(file: Path) -> dict[str, Any]:
    """Return the tables of a file of rows."""
    return tomllib.loads(file.read_text(encoding="utf-8"))


def compiled(source: str, parts: dict[str, str], *, ignores_case: bool = True) -> re.Pattern[str]:
    """Return the compiled pattern of a row, with its parts filled in."""

    def spelt(source: str) -> str:
        return _PART.sub(lambda part: spelt(parts[part[1]]), source.replace("\n", ""))

    return re.compile(spelt(source), re.IGNORECASE if ignores_case else 0)
