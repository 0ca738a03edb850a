"""The registry of indexes: what names one, what it needs, and that nothing else in the program knows a vendor."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from dataclasses import replace
from itertools import chain
from pathlib import Path

import pytest
from support.notebook_index import NOTEBOOK
from support.tables import each

from mnemolog.environment import SettingsError
from mnemolog.settings import Settings, from_environment
from projections.index.adapter import IndexAdapter, IndexConfig
from projections.index.registry import INDEXES, IndexRegistry

ROOT = Path(__file__).resolve().parents[4]
PACKAGES = ("schemas", "projections", "streams", "mnemolog")
REGISTRY = "projections/index/registry.py"
"""It lists the adapters."""
SETTINGS = "mnemolog/settings.py"
"""It has a field for the secret of each index that takes one."""


@each(
    ("url", "title"),
    [
        ("embedded", "embedded"),
        ("weaviate://w:1", "Weaviate"),
        ("weaviates://w", "Weaviate"),
        ("WEAVIATE://w", "Weaviate"),
    ],
)
def test_an_index_is_named_by_the_scheme_of_its_url(url: str, title: str):
    assert INDEXES.of(url).title == title


@each("url", ["", "embedded://", "Embedded", "embedded:x", "qdrant://q:1", "weaviate"])
def test_what_names_no_index_is_refused_with_what_to_write(url: str):
    expected = "must be weaviate://host:8080?grpc=50051, or weaviates:// for TLS, or embedded"
    with pytest.raises(ValueError, match=re.escape(expected)):
        INDEXES.of(url)


def test_an_index_whose_package_is_not_installed_says_so():
    absent = replace(NOTEBOOK, package="no-such-package-of-anybody")
    with INDEXES.including(absent), pytest.raises(SettingsError) as refused:
        from_environment({"MNEMOLOG_INDEX": "notebook://desk"})
    assert str(refused.value) == (
        "MNEMOLOG_INDEX='notebook://desk' needs the package no-such-package-of-anybody, which is not installed"
    )


def test_one_more_index_is_known_only_meanwhile():
    with INDEXES.including(NOTEBOOK):
        assert INDEXES.of("notebook://desk") is NOTEBOOK
    assert NOTEBOOK not in list(INDEXES)


def test_a_key_is_refused_where_another_index_is_used():
    with pytest.raises(SettingsError) as refused:
        from_environment({"MNEMOLOG_WEAVIATE_API_KEY": "key"})
    assert str(refused.value) == (
        "MNEMOLOG_WEAVIATE_API_KEY is for MNEMOLOG_INDEX=weaviate://…: set that, or unset the key"
    )


@pytest.mark.parametrize("index", list(INDEXES), ids=lambda index: index.title)
def test_what_an_entry_names_is_there(index):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = [*project["dependencies"], *chain.from_iterable(project.get("optional-dependencies", {}).values())]
    assert index.package is None or index.package in {re.split(r"[^\w.-]", one)[0] for one in wanted}
    assert index.secret is None or index.secret in Settings.model_fields
    assert (index.probe is None) == (index.schemes == ())


def test_no_scheme_is_of_two_indexes():
    names = [name for index in INDEXES for name in index.schemes or (index.title,)]
    assert len(names) == len(set(names))


def test_only_an_index_that_outlives_the_process_has_generations():
    for index in IndexRegistry(*INDEXES, NOTEBOOK):
        url = index.usage.partition(",")[0]
        index.parse(url)
        made = index.make(IndexConfig(url=url, secret=None, partitions=1), lambda _tenant, _user_id: [])
        assert made.outlives_process == (made.generations is not None) == bool(index.schemes)


def test_settings_import_no_index_and_no_client():
    code = "import sys, mnemolog.settings; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    loaded = set(done.stdout.split())
    assert "projections.index.registry" in loaded
    assert not {"weaviate", "projections.index.weaviate.index", "projections.index.embedded.index"} & loaded


def words(source: str) -> str:
    """Return a module's names and strings, without comments and docstrings: these may cite where a fact is from."""
    prose, values = set(), []
    for node in ast.walk(ast.parse(source)):  # a statement comes before what it consists of
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            prose.add(id(node.value))
        if id(node) not in prose:
            values += [value for _, value in ast.iter_fields(node) if isinstance(value, str)]
    return " ".join(values).lower()


@pytest.mark.parametrize("index", [index for index in INDEXES if index.schemes], ids=lambda index: index.title)
def test_no_neutral_module_carries_a_vendors_name(index: IndexAdapter):
    scheme = index.schemes[0]
    modules = [path.relative_to(ROOT) for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
    folder = Path("projections/index") / scheme
    naming = [one for one in modules if scheme in words((ROOT / one).read_text("utf-8")) and folder not in one.parents]
    expected = {REGISTRY} if index.secret is None else {REGISTRY, SETTINGS}
    assert {one.as_posix() for one in naming} == expected
