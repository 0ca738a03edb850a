"""The alert rules and the dashboard ask for metrics and labels that a worker has, and name pages that there are."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from contract.front_door import front_door, turn

from mnemolog.backup.last_backup import LastBackup, note_backup

ROOT = Path(__file__).parents[3]
MONITORING = ROOT / "helm" / "mnemolog" / "monitoring"
ALERTS: list[dict[str, Any]] = [
    rule
    for group in yaml.safe_load((MONITORING / "alerts.yaml").read_text("utf-8"))["groups"]
    for rule in group["rules"]
]
PANELS: list[dict[str, Any]] = json.loads((MONITORING / "dashboard.json").read_text("utf-8"))["panels"]
EXPRESSIONS = {
    **{rule["alert"]: rule["expr"] for rule in ALERTS},
    **{f"{p['title']} {t['refId']}": t["expr"] for p in PANELS for t in p["targets"]},
}
OF_PROMETHEUS = {"up", "instance", "job", "le"}
"""What Prometheus itself has."""
METRIC = re.compile(r"\bmnemolog_\w+")
LABELS = re.compile(r"(?:\bby \(([^)]*)\)|\{([^}]*)\})")
LABEL = re.compile(r"(\w+)(?:=|!|\s*(?:,|$))")


def labels_of(expression: str) -> set[str]:
    """Return the labels that an expression names."""
    texts = [by or re.sub(r'"[^"]*"', "", matched) for by, matched in LABELS.findall(expression)]
    return {label for text in texts for label in LABEL.findall(text)}


def documented() -> dict[str, set[str]]:
    """Return the labels of each metric by the page of the reference."""
    rows = re.findall(
        r"^\| `(mnemolog_\w+)` \|([^|]*)\|", (ROOT / "docs/reference/metrics.md").read_text("utf-8"), re.MULTILINE
    )
    return {name: set(re.findall(r"`(\w+)`", labels)) for name, labels in rows}


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings."""
    headings = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", one).lower().replace(" ", "-") for one in headings}


async def test_each_metric_that_is_asked_for_is_one_that_a_worker_shows(tmp_path: Path):
    (tmp_path / "elsewhere").mkdir()
    async with front_door(tmp_path / "var") as door:
        await door.remember("I keep a quokka.")
    async with front_door(tmp_path / "var", heads_to=str(tmp_path / "elsewhere")) as door:
        await door.worker.head_keeper.keep()
        note_backup(door.worker.settings, LastBackup("2026-01-05T08:00:00+00:00", str(tmp_path), 1))
        await door.post("/v1/events", turn("t-1", "I live in Bern.", user_id="u1"))
        shown = (await door.get("/metrics")).text
    kinds = dict(re.findall(r"^# TYPE (mnemolog_\w+) (\w+)$", shown, re.MULTILINE))
    there = set(kinds) | {f"{name}_bucket" for name, kind in kinds.items() if kind == "histogram"}
    asked = {name: set(METRIC.findall(expression)) for name, expression in EXPRESSIONS.items()}
    assert {name: metrics - there for name, metrics in asked.items() if metrics - there} == {}
    assert "mnemolog_memories" in there
    used = {metric.removesuffix("_bucket") for metrics in asked.values() for metric in metrics}
    assert len(used) > 15


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_each_label_that_is_asked_for_is_one_of_its_metrics(name: str):
    expression, known = EXPRESSIONS[name], documented()
    own = {label for metric in METRIC.findall(expression) for label in known[metric.removesuffix("_bucket")]}
    assert labels_of(expression) <= own | OF_PROMETHEUS
    assert expression.count("(") == expression.count(")")
    assert METRIC.search(expression) or expression.startswith("up{")


def test_a_label_that_no_metric_has_is_found():
    assert labels_of('sum by (step, x) (rate(mnemolog_items_total{y=~"a|b", z="c"}[5m]))') == {"step", "x", "y", "z"}


@pytest.mark.parametrize("rule", ALERTS, ids=lambda rule: rule["alert"])
def test_each_alert_says_how_grave_it_is_and_where_it_is_explained(rule: dict[str, Any]):
    assert rule["labels"]["severity"] in ("warning", "critical")
    assert rule["annotations"]["summary"]
    page, _, anchor = rule["annotations"]["page"].partition("#")
    assert (ROOT / page).is_file()
    assert not anchor or anchor in anchors(ROOT / page)
