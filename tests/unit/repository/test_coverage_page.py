"""The page of coverage says of each row what has it and which test shows it, and every such test is there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from support.tables import each

from mnemolog.settings import Settings

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "evidence" / "coverage.md"
ROW = re.compile(r"^\| (?P<number>[ELPS]\d+) \| (?P<what>.+?) \| (?P<here>.+?) \| (?P<shown>.+?) \|$", re.MULTILINE)
CITE = re.compile(r"`([\w/]+\.py)::(test_\w+)`")
NOT_OURS = "not ours, because "
REASONS = ("storage engine", "framework", "voice", "screen")
NOT_YET_LINK = "[not yet](../README.md#not-yet)"


class Row(NamedTuple):
    """A row of the page: its number, what one of the four did, what has it here, and what shows it."""

    number: str
    what: str
    here: str
    shown: str


ROWS = [Row(**found.groupdict()) for found in ROW.finditer(PAGE.read_text("utf-8"))]
OURS = [row for row in ROWS if not row.here.startswith(NOT_OURS)]
SHOWN = [row for row in OURS if row.shown != NOT_YET_LINK]


def names_in(file: str) -> set[str]:
    """Return the names of the tests in a file below `tests/`."""
    return set(re.findall(r"^\s*(?:async )?def (test_\w+)\(", (ROOT / "tests" / file).read_text("utf-8"), re.MULTILINE))


def test_every_line_of_its_tables_is_a_row():
    lines = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| ")]
    heads = [line for line in lines if line == "| | what | here | shown by |"]
    assert len(lines) - len(heads) == len(ROWS) >= 100


@each("system", ["E", "L", "P", "S"])
def test_the_rows_of_each_system_are_numbered_from_one_on(system: str):
    numbers = [row.number for row in ROWS if row.number.startswith(system)]
    assert numbers == [f"{system}{number}" for number in range(1, len(numbers) + 1)]
    assert len(numbers) > 40


def test_no_row_is_missing_or_says_the_same_as_another():
    assert "missing" not in PAGE.read_text("utf-8").lower()
    said = [(row.number[0], row.what) for row in ROWS]
    assert len(set(said)) == len(said)


@each("row", SHOWN, ids=[row.number for row in SHOWN])
def test_every_row_names_what_has_it_and_tests_that_exist(row: Row):
    cited = CITE.findall(row.shown)
    assert row.shown == ", ".join(f"`{file}::{name}`" for file, name in cited)
    assert [f"{file}::{name}" for file, name in cited if name not in names_in(file)] == []
    assert cited


def test_what_is_not_ours_says_that_it_is_an_engine_a_framework_voice_or_a_screen():
    left = [row for row in ROWS if row.here.startswith(NOT_OURS)]
    assert [row.number for row in left if not any(word in row.here for word in REASONS)] == []
    assert {row.shown for row in left} == {"—"}


def test_every_row_has_a_route_a_setting_or_another_name_of_ours():
    assert [row.number for row in SHOWN if "`" not in row.here] == []


def test_every_route_that_it_names_exists():
    """As the page of HTTP names them, all of which exist; a route's beginning stands for those below it."""
    there = (ROOT / "docs" / "reference" / "http.md").read_text("utf-8")
    named = {name for row in SHOWN for name in re.findall(r"`((?:GET|POST|PUT|PATCH|DELETE) /[^`?]*)", row.here)}
    assert sorted(name for name in named if f"`{name}`" not in there) == []
    assert len(named) > 20


def test_every_setting_that_it_names_exists():
    """In capitals and in code; the four systems' own names stand in the second column."""
    named = {name for row in SHOWN for name in re.findall(r"`([A-Z][A-Z_]{4,})[`=]", row.here)}
    assert {name for name in named if name.lower() not in Settings.model_fields} == set()
    assert len(named) > 20
