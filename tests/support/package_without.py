"""The package as somebody has it who has taken extensions away: a folder of links, without these."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

_SPEC = find_spec("mnemolog")
assert _SPEC is not None
assert _SPEC.origin is not None
PACKAGE = Path(_SPEC.origin).parent
EXTENSIONS = tuple(sorted(path.parent.name for path in (PACKAGE / "extensions").glob("*/__init__.py")))
"""The names of all extensions."""


def make_package(folder: Path, without: Collection[str]) -> Path:
    """Make the package `mnemolog` in a folder, which then goes first in PYTHONPATH; return the folder."""
    package = folder / "mnemolog"
    (package / "extensions").mkdir(parents=True)
    for path in PACKAGE.iterdir():
        if path.name != "extensions":
            (package / path.name).symlink_to(path)
    for path in (PACKAGE / "extensions").iterdir():
        if path.name not in without:
            (package / "extensions" / path.name).symlink_to(path)
    return folder
