"""tools/reference_rows.py: what the reference pages lack is added after what stands before it in the code."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from reference_rows import PAGES, Row, first_sentence, name_of, names, with_fields, with_rows
from support.tables import each

REFERENCE = Path(__file__).resolve().parents[3] / "docs" / "reference"


@each("page", PAGES)
def test_no_page_lacks_a_row_and_a_row_that_is_taken_out_comes_back_to_its_place(page: str):
    text, rows = (REFERENCE / page).read_text("utf-8"), list(PAGES[page]())
    assert with_rows(text, rows) == text
    lines = text.split("\n")
    named = Counter(names(line) for line in lines)
    lost = next(row for row in rows[len(rows) // 2 :] if named[row.name] == 1)
    at = next(number for number, line in enumerate(lines) if names(line) == lost.name)
    without = "\n".join([*lines[:at], *lines[at + 1 :]])
    again = with_rows(without, rows).split("\n")
    assert lost.text in again
    assert [line for line in again if line != lost.text] == without.split("\n")
    before = rows[rows.index(lost) - 1]
    assert names(again[again.index(lost.text) - 1]) == before.name


def test_rows_that_follow_each_other_are_added_in_their_order():
    rows = [Row(name=name, text=f"| `{name}` | new |") for name in ("A", "B", "C")]
    assert with_rows("| `A` | old |\nend", rows) == "| `A` | old |\n| `B` | new |\n| `C` | new |\nend"


def test_a_table_without_its_first_row_is_refused():
    with pytest.raises(ValueError, match="A: write the first row of its table by hand"):
        with_rows("nothing", [Row(name="A", text="| `A` | |")])


@each(
    ("cell", "name"),
    [
        ("PinMemory", "PinMemory"),
        ("POST /v1/memories/{memory_id}/pin", "POST /v1/memories/{memory_id}/pin"),
        ("pin(memory_id, user_id, key)", "pin"),
        ("tick decay --as-of TIME", "tick decay"),
        ("rebuild [all\\|shards\\|index]", "rebuild"),
    ],
)
def test_a_cell_names_one_thing(cell: str, name: str):
    assert name_of(cell) == name


def test_a_row_says_the_first_sentence():
    assert (
        first_sentence("Keep a memory\n    from fading: it stays. And more.") == "keep a memory from fading: it stays"
    )


def test_a_field_of_a_memory_that_the_page_lacks_is_added_to_its_table():
    text = (REFERENCE / "http.md").read_text("utf-8")
    assert with_fields(text) == text
    row = "| `version` | counts every change |\n"
    added = with_fields(text.replace(row, ""))
    assert added.count("| `version` | how many counted changes it has seen |\n\n## For agents") == 1
