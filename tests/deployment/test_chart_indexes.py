"""Chart and registry of indexes name the same indexes, and a new scheme needs one word in the chart."""

from __future__ import annotations

import json
import re
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from deployment.rendering import CHART, of_kind, refusal, rendered
from deployment.values import MINIMAL

from projections.index.registry import INDEXES

if TYPE_CHECKING:
    from pathlib import Path

GUARDS = CHART / "templates" / "_guards.tpl"
INDEXES_OF_GUARDS = re.compile(r"(\$indexes := list.*?) -")


def named(variable: str) -> set[str]:
    """Return the words of a list in the guards."""
    (words,) = re.findall(rf"\${variable} := list(.*) -", GUARDS.read_text("utf-8"))
    return {json.loads(word) for word in words.split()}


def indexes(helm: str, values: dict[str, Any], chart: Path = CHART) -> list[str | None]:
    """Return the index of each worker, as often as its environment names it."""
    pods = [manifest["spec"]["template"]["spec"] for manifest in of_kind(rendered(helm, values, chart), "StatefulSet")]
    variables = [variable for pod in pods for (container,) in [pod["containers"]] for variable in container["env"]]
    return [variable.get("value") for variable in variables if variable["name"] == "MNEMOLOG_INDEX"]


def test_the_chart_can_write_every_index_of_the_registry_and_no_other(helm: str):
    written = [
        *indexes(helm, MINIMAL),
        *indexes(helm, MINIMAL | {"weaviate": {"address": "weaviate:8080"}}),
        *indexes(helm, MINIMAL | {"weaviate": {"address": "weaviate:8080", "tls": True}}),
    ]
    for url in written:
        INDEXES.of(str(url))
    schemes = {scheme for index in INDEXES for scheme in index.schemes or (index.title,)}
    assert schemes == {str(url).partition("://")[0] for url in written} | named("indexes")


def test_the_guards_know_every_secret_of_an_index():
    assert {index.secret.upper() for index in INDEXES if index.secret is not None} <= named("secret")


@pytest.fixture
def chart(tmp_path: Path) -> Path:
    """Return a chart whose guards name one more index."""
    copy = shutil.copytree(CHART, tmp_path / "mnemolog")
    guards = copy / "templates" / "_guards.tpl"
    text = guards.read_text("utf-8")
    changed, places = INDEXES_OF_GUARDS.subn(r'\1 "notebook" -', text)
    assert places == 1
    guards.write_text(changed, "utf-8")
    return copy


def test_an_index_that_the_guards_name_is_set_like_any_setting(helm: str, chart: Path):
    values = MINIMAL | {"settings": {"INDEX": "notebook://desk"}}
    assert indexes(helm, values, chart) == ["notebook://desk"]
    assert "settings.INDEX is set by a value of the chart itself" in refusal(helm, values)
    for other in ("embedded", "weaviate://w:8080"):
        assert "settings.INDEX is set by" in refusal(helm, MINIMAL | {"settings": {"INDEX": other}}, chart)


def test_two_indexes_are_refused(helm: str, chart: Path):
    values = MINIMAL | {"settings": {"INDEX": "notebook://desk"}, "weaviate": {"address": "weaviate:8080"}}
    assert "settings.INDEX and weaviate.address name two indexes" in refusal(helm, values, chart)
