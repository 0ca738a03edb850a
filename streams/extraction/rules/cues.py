"""Cues: what words say of a text, each a row of the TOML file that stands beside the module that asks.

A row is a table `[name]` with a `pattern` in as many lines as it needs: line ends are no part of it, and `{Name}`
stands for the pattern of that name under `parts`. Capitals count only where `case` is true. `yes` are texts in which it
is found, `no` others in which it is not: one test reads them all.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any, Final

_PART: Final = re.compile(r"\{([A-Za-z_]+)\}")


def cues_beside(module: str, name: str | None = None) -> dict[str, re.Pattern[str]]:
    """Return the patterns of the file beside a module, by their names and in their order; as `tables_beside`."""
    file = tables_beside(module, name)
    parts = file.pop("parts", {})
    return {name: compiled(one["pattern"], parts, ignores_case=not one.get("case")) for name, one in file.items()}


def tables_beside(module: str, name: str | None = None) -> dict[str, Any]:
    """Return the tables of the file beside a module.

    `module` is its `__file__`, and `name` that of the file, where it is not the module's.
    """
    path = Path(module)
    return tables_of(path.with_name(f"{name or path.stem}.toml"))


def tables_of(file: Path) -> dict[str, Any]:
    """Return the tables of a file of rows."""
    return tomllib.loads(file.read_text(encoding="utf-8"))


def compiled(source: str, parts: dict[str, str], *, ignores_case: bool = True) -> re.Pattern[str]:
    """Return the pattern of a row, with its parts in their places."""

    def spelt(source: str) -> str:
        return _PART.sub(lambda part: spelt(parts[part[1]]), source.replace("\n", ""))

    return re.compile(spelt(source), re.IGNORECASE if ignores_case else 0)
