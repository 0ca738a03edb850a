"""The product as somebody has it who has taken extensions away: folders of links, without these."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection


def _folder(package: str) -> Path:
    spec = find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


ROOTS: Final = {package: _folder(package) for package in ("projections", "streams", "mnemolog")}
WEAVIATE: Final = "projections/index/weaviate"
EXTENSIONS: Final = (
    *sorted(
        f"mnemolog/extensions/{path.parent.name}" for path in (ROOTS["mnemolog"] / "extensions").glob("*/__init__.py")
    ),
    "mnemolog/integrations",
    "streams/registry/confluent",
    WEAVIATE,
)
"""The folders of all extensions."""
_REGISTRY: Final = "index/registry.py"
_ENTRY: Final = {"from projections.index.weaviate.adapter import WEAVIATE\n": "", ", WEAVIATE)": ")"}
"""Weaviate's entry, which is taken away with its folder."""


def make_product(folder: Path, without: Collection[str]) -> Path:
    """Make the packages in a folder, without some extensions; the folder then goes first in PYTHONPATH. Return it."""
    left_out = {ROOTS[package] / rest for package, _, rest in (one.partition("/") for one in without)}
    for package, root in ROOTS.items():
        _link(root, folder / package, left_out)
    if WEAVIATE in without:
        text = (ROOTS["projections"] / _REGISTRY).read_text("utf-8")
        for entry, nothing in _ENTRY.items():
            assert text.count(entry) == 1
            text = text.replace(entry, nothing)
        (folder / "projections" / _REGISTRY).unlink()
        (folder / "projections" / _REGISTRY).write_text(text, "utf-8")
    return folder


def _link(source: Path, target: Path, left_out: Collection[Path]) -> None:
    """Link a file or a folder, without what is left out below it."""
    if source in left_out:
        return
    if any(source in path.parents for path in left_out):
        target.mkdir(parents=True)
        for path in source.iterdir():
            if path.name != "__pycache__":
                _link(path, target / path.name, left_out)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(source)
