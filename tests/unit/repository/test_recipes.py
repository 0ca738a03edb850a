"""The recipes of docs/contributing name files that are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
RECIPES = sorted(page for page in (ROOT / "docs" / "contributing").glob("*.md") if page.name != "README.md")
NAMED = re.compile(r"`([\w.-]+(?:/[\w.-]+)+/?)`")


@pytest.mark.parametrize("recipe", RECIPES, ids=[recipe.stem for recipe in RECIPES])
def test_every_path_that_a_recipe_names_is_there(recipe: Path):
    named = NAMED.findall(recipe.read_text("utf-8"))
    assert named
    assert [path for path in named if not (ROOT / path).exists()] == []
