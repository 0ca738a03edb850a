"""Cues: the examples of each row of the files that stand beside the modules of extraction."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from support.tables import each

from streams import extraction
from streams.extraction.rules.cues import compiled, tables_of
from streams.extraction.rules.rows import row

if TYPE_CHECKING:
    import re

LANGUAGES = Path(row.__file__).parent
"""Has the rows of languages, which have a test of their own."""
FILES = [file for file in sorted(Path(extraction.__file__).parent.rglob("*.toml")) if file.parent != LANGUAGES]


def rows_of(file: Path) -> dict[str, tuple[re.Pattern[str], dict[str, Any]]]:
    tables = tables_of(file)
    parts = tables.pop("parts", {})
    return {
        f"{file.stem}.{name}": (compiled(one["pattern"], parts, ignores_case=not one.get("case")), one)
        for name, one in tables.items()
        if "pattern" in one
    }


ROWS = {name: one for file in FILES for name, one in rows_of(file).items()}


@each("name", ROWS)
def test_a_cue_is_found_in_its_examples_and_in_none_of_the_others(name: str):
    pattern, examples = ROWS[name]
    assert examples["yes"]
    assert not [text for text in examples["yes"] if not pattern.search(text)]
    assert not [text for text in examples.get("no", ()) if pattern.search(text)]
