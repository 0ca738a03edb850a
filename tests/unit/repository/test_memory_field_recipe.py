"""The worked example of docs/contributing/memory-field.md, performed in a copy of the code: nothing breaks by it."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[3]
RECIPE: Final = ROOT / "docs" / "contributing" / "memory-field.md"
COPIED: Final = ("schemas", "projections", "streams", "mnemolog", "tests", "tools", "docs", "pyproject.toml")
BLOCK: Final = re.compile(
    r"```python\n# (?P<file>\S+), (?P<where>after the fields of|at the end of|instead of) (?P<name>\w+)\n"
    r"(?P<code>.*?)```",
    re.DOTALL,
)
CHECKED: Final = (
    "tests/unit/repository/test_memory_fields.py",
    "tests/unit/streams/decisions/test_decay.py",
    "tests/unit/streams/decisions/test_imports.py",
    "tests/property/test_lifetime_readers.py",
)
"""A row of docs/reference/http.md is `make generate`'s, which takes too long here."""


def put_in(text: str, where: str, name: str, code: str) -> str:
    """Return a module's text with the code where the recipe says."""
    lines = text.splitlines(keepends=True)
    named = next(node for node in ast.walk(ast.parse(text)) if _name_of(node) == name)
    match where:
        case "after the fields of":
            assert isinstance(named, ast.ClassDef)
            last = max(n for n, node in enumerate(named.body) if isinstance(node, ast.AnnAssign))
            after = named.body[last + 1 : last + 2]
            is_told = bool(after) and isinstance(after[0], ast.Expr)
            begin = end = (after[0] if is_told else named.body[last]).end_lineno or 0
            indent = named.body[last].col_offset
        case "at the end of":
            assert isinstance(named, ast.FunctionDef)
            assert isinstance(named.body[-1], ast.Return)
            begin = end = (named.body[-1].end_lineno or 0) - 1
            indent = named.body[-1].col_offset + 4
        case _:
            assert isinstance(named, ast.AnnAssign)
            begin, end, indent = named.lineno - 1, named.end_lineno or 0, named.col_offset
    put = [" " * indent + line for line in code.splitlines(keepends=True)]
    return "".join([*lines[:begin], *put, *lines[end:]])


def _name_of(node: ast.AST) -> str | None:
    if isinstance(node, ast.AnnAssign):
        return node.target.id if isinstance(node.target, ast.Name) else None
    return getattr(node, "name", None)


def run(folder: Path, *command: str) -> None:
    environment = os.environ | {"PYTHONPATH": str(folder)}
    done = subprocess.run(  # noqa: S603 - our own commands
        [sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout[-4_000:]}{done.stderr[-4_000:]}"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def test_the_worked_example_of_the_recipe_breaks_nothing(copy: Path):
    blocks = list(BLOCK.finditer(RECIPE.read_text("utf-8")))
    assert len(blocks) >= 6
    for block in blocks:
        file = copy / block["file"]
        file.write_text(put_in(file.read_text("utf-8"), block["where"], block["name"], block["code"]), "utf-8")
    run(copy, "tools/new_message.py")
    run(copy, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-k", "not page_of_http", *CHECKED)
