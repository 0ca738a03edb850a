"""The reference pages name everything there is and nothing else, and no link of the documentation leads nowhere."""

from __future__ import annotations

import inspect
import re
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from support.tables import each

import mnemolog
from mnemolog import AsyncClient, Client
from mnemolog.backup import last_backup
from mnemolog.cli.program import program
from mnemolog.http.app import make_http
from mnemolog.operations.integrity import kept_heads
from mnemolog.settings import Settings
from mnemolog.worker import clock_gauges, gauges, metrics
from mnemolog.worker.worker import Worker
from schemas.codec import MESSAGES
from schemas.topics import TOPICS
from schemas.vocabulary.attributes import LISTS, MAPS, SINGLE

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[3]
REFERENCE = ROOT / "docs" / "reference"
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
ROW = re.compile(r"^\| `(?P<name>[^`]+)` \|(?P<rest>.*)\|$", re.MULTILINE)
LINK = re.compile(r"\]\((?P<target>[^()\s]+)\)")
HEADING = re.compile(r"^#+ (?P<text>.+)$", re.MULTILINE)


def section(page: Path, heading: str) -> str:
    """Return a page's text from a heading to the next one of level two."""
    return page.read_text("utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]


def first_cells(text: str) -> list[str]:
    """Return the names in code in the first column of the text's tables."""
    return [row["name"] for row in ROW.finditer(text)]


def commands(command: object, name: str = "") -> Iterator[str]:
    """Yield every command that can be run, with its group's name before it."""
    inner = getattr(command, "commands", None)
    if inner is None:
        yield name.strip()
        return
    for word, one in inner.items():
        yield from commands(one, f"{name} {word}")


def anchors(page: Path) -> set[str]:
    """Return the anchors that a page's headings make, as GitHub spells them."""
    headings = HEADING.findall(page.read_text("utf-8"))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def spelt(value: object) -> str:
    """Return a default as the table of settings has it."""
    if value is None:
        return "none"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def test_every_setting_is_in_the_table_with_its_default_and_no_other_is():
    rows = ROW.finditer((REFERENCE / "settings.md").read_text("utf-8"))
    documented = {row["name"]: row["rest"].split("|")[0].strip() for row in rows}
    assert documented == {name.upper(): spelt(field.default) for name, field in Settings.model_fields.items()}


def test_every_command_is_on_the_page_of_the_command_line_and_no_other_is():
    text = (REFERENCE / "command-line.md").read_text("utf-8").split("Times are RFC 3339")[0]
    there = set(commands(program))
    documented = {" ".join(re.findall(r"(?<!\S)[a-z][a-z-]*", name.split("[")[0])) for name in first_cells(text)}
    assert documented == there


def test_every_route_is_on_the_page_of_http_and_no_other_is(tmp_path: Path):
    paths = make_http(Worker(Settings(data_dir=tmp_path))).openapi()["paths"]
    there = {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods}
    documented = [name for name in first_cells((REFERENCE / "http.md").read_text("utf-8")) if "/" in name]
    assert sorted(documented) == sorted(there)


def test_every_method_and_every_error_of_the_client_is_on_the_page_of_python_and_no_other_is():
    documented = first_cells((REFERENCE / "python.md").read_text("utf-8"))
    methods = {name for client in (Client, AsyncClient) for name in dir(client) if not name.startswith("_")}
    errors = set(mnemolog.__all__) - {"Client", "AsyncClient", "MnemologError"}
    assert sorted(name.partition("(")[0] for name in documented) == sorted(methods | errors)


def test_every_metric_is_on_the_page_of_metrics_and_no_other_is():
    source = "".join(map(inspect.getsource, (clock_gauges, gauges, kept_heads, last_backup, metrics)))
    there = set(re.findall(r'"(mnemolog_[a-z_]+)"', source))
    documented = first_cells((REFERENCE / "metrics.md").read_text("utf-8"))
    assert {name.removesuffix("_total") for name in documented} == there


def test_every_message_and_every_topic_is_on_the_page_of_events_and_no_other_is():
    page = REFERENCE / "events.md"
    assert first_cells(section(page, "Messages")) == list(dict.fromkeys(message.__name__ for message in MESSAGES))
    assert first_cells(section(page, "Topics")) == [topic.name for topic in TOPICS]


def test_every_attribute_of_the_profile_is_on_the_page_of_events_and_no_other_is():
    named = re.findall(r"`([a-z_]+)`", section(REFERENCE / "events.md", "Attributes").split("\n\n", 1)[1])
    assert set(named) - {"other"} == {*SINGLE, *LISTS, *MAPS}


@each("page", PAGES, ids=[page.relative_to(ROOT).as_posix() for page in PAGES])
def test_every_relative_link_leads_somewhere(page: Path):
    lost = []
    for target in LINK.findall(page.read_text("utf-8")):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        if not there.exists() or (anchor and anchor not in anchors(there)):
            lost.append(target)
    assert lost == []


def test_headings_go_down_one_level_at_a_time():
    """A page's outline has no holes."""
    for page in PAGES:
        text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
        levels = [len(line) - len(line.lstrip("#")) for line in text.splitlines() if re.match(r"#+ ", line)]
        assert all(below - above <= 1 for above, below in pairwise(levels)), page
