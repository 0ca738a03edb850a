"""The page of packages names every package that an installation has, who requires it, and every extra."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "reference" / "packages.md").read_text("utf-8")
PACKAGES, EXTRAS = PAGE.split("\n## Extras\n")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
GIVEN = {"faust-streaming", "aiokafka", "weaviate-client", "openai", "fastavro", "prometheus-client"}
PARTS = {"mcp-types", "opentelemetry-api", "pydantic-core"}
"""Packages that come with one that is required or an extra's, and belong to it."""
OURS = ("schemas", "projections", "streams", "mnemolog")
MOST = 68
"""How many packages an installation has at most. A new dependency has to replace one, or become an extra."""


def requirers() -> dict[str, set[str]]:
    """Return the packages of requirements.txt, each with those that require it."""
    found = {}
    for block in re.split(r"^(?=\w)", (ROOT / "requirements.txt").read_text("utf-8"), flags=re.MULTILINE):
        pin, _, via = block.partition("# via")
        if "==" in pin:
            found[pin.partition("==")[0]] = set(re.findall(r"[\w.-]+", via.replace("pyproject.toml", "mnemolog")))
    return found


def rows(part: str) -> list[list[str]]:
    """Return the cells of a part's tables, without headings."""
    lines = [line for line in part.splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def names(requirements: list[str]) -> set[str]:
    return {canonicalize_name(Requirement(one).name) for one in requirements}


def test_every_package_of_an_installation_is_named_once_with_who_requires_it_and_what_for():
    named = rows(PACKAGES)
    assert len(named) == len(requirers())
    assert {name.strip("`"): set(by.split(", ")) for name, by, _ in named} == requirers()
    assert [name for name, _, purpose in named if not purpose] == []


def imported() -> set[str]:
    """Return the names of all modules outside ours and the standard library that ours import, up to the first dot."""
    found = set()
    for file in (file for folder in OURS for file in (ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                found |= {one.name.partition(".")[0] for one in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.partition(".")[0])
    return found - set(sys.stdlib_module_names) - set(OURS)


def test_what_mnemolog_imports_is_required_or_an_extra():
    named = names(PROJECT["dependencies"]) | PARTS
    named = named.union(*(names(wanted) for wanted in PROJECT["optional-dependencies"].values()))
    homes = packages_distributions()
    assert [
        one for one in imported() if named.isdisjoint(canonicalize_name(home) for home in homes.get(one, [one]))
    ] == []


def test_the_page_says_what_mnemolog_itself_imports():
    given, own, others = (
        {name.strip("`") for name, *_ in rows(part)} for part in re.split(r"^## ", PACKAGES, flags=re.MULTILINE)[1:]
    )
    assert given == GIVEN
    assert given | own == names(PROJECT["dependencies"])
    assert others == requirers().keys() - given - own


def test_an_installation_has_no_more_packages_than_it_had():
    assert len(requirers()) <= MOST
    assert f"{len(requirers())} packages of `requirements.txt`" in PAGE


def test_every_extra_is_named_with_its_packages():
    named = {extra.strip("`"): set(packages.replace("`", "").split(", ")) for extra, packages, _ in rows(EXTRAS)}
    assert named == {extra: names(wanted) for extra, wanted in PROJECT["optional-dependencies"].items()}


def test_an_extra_alone_needs_its_packages():
    for wanted in PROJECT["optional-dependencies"].values():
        assert names(wanted).isdisjoint(requirers())
