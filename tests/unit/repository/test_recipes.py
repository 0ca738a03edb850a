"""The recipes of docs/contributing name files that are there; a file that a reader is to write is marked `(new)`."""

from __future__ import annotations

import re
from pathlib import Path

from support.tables import each

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "docs" / "contributing"
RECIPES = sorted(FOLDER.glob("*.md"))
CODE = re.compile(r"`(?P<code>[^`\n]+)`(?P<new> \(new\))?")
PATH = re.compile(r"(?![/~])(?!\.venv/)[\w.@-]+(?:/[\w.@-]+)+/?")
MADE_BY_MACHINES = ("var/", "build/", "dist/", "bench/results/")


def paths(text: str) -> list[tuple[str, bool]]:
    """Return the paths in code of a text, blocks of code left out, each with whether it is marked as new."""
    prose = re.sub(r"^ *```.*?^ *```", "", text, flags=re.DOTALL | re.MULTILINE)
    return [
        (word, bool(match["new"]))
        for match in CODE.finditer(prose)
        for word in match["code"].split()
        if PATH.fullmatch(word) and not word.startswith(MADE_BY_MACHINES)
    ]


@each("page", RECIPES, ids=lambda page: page.name)
def test_a_recipe_names_files_that_are_there_and_new_ones_that_are_not(page: Path):
    named = paths(page.read_text("utf-8"))
    assert named, "a recipe names the files that it goes through"
    assert [path for path, is_new in named if not is_new and not (ROOT / path).exists()] == []
    assert [path for path, is_new in named if is_new and (ROOT / path).exists()] == []


def test_every_recipe_is_on_the_list_of_them():
    contributing = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    linked = set(re.findall(r"\]\(docs/contributing/([\w-]+\.md)\)", contributing))
    assert {"command-and-event.md", "memory-field.md"} <= linked
    assert [page.name for page in RECIPES if page.name not in linked] == []


def test_paths_are_found_in_code_and_nowhere_else():
    text = """`a/b.py` (new), `python tools/x.py NAME`, a/c.py, `POST /v1/x`, `http://a/b`, `.venv/bin/x`, `var/x`
```
`d/e.py`
```
`schemas/avro/`"""
    assert paths(text) == [("a/b.py", True), ("tools/x.py", False), ("schemas/avro/", False)]
